//! Points of a domain and what programs give there. In: ranges, a graph; out: points that spread over the ranges, and values.
//! Invariant: the same ranges have the same points, on every machine: values recorded once can be compared for ever.

use crate::module::Quantity;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::graph::Graph;
use neural_compiler::{EvalError, Limits, Shape, Tensor};

/// Points at which two programs are compared, and those that are recorded.
pub(crate) const COMPARED: usize = 64;
pub(crate) const RECORDED: usize = 8;

/// The `index`-th point: all numbers of all inputs.
pub(crate) fn point(inputs: &[Quantity], index: usize) -> Vec<f64> {
    let mut dimension = 0;
    let mut all = Vec::new();
    for input in inputs {
        for _ in 0..input.shape.iter().product() {
            all.push(within(input.range, unit(index, dimension)));
            dimension += 1;
        }
    }
    all
}

/// A number between 0 and 1 of a sequence that fills the cube evenly; far dimensions take another scrambling of the first ones.
fn unit(index: usize, dimension: u32) -> f64 {
    let seed = 1 + dimension / sobol_burley::NUM_DIMENSIONS;
    f64::from(sobol_burley::sample(index as u32, dimension % sobol_burley::NUM_DIMENSIONS, seed))
}

/// The number of a range at a part of the way; without bounds, small and large ones of both signs.
fn within((lo, hi): (Option<f64>, Option<f64>), u: f64) -> f64 {
    // From 1/64 to 64.
    let far = |u: f64| (12.0 * u - 6.0).exp2();
    match (lo, hi) {
        (Some(lo), Some(hi)) => (lo + u * (hi - lo)).clamp(lo, hi),
        (Some(lo), None) => lo + far(u),
        (None, Some(hi)) => hi - far(u),
        (None, None) if u < 0.5 => -far(2.0 * u),
        (None, None) => far(2.0 * u - 1.0),
    }
}

/// The numbers of inputs, taken apart.
pub(crate) fn tensors(shapes: &[Shape], numbers: &[f64]) -> Vec<Tensor<f64>> {
    let mut at = 0;
    let mut next = |shape: &Shape| {
        at += shape.len();
        Tensor::from_f64(*shape, &numbers[at - shape.len()..at]).expect("as many numbers as the shape holds")
    };
    shapes.iter().map(&mut next).collect()
}

/// What a run at a point may cost. It is a moment's work: whoever needs more is no part of a library that is tested.
pub(crate) fn limits() -> Limits {
    Limits { steps: 10_000_000, ..Limits::default() }
}

/// What a graph gives, or why it has no value there.
pub(crate) fn value(graph: &Graph, inputs: &[Tensor<f64>]) -> Result<Vec<f64>, EvalError> {
    interp::run(graph, inputs, &RunOptions { limits: limits(), trap: false }).map(|r| r[0].data().to_vec())
}

/// Numbers as they are recorded.
pub(crate) fn recorded(numbers: &[f64]) -> Vec<Option<f64>> {
    numbers.iter().map(|x| Some(*x).filter(|x| x.is_finite())).collect()
}

/// How many numbers of f64 lie between two.
pub(crate) fn distance(a: f64, b: f64) -> u64 {
    let ordered = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stay_in_their_ranges_and_differ() {
        let one = |range| Quantity { name: "x".into(), shape: vec![3], unit: None, range };
        for range in [(Some(-1.0), Some(2.0)), (Some(5.0), None), (None, Some(-3.0)), (None, None), (Some(2.0), Some(2.0))] {
            let points: Vec<Vec<f64>> = (0..COMPARED).map(|k| point(&[one(range)], k)).collect();
            assert!(points.iter().flatten().all(|x| *x >= range.0.unwrap_or(f64::MIN) && *x <= range.1.unwrap_or(f64::MAX)));
            assert!(range.0 == range.1 && range.0.is_some() || points.windows(2).all(|w| w[0] != w[1]));
        }
        assert_eq!(distance(1.0, 1.0 + f64::EPSILON), 1);
        assert_eq!(distance(-0.0, 0.0), 0);
        assert_eq!(distance(-f64::from_bits(1), f64::from_bits(1)), 2);
    }
}
