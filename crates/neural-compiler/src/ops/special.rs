//! Derivatives of the special functions. In: an application; out: the nodes of its partial derivatives.
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

/// `2 x erfcx x - 2/sqrt(pi)`.
pub(crate) fn erfcx_partial(b: &mut Builder, x: NodeId, y: NodeId) -> NodeId {
    let (two, c) = (b.constant(2.0), b.constant(std::f64::consts::FRAC_2_SQRT_PI));
    let twice = b.mul(two, x);
    let product = b.mul(twice, y);
    b.sub(product, c)
}

/// The order counts and does not vary.
pub(crate) fn polygamma_partials(b: &mut Builder, x: &[NodeId], _: NodeId) -> Nodes {
    let (zero, one) = (b.constant(0.0), b.constant(1.0));
    let next = b.add(x[0], one);
    vec![zero, b.op(Op::Polygamma, &[next, x[1]])]
}

/// `digamma a - digamma(a + b)` for each argument.
pub(crate) fn lbeta_partials(b: &mut Builder, x: &[NodeId]) -> [NodeId; 2] {
    let sum = b.add(x[0], x[1]);
    let whole = b.op(Op::Digamma, &[sum]);
    [x[0], x[1]].map(|x| {
        let part = b.op(Op::Digamma, &[x]);
        b.sub(part, whole)
    })
}

/// 1/sqrt(2 pi).
const DENSITY: f64 = 0.398_942_280_401_432_7;

/// `exp(-x^2/2) / sqrt(2 pi)`.
pub(crate) fn normal_density(b: &mut Builder, x: NodeId) -> NodeId {
    let (half, c) = (b.constant(-0.5), b.constant(DENSITY));
    let square = b.mul(x, x);
    let exponent = b.mul(half, square);
    let bell = b.op(Op::Exp, &[exponent]);
    b.mul(c, bell)
}

/// `sqrt(2 pi) exp(y^2/2)`.
pub(crate) fn normal_quantile_partial(b: &mut Builder, y: NodeId) -> NodeId {
    let (half, c) = (b.constant(0.5), b.constant(2.506_628_274_631_000_7));
    let square = b.mul(y, y);
    let exponent = b.mul(half, square);
    let growth = b.op(Op::Exp, &[exponent]);
    b.mul(c, growth)
}

/// With h the hazard and e = x + h: h' = -h e.
pub(crate) fn normal_hazard_partial(b: &mut Builder, x: &[NodeId], h: NodeId) -> Nodes {
    let excess = b.op(Op::NormalExcess, x);
    let product = b.mul(h, excess);
    vec![b.neg(product)]
}

/// e' = 1 - h e.
pub(crate) fn normal_excess_partial(b: &mut Builder, x: &[NodeId], e: NodeId) -> Nodes {
    let (one, hazard) = (b.constant(1.0), b.op(Op::NormalHazard, x));
    let product = b.mul(hazard, e);
    vec![b.sub(one, product)]
}
