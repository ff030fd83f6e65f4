//! Derivative rules and lowerings too long for a row. In: an application; out: nodes of its tangent, cotangents or parts.
//! Invariant: each rule is itself made of table operations, so derivatives can be differentiated again.

use crate::graph::{Builder, NodeId};
use crate::ops::Op;
use crate::ops::row::{Applied, LowerError};
use crate::shape::Shape;

type Nodes = Vec<NodeId>;
type Maybe = Option<NodeId>;
type Lowered = Result<NodeId, LowerError>;

// ---- elementwise partial derivatives ----

/// 1 where an argument wins, 0 where it loses, 1/2 at a tie; NaN where they cannot be compared.
pub(crate) fn choice_partials(b: &mut Builder, x: &[NodeId], wins: Op) -> Nodes {
    let (zero, half, one, nan) = (b.constant(0.0), b.constant(0.5), b.constant(1.0), b.constant(f64::NAN));
    let tie = b.op(Op::Eq, &[x[0], x[1]]);
    let rest = b.op(Op::Select, &[tie, half, nan]);
    let wins = [b.op(wins, &[x[0], x[1]]), b.op(wins, &[x[1], x[0]])];
    let partial = |b: &mut Builder, i: usize| {
        let loses = b.op(Op::Select, &[wins[1 - i], zero, rest]);
        b.op(Op::Select, &[wins[i], one, loses])
    };
    vec![partial(b, 0), partial(b, 1)]
}

/// `y x^(y-1)` and `x^y log x`, with their limits at `x = 0`, chosen so that their own derivatives are right there too.
pub(crate) fn pow_partials(b: &mut Builder, x: &[NodeId], y: NodeId) -> Nodes {
    let (zero, one) = (b.constant(0.0), b.constant(1.0));
    let at_zero = b.op(Op::Eq, &[x[0], zero]);
    // 0 * 0^-1 is not a number, but a constant has derivative 0. Elsewhere an exponent of 0 must not hide how the slope depends on it.
    // What a choice leaves aside is computed at 1, so that it is finite and its share of a derivative is 0.
    let constant = b.op(Op::Eq, &[x[1], zero]);
    let steady = b.constant_value(x[1]).is_some();
    let pole = if steady { constant } else { b.mul(at_zero, constant) };
    // Where an exponent of 0 may move, y/x times x^y: the reciprocal of x may be infinite, which 0 times is not a number.
    let (level, fraction) = if steady {
        (one, x[1])
    } else {
        let level = b.sub(constant, pole);
        let below = b.op(Op::Select, &[level, x[0], one]);
        (b.sub(one, level), b.div(x[1], below))
    };
    let less = b.sub(x[1], level);
    let (lower, positive) = (b.op(Op::Lt, &[x[1], one]), b.op(Op::Gt, &[x[1], zero]));
    let between = b.mul(lower, positive);
    let between = b.mul(at_zero, between);
    let away = b.op(Op::Select, &[pole, one, x[0]]);
    let away = if steady { away } else { b.op(Op::Select, &[between, one, away]) };
    let power = b.op(Op::Pow, &[away, less]);
    let plain = b.mul(fraction, power);
    let plain = if steady {
        plain
    } else {
        // At 0 for exponents between 0 and 1 the slope is infinite, and the terms of its slope by the exponent are so with both signs:
        // (1 - y)/x has the limits of all three. Of the zeros it takes the positive one.
        let origin = b.op(Op::Select, &[between, x[0], one]);
        let (origin, more) = (b.add(origin, zero), b.neg(less));
        let limit = b.div(more, origin);
        b.op(Op::Select, &[between, limit, plain])
    };
    let base = b.op(Op::Select, &[pole, zero, plain]);
    // 0^y log 0 tends to 0 for every y > 0, as steeply as -sqrt(x) unless y > 1; for y = 0 it is log 0.
    let safe = b.op(Op::Select, &[at_zero, one, x[0]]);
    let log = b.op(Op::Log, &[safe]);
    // a power of its own: at 0 the slope of y may be infinite, and no share of it is NaN
    let elsewhere = if steady { y } else { b.op(Op::Pow, &[safe, x[1]]) };
    let product = b.mul(elsewhere, log);
    let flat = b.op(Op::Gt, &[x[1], one]);
    let steep = b.op(Op::Select, &[flat, zero, positive]);
    let steep = b.mul(at_zero, steep);
    let origin = b.op(Op::Select, &[steep, x[0], one]);
    let root = b.op(Op::Sqrt, &[origin]);
    let falling = b.sub(zero, root);
    let lowest = b.constant(f64::NEG_INFINITY);
    let limit = b.op(Op::Select, &[positive, falling, lowest]);
    let limit = b.op(Op::Select, &[flat, zero, limit]);
    vec![base, b.op(Op::Select, &[at_zero, limit, product])]
}

/// For `x - y q` with whole `q`: 1 and `-q`.
pub(crate) fn remainder_partials(b: &mut Builder, x: &[NodeId], m: NodeId) -> Nodes {
    let difference = b.sub(x[0], m);
    let ratio = b.div(difference, x[1]);
    let whole = b.op(Op::Round, &[ratio]);
    vec![b.constant(1.0), b.neg(whole)]
}

/// `1 / sqrt((1 - x)(1 + x))`, which keeps its digits near 1; near 0 with `1 - x^2`, whose own derivative keeps its digits there, and so at
/// 1 itself, where that of the product would be 0 times infinity.
pub(crate) fn arc_partial(b: &mut Builder, x: NodeId) -> NodeId {
    let (one, half, square) = (b.constant(1.0), b.constant(0.5), b.mul(x, x));
    let (below, above) = (b.sub(one, x), b.add(one, x));
    let (product, less) = (b.mul(below, above), b.sub(one, square));
    let (near, end) = (b.op(Op::Lt, &[square, half]), b.op(Op::Eq, &[square, one]));
    let single = b.op(Op::Max, &[near, end]);
    let rest = b.op(Op::Select, &[single, less, product]);
    let root = b.op(Op::Sqrt, &[rest]);
    b.recip(root)
}

/// `x / (x^2 + y^2)` and `-y / (x^2 + y^2)`.
pub(crate) fn atan2_partials(b: &mut Builder, a: &[NodeId]) -> Nodes {
    let (dy, dx) = (b.op(Op::InversePart, &[a[1], a[0]]), b.op(Op::InversePart, a));
    vec![dy, b.neg(dx)]
}

/// The parts u and v of `1 / (x - i y)`: that by x is `v^2 - u^2`, that by y `-2 u v`; no more of either overflows than must.
pub(crate) fn inverse_part_partials(b: &mut Builder, x: &[NodeId], u: NodeId) -> Nodes {
    let (v, two) = (b.op(Op::InversePart, &[x[1], x[0]]), b.constant(-2.0));
    let (less, more) = (b.sub(v, u), b.add(v, u));
    let product = b.mul(u, v);
    vec![b.mul(less, more), b.mul(two, product)]
}

/// `1 / (x log b)` and `-y / (b log b)`, by the logarithm first: the reciprocal of a product has a derivative with the square of x, which
/// leaves the numbers where the mixed one does not.
pub(crate) fn log_base_partials(b: &mut Builder, x: &[NodeId], y: NodeId) -> Nodes {
    let log = b.op(Op::Log, &[x[1]]);
    let (scale, ratio) = (b.recip(log), b.div(y, log));
    let slope = b.div(ratio, x[1]);
    vec![b.div(scale, x[0]), b.neg(slope)]
}

/// `sech^2 x`, y being `tanh x`: by y where that is small, as what is left by its square; elsewhere by e^(-2|x|), where that has lost its
/// digits. Neither leaves the numbers, nor do their derivatives, as those of `1 / cosh x` do, and near 0, where the second would cancel in
/// derivatives, it is the first. Nothing but one exponential is computed besides.
pub(crate) fn tanh_partial(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    let (one, half, four) = (b.constant(1.0), b.constant(0.5), b.constant(4.0));
    let square = b.mul(y, y);
    let near = b.sub(one, square);
    let distance = b.op(Op::Abs, &[x]);
    let twice = b.add(distance, distance);
    let fall = b.neg(twice);
    let tail = b.op(Op::Exp, &[fall]);
    let sum = b.add(one, tail);
    let below = b.mul(sum, sum);
    let above = b.mul(four, tail);
    let far = b.div(above, below);
    let small = b.op(Op::Lt, &[square, half]);
    b.op(Op::Select, &[small, near, far])
}

/// `sech^2(x/2) / 4`.
pub(crate) fn sigmoid_partial(b: &mut Builder, x: NodeId) -> NodeId {
    let (half, quarter) = (b.constant(0.5), b.constant(0.25));
    let middle = b.mul(x, half);
    let tanh = b.op(Op::Tanh, &[middle]);
    let slope = tanh_partial(b, middle, tanh);
    b.mul(quarter, slope)
}

pub(crate) fn erf_partial(b: &mut Builder, x: NodeId) -> NodeId {
    let (bell, c) = (b.op(Op::Bell, &[x]), b.constant(std::f64::consts::FRAC_2_SQRT_PI));
    b.mul(c, bell)
}

/// `c x y`: of an exponential y of the square of x.
pub(crate) fn of_square_partial(b: &mut Builder, x: NodeId, y: NodeId, c: f64) -> NodeId {
    let c = b.constant(c);
    let slope = b.mul(c, x);
    b.mul(slope, y)
}

// ---- whole values ----

fn sum_present(b: &mut Builder, terms: impl IntoIterator<Item = Maybe>) -> Maybe {
    terms.into_iter().flatten().reduce(|x, y| b.add(x, y))
}

/// Tangent of an operation that is linear in all its arguments together: the operation itself.
pub(crate) fn linear_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe], op: Op) -> Maybe {
    let shape = b.shape(a.out);
    let args: Nodes = t.iter().zip(a.args).map(|(t, &x)| t.unwrap_or_else(|| b.zeros(b.shape(x)))).collect();
    Some(b.given(op, a.attr, shape, &args))
}

/// Tangent of an operation that is linear in each of two arguments.
pub(crate) fn bilinear_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe], op: Op) -> Maybe {
    let first = t[0].map(|t| b.op(op, &[t, a.args[1]]));
    let second = t[1].map(|t| b.op(op, &[a.args[0], t]));
    sum_present(b, [first, second])
}

pub(crate) fn select_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    t[1].or(t[2])?;
    let zero = b.constant(0.0);
    Some(b.op(Op::Select, &[a.args[0], t[1].unwrap_or(zero), t[2].unwrap_or(zero)]))
}

pub(crate) fn select_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let zero = b.constant(0.0);
    vec![None, Some(b.op(Op::Select, &[a.args[0], g, zero])), Some(b.op(Op::Select, &[a.args[0], zero, g]))]
}

pub(crate) fn join_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let mut start = 0;
    a.args
        .iter()
        .map(|&x| {
            let shape = b.shape(x);
            let piece = b.given(Op::Cut, start, shape, &[g]);
            start += shape.len() as u32;
            Some(piece)
        })
        .collect()
}

pub(crate) fn cut_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let shape = b.shape(a.args[0]);
    vec![Some(b.given(Op::Place, a.attr, shape, &[g]))]
}

pub(crate) fn place_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let shape = b.shape(a.args[0]);
    vec![Some(b.given(Op::Cut, a.attr, shape, &[g]))]
}

pub(crate) fn indexed_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe], op: Op) -> Maybe {
    let shape = b.shape(a.out);
    t[0].map(|t| b.given(op, a.attr, shape, &[t, a.args[1]]))
}

pub(crate) fn indexed_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId, inverse: Op) -> Vec<Maybe> {
    let shape = b.shape(a.args[0]);
    vec![Some(b.given(inverse, a.attr, shape, &[g, a.args[1]])), None]
}

pub(crate) fn fill_vjp(b: &mut Builder, _: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    vec![Some(b.op(Op::Total, &[g]))]
}

pub(crate) fn total_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let shape = b.shape(a.args[0]);
    vec![Some(b.fill(g, shape))]
}

pub(crate) fn dot_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    vec![Some(b.mul(g, a.args[1])), Some(b.mul(g, a.args[0]))]
}

pub(crate) fn cross_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    vec![Some(b.op(Op::Cross, &[a.args[1], g])), Some(b.op(Op::Cross, &[g, a.args[0]]))]
}

fn transposed(b: &mut Builder, x: NodeId) -> NodeId {
    b.op(Op::Transpose, &[x])
}

pub(crate) fn product_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let left = match b.shape(a.args[1]) {
        Shape::Matrix(..) => {
            let t = transposed(b, a.args[1]);
            b.op(Op::Product, &[g, t])
        }
        Shape::Vector(_) | Shape::Scalar => b.op(Op::Outer, &[g, a.args[1]]),
    };
    let t = transposed(b, a.args[0]);
    vec![Some(left), Some(b.op(Op::Product, &[t, g]))]
}

pub(crate) fn transpose_vjp(b: &mut Builder, _: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    vec![Some(transposed(b, g))]
}

pub(crate) fn outer_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let t = transposed(b, g);
    vec![Some(b.op(Op::Product, &[g, a.args[1]])), Some(b.op(Op::Product, &[t, a.args[0]]))]
}

pub(crate) fn trace_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let shape = b.shape(a.args[0]);
    let eye = b.given(Op::Identity, 0, shape, &[]);
    vec![Some(b.mul(g, eye))]
}

/// `v / |v|`, and 0 for the zero vector, there with all its derivatives.
fn direction(b: &mut Builder, a: &Applied<'_>) -> NodeId {
    let (zero, one) = (b.constant(0.0), b.constant(1.0));
    let at_zero = b.op(Op::Eq, &[a.out, zero]);
    let length = b.op(Op::Select, &[at_zero, one, a.out]);
    let unit = b.div(a.args[0], length);
    b.op(Op::Select, &[at_zero, zero, unit])
}

pub(crate) fn norm_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    let t = t[0]?;
    let d = direction(b, a);
    Some(b.op(Op::Dot, &[d, t]))
}

pub(crate) fn norm_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let d = direction(b, a);
    vec![Some(b.mul(g, d))]
}

pub(crate) fn det_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    let t = t[0]?;
    let cofactors = b.op(Op::Cofactor, a.args);
    let product = b.mul(cofactors, t);
    Some(b.op(Op::Total, &[product]))
}

pub(crate) fn det_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let cofactors = b.op(Op::Cofactor, a.args);
    vec![Some(b.mul(g, cofactors))]
}

/// The second derivative of `det` is symmetric in its two directions, so one operation serves both modes.
pub(crate) fn cofactor_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    t[0].map(|t| b.op(Op::CofactorAlong, &[a.args[0], t]))
}

pub(crate) fn cofactor_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    vec![Some(b.op(Op::CofactorAlong, &[a.args[0], g]))]
}

/// The third derivative of `det` in directions `t` and `s`, as a matrix: symmetric as well. Beyond 3 by 3 it goes through the
/// inverse, so it is not a number where the matrix is singular.
fn third_derivative(b: &mut Builder, a: NodeId, t: NodeId, s: NodeId) -> Maybe {
    match b.shape(a) {
        Shape::Matrix(1 | 2, _) => None,
        Shape::Matrix(3, _) => Some(b.op(Op::CofactorAlong, &[s, t])),
        _ => {
            let y = b.op(Op::Inv, &[a]);
            let (det, cofactors, along) = (b.op(Op::Det, &[a]), b.op(Op::Cofactor, &[a]), b.op(Op::CofactorAlong, &[a, s]));
            let contract = |b: &mut Builder, x: NodeId, z: NodeId| {
                let product = b.mul(x, z);
                b.op(Op::Total, &[product])
            };
            let product = |b: &mut Builder, x: NodeId, z: NodeId| b.op(Op::Product, &[x, z]);
            let (slope, turn, bend) = (contract(b, cofactors, t), contract(b, cofactors, s), contract(b, along, t));
            let (ty, sy) = (product(b, t, y), product(b, s, y));
            let (yty, ysy) = (product(b, y, ty), product(b, y, sy));
            let (ysyty, ytysy) = (product(b, ysy, ty), product(b, yty, sy));
            let both = b.add(ysyty, ytysy);
            let terms = [b.mul(bend, y), b.mul(slope, ysy), b.mul(turn, yty), b.mul(det, both)];
            let sum = b.sub(terms[0], terms[1]);
            let sum = b.sub(sum, terms[2]);
            let sum = b.add(sum, terms[3]);
            Some(transposed(b, sum))
        }
    }
}

pub(crate) fn cofactor_along_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    let moved = t[0].and_then(|s| third_derivative(b, a.args[0], a.args[1], s));
    let turned = t[1].map(|t| b.op(Op::CofactorAlong, &[a.args[0], t]));
    sum_present(b, [moved, turned])
}

pub(crate) fn cofactor_along_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    vec![third_derivative(b, a.args[0], a.args[1], g), Some(b.op(Op::CofactorAlong, &[a.args[0], g]))]
}

pub(crate) fn inv_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    let t = t[0]?;
    let ty = b.op(Op::Product, &[t, a.out]);
    let yty = b.op(Op::Product, &[a.out, ty]);
    Some(b.neg(yty))
}

pub(crate) fn inv_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let yt = transposed(b, a.out);
    let gy = b.op(Op::Product, &[g, yt]);
    let ygy = b.op(Op::Product, &[yt, gy]);
    vec![Some(b.neg(ygy))]
}

pub(crate) fn solve_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    let moved = t[0].map(|t| b.op(Op::Product, &[t, a.out]));
    let right = match (t[1], moved) {
        (Some(t), Some(m)) => b.sub(t, m),
        (Some(t), None) => t,
        (None, Some(m)) => b.neg(m),
        (None, None) => return None,
    };
    Some(b.op(Op::Solve, &[a.args[0], right]))
}

pub(crate) fn solve_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let t = transposed(b, a.args[0]);
    let right = b.op(Op::Solve, &[t, g]);
    let left = match b.shape(a.out) {
        Shape::Matrix(..) => {
            let xt = transposed(b, a.out);
            b.op(Op::Product, &[right, xt])
        }
        Shape::Vector(_) | Shape::Scalar => b.op(Op::Outer, &[right, a.out]),
    };
    vec![Some(b.neg(left)), Some(right)]
}

/// The elements of a vector moved by so many places, round its ends: in place i stands element i + offset.
pub(crate) fn rotated(b: &mut Builder, x: NodeId, offset: i64) -> NodeId {
    let shape = b.shape(x);
    let n = shape.len() as i64;
    let start = offset.rem_euclid(n) as u32;
    if start == 0 {
        return x;
    }
    let (front, back) = (Shape::Vector(n as u32 - start), Shape::Vector(start));
    let front = b.given(Op::Cut, start, front, &[x]);
    let back = b.given(Op::Cut, 0, back, &[x]);
    b.given(Op::Join, 0, shape, &[front, back])
}

/// How far right of the main diagonal each of some diagonals is, the first of which is `below` it.
fn offsets(diagonals: &[NodeId], below: u32) -> std::ops::Range<i64> {
    -i64::from(below)..diagonals.len() as i64 - i64::from(below)
}

pub(crate) fn solve_band_jvp(b: &mut Builder, a: &Applied<'_>, t: &[Maybe]) -> Maybe {
    let diagonals = &a.args[..a.args.len() - 1];
    let mut moved: Maybe = None;
    for (t, offset) in t.iter().zip(offsets(diagonals, a.attr)) {
        if let Some(t) = *t {
            let x = rotated(b, a.out, offset);
            let product = b.mul(t, x);
            moved = Some(moved.map_or(product, |m| b.add(m, product)));
        }
    }
    let right = match (t[diagonals.len()], moved) {
        (Some(t), Some(m)) => b.sub(t, m),
        (Some(t), None) => t,
        (None, Some(m)) => b.neg(m),
        (None, None) => return None,
    };
    let args: Nodes = diagonals.iter().copied().chain([right]).collect();
    Some(b.given(Op::SolveBand, a.attr, b.shape(a.out), &args))
}

pub(crate) fn solve_band_vjp(b: &mut Builder, a: &Applied<'_>, g: NodeId) -> Vec<Maybe> {
    let diagonals = &a.args[..a.args.len() - 1];
    // The transposed matrix has the same diagonals in the opposite order, each along its columns.
    let turned = offsets(diagonals, a.attr).rev().zip(diagonals.iter().rev());
    let mut args: Nodes = turned.map(|(offset, &d)| rotated(b, d, -offset)).collect();
    args.push(g);
    let above = diagonals.len() as u32 - 1 - a.attr;
    let right = b.given(Op::SolveBand, above, b.shape(a.out), &args);
    let mut found: Vec<Maybe> = Vec::with_capacity(a.args.len());
    for offset in offsets(diagonals, a.attr) {
        let x = rotated(b, a.out, offset);
        let product = b.mul(right, x);
        found.push(Some(b.neg(product)));
    }
    found.push(Some(right));
    found
}

// ---- lowering of surface operations ----

pub(super) fn whole_constant(b: &Builder, x: NodeId, what: &str) -> Result<u32, LowerError> {
    let Some(value) = b.constant_value(x) else {
        return Err(LowerError::new("size-not-constant", format!("{what} must be known when the program is compiled")));
    };
    if value.fract() != 0.0 || !(0.0..=1e7).contains(&value) {
        return Err(LowerError::new("bad-size", format!("{what} must be a whole number, got {}", crate::number_text(value))));
    }
    Ok(value as u32)
}

fn size(b: &Builder, sizes: &[NodeId]) -> Result<Shape, LowerError> {
    let numbers: Vec<u32> = sizes.iter().map(|&s| whole_constant(b, s, "a size")).collect::<Result<_, _>>()?;
    let shape = match numbers[..] {
        [n] => Shape::Vector(n),
        [r, c] => Shape::Matrix(r, c),
        _ => unreachable!("the arity is checked"),
    };
    if shape.is_empty() {
        return Err(LowerError::new("bad-size", "a size must be at least 1"));
    }
    if shape.len() > 1 << 24 {
        return Err(LowerError::new("bad-size", format!("a {shape} is larger than 2^24 numbers")));
    }
    Ok(shape)
}

pub(crate) fn vec(b: &mut Builder, x: &[NodeId]) -> Lowered {
    match b.shape(x[0]) {
        Shape::Scalar => match x.iter().find(|&&n| b.shape(n) != Shape::Scalar) {
            None => Ok(b.given(Op::Join, 0, Shape::Vector(x.len() as u32), x)),
            Some(&odd) => {
                Err(LowerError::new("shape-mismatch", format!("the elements of a vector must be scalars, one is a {}", b.shape(odd))))
            }
        },
        _ => mat(b, x),
    }
}

pub(crate) fn mat(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let first = b.shape(x[0]);
    let Shape::Vector(columns) = first else {
        return Err(LowerError::new("shape-mismatch", format!("the rows of a matrix must be vectors, the first is a {first}")));
    };
    match x.iter().find(|&&n| b.shape(n) != first) {
        None => Ok(b.given(Op::Join, 0, Shape::Matrix(x.len() as u32, columns), x)),
        Some(&odd) => Err(LowerError::new(
            "shape-mismatch",
            format!("the rows of a matrix must be alike: one is a {first}, another a {}", b.shape(odd)),
        )),
    }
}

pub(crate) fn concat(b: &mut Builder, x: &[NodeId]) -> Lowered {
    if let Some(&m) = x.iter().find(|&&n| matches!(b.shape(n), Shape::Matrix(..))) {
        return Err(LowerError::new("shape-mismatch", format!("concat joins vectors and scalars, one argument is a {}", b.shape(m))));
    }
    let n: usize = x.iter().map(|&n| b.shape(n).len()).sum();
    let Ok(length) = u32::try_from(n) else {
        return Err(LowerError::new("limit-memory", format!("a vector of {n} numbers is too long")));
    };
    Ok(b.given(Op::Join, 0, Shape::Vector(length), x))
}

fn index_error(i: f64, length: u32) -> LowerError {
    LowerError::new("index-out-of-range", format!("the index {} is not one of 0 to {}", crate::number_text(i), length - 1))
}

/// One step of indexing: an element of a vector, a row of a matrix.
pub(super) fn index(b: &mut Builder, x: NodeId, i: NodeId) -> Lowered {
    let (length, inner) = match b.shape(x) {
        Shape::Vector(n) => (n, Shape::Scalar),
        Shape::Matrix(r, c) => (r, Shape::Vector(c)),
        Shape::Scalar => {
            return Err(LowerError::new("shape-mismatch", "a scalar has no elements to refer to"));
        }
    };
    if b.shape(i) != Shape::Scalar {
        return Err(LowerError::new("shape-mismatch", format!("an index must be a scalar, this is a {}", b.shape(i))));
    }
    match b.constant_value(i) {
        Some(v) if v >= 0.0 && v < f64::from(length) && v.fract() == 0.0 => {
            Ok(b.given(Op::Cut, v as u32 * inner.len() as u32, inner, &[x]))
        }
        Some(v) => Err(index_error(v, length)),
        None => Ok(b.given(Op::CutAt, 0, inner, &[x, i])),
    }
}

pub(crate) fn reference(b: &mut Builder, x: &[NodeId]) -> Lowered {
    if x.len() == 3 && !matches!(b.shape(x[0]), Shape::Matrix(..)) {
        return Err(LowerError::new("shape-mismatch", format!("two indices refer into a matrix, this is a {}", b.shape(x[0]))));
    }
    let first = index(b, x[0], x[1])?;
    if x.len() == 3 { index(b, first, x[2]) } else { Ok(first) }
}

pub(crate) fn slice(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let Shape::Vector(n) = b.shape(x[0]) else {
        return Err(LowerError::new("shape-mismatch", format!("slice takes a vector, this is a {}", b.shape(x[0]))));
    };
    let (from, to) = (whole_constant(b, x[1], "the start of a slice")?, whole_constant(b, x[2], "the end of a slice")?);
    if from >= to || to > n {
        return Err(LowerError::new("index-out-of-range", format!("the slice from {from} to {to} does not lie within 0 to {n}")));
    }
    Ok(b.given(Op::Cut, from, Shape::Vector(to - from), &[x[0]]))
}

pub(crate) fn vlen(b: &mut Builder, x: &[NodeId]) -> Lowered {
    match b.shape(x[0]) {
        Shape::Vector(n) => Ok(b.constant(f64::from(n))),
        other => Err(LowerError::new("shape-mismatch", format!("vlen takes a vector, this is a {other}"))),
    }
}

pub(crate) fn sized(b: &mut Builder, sizes: &[NodeId], value: f64) -> Lowered {
    let shape = size(b, sizes)?;
    let value = b.constant(value);
    Ok(b.fill(value, shape))
}

pub(crate) fn fill(b: &mut Builder, x: &[NodeId]) -> Lowered {
    let shape = size(b, &x[1..])?;
    if b.shape(x[0]) != Shape::Scalar {
        return Err(LowerError::new("shape-mismatch", format!("fill repeats a scalar, this is a {}", b.shape(x[0]))));
    }
    Ok(b.fill(x[0], shape))
}

pub(crate) fn eye(b: &mut Builder, sizes: &[NodeId]) -> Lowered {
    let n = match size(b, sizes)? {
        Shape::Vector(n) => n,
        Shape::Scalar | Shape::Matrix(..) => unreachable!("the arity is checked"),
    };
    let shape = size(b, &[sizes[0], sizes[0]])?;
    debug_assert_eq!(shape, Shape::Matrix(n, n));
    Ok(b.given(Op::Identity, 0, shape, &[]))
}
