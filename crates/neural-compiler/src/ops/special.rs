//! Derivatives of the special functions, and the ones made of others. In: an application; out: the nodes of its partial derivatives.
//! Invariant: each rule is made of table operations, so derivatives can be differentiated again; where the plain formula would lose
//! digits or multiply 0 by infinity, the factor has a row of its own.

use crate::graph::{Builder, NodeId};
use crate::ops::Op;
use crate::ops::rules::erf_partial;

type Nodes = Vec<NodeId>;

pub(crate) fn erfc_partial(b: &mut Builder, x: NodeId) -> NodeId {
    let slope = erf_partial(b, x);
    b.neg(slope)
}

/// Of a function of an order and x that is its own derivative in the next order. The order counts and does not vary.
pub(crate) fn next_order(b: &mut Builder, op: Op, x: &[NodeId]) -> Nodes {
    let (zero, one) = (b.constant(0.0), b.constant(1.0));
    let next = b.add(x[0], one);
    vec![zero, b.op(op, &[next, x[1]])]
}

/// `digamma a - digamma(a + b)` for each argument.
pub(crate) fn lbeta_partials(b: &mut Builder, x: &[NodeId]) -> Nodes {
    [[x[0], x[1]], [x[1], x[0]]]
        .map(|x| {
            let gap = b.op(Op::DigammaGap, &x);
            b.neg(gap)
        })
        .to_vec()
}

/// `trigamma(a + b) - trigamma a` and `trigamma(a + b)`.
pub(crate) fn digamma_gap_partials(b: &mut Builder, x: &[NodeId], _: NodeId) -> Nodes {
    let (gap, sum) = (b.op(Op::TrigammaGap, x), b.add(x[0], x[1]));
    vec![b.neg(gap), b.op(Op::Trigamma, &[sum])]
}

/// The derivative of trigamma at `a + b`.
fn tetragamma_of_sum(b: &mut Builder, x: &[NodeId]) -> NodeId {
    let (two, sum) = (b.constant(2.0), b.add(x[0], x[1]));
    b.op(Op::Polygamma, &[two, sum])
}

/// The differences of the derivative of trigamma; here they are left to cancel.
pub(crate) fn trigamma_gap_partials(b: &mut Builder, x: &[NodeId], _: NodeId) -> Nodes {
    let two = b.constant(2.0);
    let (part, whole) = (b.op(Op::Polygamma, &[two, x[0]]), tetragamma_of_sum(b, x));
    vec![b.sub(part, whole), b.neg(whole)]
}

/// With g the gap and h that of trigamma, beta (g^2 + h), which is h beta - g slope; and the mixed one.
pub(crate) fn beta_slope_partials(b: &mut Builder, x: &[NodeId], slope: NodeId) -> Nodes {
    let [beta, gap, bend] = [Op::Beta, Op::DigammaGap, Op::TrigammaGap].map(|op| b.op(op, x));
    let (first, second) = (b.mul(beta, bend), b.mul(slope, gap));
    vec![b.sub(first, second), b.op(Op::BetaMixed, x)]
}

/// The mixed derivative m is beta (p q - t) with the slopes p and q of lbeta and t = trigamma(a + b), so by a it changes by
/// p m + beta (p' q - p t - t'); by b with the parts of p and q exchanged. Here they are left to cancel.
pub(crate) fn beta_mixed_partials(b: &mut Builder, x: &[NodeId], m: NodeId) -> Nodes {
    let (beta, slopes) = (b.op(Op::Beta, x), lbeta_partials(b, x));
    let sum = b.add(x[0], x[1]);
    let (t, turn) = (b.op(Op::Trigamma, &[sum]), tetragamma_of_sum(b, x));
    let mut partial = |own: usize, other: usize| {
        let (p, q) = (slopes[own], slopes[other]);
        let bend = b.op(Op::TrigammaGap, &[x[own], x[other]]);
        let terms = [b.mul(p, m), b.mul(bend, q), b.mul(p, t)];
        let inner = b.sub(terms[1], terms[2]);
        let inner = b.sub(inner, turn);
        let moved = b.mul(beta, inner);
        b.add(terms[0], moved)
    };
    vec![partial(0, 1), partial(1, 0)]
}

/// 1/sqrt(2 pi).
const DENSITY: f64 = 0.398_942_280_401_432_7;

/// `exp(-x^2/2) / sqrt(2 pi)`.
pub(crate) fn normal_density(b: &mut Builder, x: NodeId) -> NodeId {
    let (c, bell) = (b.constant(DENSITY), b.op(Op::HalfBell, &[x]));
    b.mul(c, bell)
}

/// `sqrt(2 pi) exp(y^2/2)`.
pub(crate) fn normal_quantile_partial(b: &mut Builder, y: NodeId) -> NodeId {
    let (c, growth) = (b.constant(2.506_628_274_631_000_7), b.op(Op::HalfGrowth, &[y]));
    b.mul(c, growth)
}

/// Left of this the excess has an asymptotic form for its slope.
const FAR_LEFT: f64 = -12.0;

/// The quotient of two polynomials in r = 1/x^2, lowest powers first, that has the first eleven coefficients of the asymptotic series
/// 1 - 6 r + 50 r^2 - 518 r^3 + ... of the slope of the excess over r (Pade's approximant). Left of -12 it is within 3e-15, its own slope
/// within 4e-14, and the further out the closer.
const SLOPE_ABOVE: [f64; 6] =
    [1.0, 72.529_735_992_495_58, 1_735.094_755_055_069_3, 15_762.611_303_576_245, 44_151.691_744_332_43, 6_564.901_384_648_878];
const SLOPE_BELOW: [f64; 6] =
    [1.0, 78.529_735_992_495_58, 2_156.273_171_010_043, 25_291.763_530_011_72, 122_413.017_618_013_34, 184_208.390_679_028];

fn polynomial(b: &mut Builder, x: NodeId, coefficients: &[f64]) -> NodeId {
    let mut rest = coefficients.iter().rev().map(|&c| b.constant(c)).collect::<Nodes>().into_iter();
    let highest = rest.next().unwrap_or_else(|| b.constant(0.0));
    rest.fold(highest, |sum, c| {
        let product = b.mul(sum, x);
        b.add(product, c)
    })
}

/// Whether x lies far left, and there e' = 1 - h e, whose terms would leave nothing of it, and of its derivatives less. What the choice
/// leaves aside is computed at its bound.
fn far_excess_slope(b: &mut Builder, x: NodeId) -> (NodeId, NodeId) {
    let bound = b.constant(FAR_LEFT);
    let far = b.op(Op::Lt, &[x, bound]);
    let place = b.op(Op::Select, &[far, x, bound]);
    let inverse = b.recip(place);
    let r = b.mul(inverse, inverse);
    let (above, below) = (polynomial(b, r, &SLOPE_ABOVE), polynomial(b, r, &SLOPE_BELOW));
    let ratio = b.div(above, below);
    (far, b.mul(r, ratio))
}

/// With h the hazard and e = x + h: h' = -h e, which is e' - 1.
pub(crate) fn normal_hazard_partial(b: &mut Builder, x: &[NodeId], h: NodeId) -> Nodes {
    let (excess, one) = (b.op(Op::NormalExcess, x), b.constant(1.0));
    let product = b.mul(h, excess);
    let plain = b.neg(product);
    let (far, slope) = far_excess_slope(b, x[0]);
    let less = b.sub(slope, one);
    vec![b.op(Op::Select, &[far, less, plain])]
}

/// e' = 1 - h e.
pub(crate) fn normal_excess_partial(b: &mut Builder, x: &[NodeId], e: NodeId) -> Nodes {
    let (one, hazard) = (b.constant(1.0), b.op(Op::NormalHazard, x));
    let product = b.mul(hazard, e);
    let plain = b.sub(one, product);
    let (far, slope) = far_excess_slope(b, x[0]);
    vec![b.op(Op::Select, &[far, slope, plain])]
}

/// Half of the function of order 0 and `side` times that of order 2: the slope of order 1, up to its sign.
pub(crate) fn neighbours(b: &mut Builder, zeroth: Op, any: Op, x: NodeId, side: f64) -> NodeId {
    let (half, two, side) = (b.constant(0.5), b.constant(2.0), b.constant(side));
    let (low, high) = (b.op(zeroth, &[x]), b.op(any, &[two, x]));
    let (low, high) = (b.mul(half, low), b.mul(side, high));
    b.add(low, high)
}

/// The slope of a Bessel function of any whole order: its neighbours, times `below` and `above`. The order counts and does not vary.
pub(crate) fn order_partials(b: &mut Builder, op: Op, x: &[NodeId], below: f64, above: f64) -> Nodes {
    let (zero, one, below, above) = (b.constant(0.0), b.constant(1.0), b.constant(below), b.constant(above));
    let (lower, upper) = (b.sub(x[0], one), b.add(x[0], one));
    let (lower, upper) = (b.op(op, &[lower, x[1]]), b.op(op, &[upper, x[1]]));
    let (lower, upper) = (b.mul(below, lower), b.mul(above, upper));
    vec![zero, b.add(lower, upper)]
}

/// The derivatives of voigt by x of the orders 1 to 4, and those of which one is by gamma.
const ALONG: [Op; 5] = [Op::Voigt, Op::VoigtX, Op::VoigtXX, Op::VoigtXXX, Op::VoigtXXXX];
const ACROSS: [Op; 5] = [Op::Voigt, Op::VoigtG, Op::VoigtXG, Op::VoigtXXG, Op::VoigtXXXG];

/// A derivative of voigt of any order, `across` if it is by gamma once. Beyond the rows: as the derivatives of the Faddeeva function follow
/// from two before, which cancels where sigma is small beside the rest.
fn voigt_derivative(b: &mut Builder, x: &[NodeId], order: usize, across: bool) -> NodeId {
    if let Some(&op) = (if across { ACROSS } else { ALONG }).get(order) {
        return b.op(op, x);
    }
    let (along, over) = (voigt_derivative(b, x, order - 1, false), voigt_derivative(b, x, order - 1, true));
    let before = voigt_derivative(b, x, order - 2, across);
    let (by_x, by_gamma) = if across { (over, along) } else { (along, over) };
    let (by_x, by_gamma) = (b.mul(x[0], by_x), b.mul(x[2], by_gamma));
    let sum = if across { b.sub(by_x, by_gamma) } else { b.add(by_x, by_gamma) };
    let count = b.constant((order - 1) as f64);
    let before = b.mul(count, before);
    let sum = b.add(sum, before);
    let square = b.mul(x[1], x[1]);
    let quotient = b.div(sum, square);
    b.neg(quotient)
}

/// The profile is harmonic in x and gamma, and by sigma it spreads as heat does: by sigma times its second derivative by x.
pub(crate) fn voigt_partials(b: &mut Builder, x: &[NodeId], order: usize, across: bool) -> Nodes {
    let by_x = voigt_derivative(b, x, order + 1, across);
    let spread = voigt_derivative(b, x, order + 2, across);
    let by_sigma = b.mul(x[1], spread);
    let by_gamma = voigt_derivative(b, x, order + 1, !across);
    vec![by_x, by_sigma, if across { b.neg(by_gamma) } else { by_gamma }]
}

/// By the shape a: the row `next`; by x: the density.
pub(crate) fn incomplete_partials(b: &mut Builder, x: &[NodeId], next: Op) -> Nodes {
    vec![b.op(next, x), b.op(Op::GammaDensity, x)]
}

/// The opposite of those of P.
pub(crate) fn gamma_q_partials(b: &mut Builder, x: &[NodeId], _: NodeId) -> Nodes {
    incomplete_partials(b, x, Op::GammaP1).into_iter().map(|p| b.neg(p)).collect()
}

/// log x - digamma a: the slope of the density's logarithm by a.
fn log_slope(b: &mut Builder, x: &[NodeId]) -> NodeId {
    let (log, psi) = (b.op(Op::Log, &x[1..]), b.op(Op::Digamma, &x[..1]));
    b.sub(log, psi)
}

/// f (s - 1)/x, the slope of the power x^(s-1) in a density f. For a shape s above 1 and x below `near` it is the density of shape s - 1,
/// up to a factor, which `lower` makes: f/x has no digits where f is too small a number, and none at x = 0.
fn power_slope(b: &mut Builder, s: NodeId, x: NodeId, f: NodeId, near: f64, lower: impl FnOnce(&mut Builder, NodeId) -> NodeId) -> NodeId {
    let (zero, one, near) = (b.constant(0.0), b.constant(1.0), b.constant(near));
    let less = b.sub(s, one);
    let (above, small) = (b.op(Op::Gt, &[s, one]), b.op(Op::Lt, &[x, near]));
    let lowers = b.mul(above, small);
    // The side not taken is finite: its derivative is not taken either.
    let lowered = b.op(Op::Select, &[lowers, less, one]);
    let density = lower(b, lowered);
    let border = b.op(Op::Eq, &[x, zero]);
    let aside = b.op(Op::Max, &[lowers, border]);
    let divisor = b.op(Op::Select, &[aside, one, x]);
    let ratio = b.div(less, divisor);
    let plain = b.mul(f, ratio);
    b.op(Op::Select, &[lowers, density, plain])
}

/// f times the slope of its logarithm, or a polynomial of it: 0 where the density is, though that slope has no end there.
fn along_shape(b: &mut Builder, f: NodeId, slope: NodeId) -> NodeId {
    let zero = b.constant(0.0);
    let (nothing, product) = (b.op(Op::Eq, &[f, zero]), b.mul(f, slope));
    b.op(Op::Select, &[nothing, zero, product])
}

/// With f the density: f (log x - digamma a) and f ((a - 1)/x - 1).
pub(crate) fn gamma_density_partials(b: &mut Builder, x: &[NodeId], f: NodeId) -> Nodes {
    let slope = log_slope(b, x);
    let power = power_slope(b, x[0], x[1], f, 1.0, |b, s| b.op(Op::GammaDensity, &[s, x[1]]));
    vec![along_shape(b, f, slope), b.sub(power, f)]
}

/// Of the derivative of P by the shape of that order: the next order, and that order of the density, f B(s, -digamma' a, ...): its
/// derivatives over f are the complete Bell polynomials of those of its logarithm. There is no fourth order by the shape.
pub(crate) fn shape_partials(b: &mut Builder, x: &[NodeId], order: usize) -> Nodes {
    let f = b.op(Op::GammaDensity, x);
    let s = log_slope(b, x);
    let square = b.mul(s, s);
    let bell = match order {
        1 => s,
        2 => {
            let psi = b.op(Op::Trigamma, &x[..1]);
            b.sub(square, psi)
        }
        _ => {
            let (two, three) = (b.constant(2.0), b.constant(3.0));
            let (psi, next) = (b.op(Op::Trigamma, &x[..1]), b.op(Op::Polygamma, &[two, x[0]]));
            let thrice = b.mul(three, psi);
            let inner = b.sub(square, thrice);
            let product = b.mul(s, inner);
            b.sub(product, next)
        }
    };
    let next = match order {
        1 => b.op(Op::GammaP2, x),
        2 => b.op(Op::GammaP3, x),
        _ => b.constant(f64::NAN),
    };
    vec![next, along_shape(b, f, bell)]
}

/// By the shapes rows of their own, by x the density.
pub(crate) fn beta_p_partials(b: &mut Builder, x: &[NodeId], _: NodeId) -> Nodes {
    [Op::BetaPA, Op::BetaPB, Op::BetaDensity].map(|op| b.op(op, x)).to_vec()
}

/// The opposite of those of beta-p.
pub(crate) fn beta_q_partials(b: &mut Builder, x: &[NodeId], y: NodeId) -> Nodes {
    beta_p_partials(b, x, y).into_iter().map(|p| b.neg(p)).collect()
}

/// The slopes of the density's logarithm by the shapes: log x + digamma(a + b) - digamma a, and that of 1 - x and b.
fn beta_log_slopes(b: &mut Builder, x: &[NodeId]) -> [NodeId; 2] {
    let (below, opposite) = (b.op(Op::Log, &x[2..]), b.neg(x[2]));
    let above = b.op(Op::Log1p, &[opposite]);
    [(below, [x[0], x[1]]), (above, [x[1], x[0]])].map(|(log, shapes)| {
        let gap = b.op(Op::DigammaGap, &shapes);
        b.add(log, gap)
    })
}

/// With f the density: f times the slopes of its logarithm, by x (a - 1)/x - (b - 1)/(1 - x).
pub(crate) fn beta_density_partials(b: &mut Builder, x: &[NodeId], f: NodeId) -> Nodes {
    let [by_a, by_b] = beta_log_slopes(b, x);
    let (half, one) = (0.5, b.constant(1.0));
    let (rest, sum) = (b.sub(one, x[2]), b.add(x[0], x[1]));
    let factor = b.sub(sum, one);
    let scaled = |b: &mut Builder, shapes: [NodeId; 2]| {
        let density = b.op(Op::BetaDensity, &[shapes[0], shapes[1], x[2]]);
        b.mul(factor, density)
    };
    let left = power_slope(b, x[0], x[2], f, half, |b, s| scaled(b, [s, x[1]]));
    let right = power_slope(b, x[1], rest, f, half, |b, s| scaled(b, [x[0], s]));
    vec![along_shape(b, f, by_a), along_shape(b, f, by_b), b.sub(left, right)]
}

/// Of the derivatives of beta-p by the shapes, counted as 1 (a), 2 (b), 3 (a a), 4 (a b), 5 (b b): those of the next order, and that one
/// of the density, whose derivatives over it are made of those of its logarithm. There is no third order by the shapes.
pub(crate) fn beta_shape_partials(b: &mut Builder, x: &[NodeId], which: usize) -> Nodes {
    let density = b.op(Op::BetaDensity, x);
    let [by_a, by_b] = beta_log_slopes(b, x);
    let mut bend = |own: usize, other: usize, slope: NodeId| {
        let (square, gap) = (b.mul(slope, slope), b.op(Op::TrigammaGap, &[x[own], x[other]]));
        b.sub(square, gap)
    };
    let over = match which {
        1 => by_a,
        2 => by_b,
        3 => bend(0, 1, by_a),
        4 => {
            let (product, sum) = (b.mul(by_a, by_b), b.add(x[0], x[1]));
            let bend = b.op(Op::Trigamma, &[sum]);
            b.add(product, bend)
        }
        _ => bend(1, 0, by_b),
    };
    let next = match which {
        1 => [Op::BetaPAA, Op::BetaPAB].map(|op| b.op(op, x)),
        2 => [Op::BetaPAB, Op::BetaPBB].map(|op| b.op(op, x)),
        _ => [b.constant(f64::NAN); 2],
    };
    vec![next[0], next[1], along_shape(b, density, over)]
}
