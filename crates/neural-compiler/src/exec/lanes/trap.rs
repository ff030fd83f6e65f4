//! A batch that stops each lane at the first operation that leaves its domain. In: columns; out: results per lane from the interpreter,
//! which knows the domain of every operation. Slow and exact: choices are not flattened, so no lane is blamed for a side it did not
//! take.

use super::{BatchOptions, Column, LaneError};
use crate::exec::{Tensor, interp};
use crate::graph::Graph;
use crate::ops::real::Real;
use rayon::prelude::*;

/// Lanes a thread takes at a time.
const SHARE: usize = 256;

/// Runs lanes one by one; `store` takes the results of each (`None`: it has none).
pub(super) fn run<T: Real>(
    graph: &Graph,
    inputs: &[Column<'_, T>],
    lanes: usize,
    options: &BatchOptions,
    mut store: impl FnMut(usize, Option<Vec<Tensor<T>>>),
) -> Vec<LaneError> {
    let one = |lane: usize| {
        let value = |(column, shape): (&Column<'_, T>, crate::Shape)| {
            let numbers = (0..shape.len()).map(|k| column.data[lane * column.lane_stride + k * column.element_stride]).collect();
            Tensor::new(shape, numbers).expect("the shape's own number of numbers")
        };
        let values: Vec<Tensor<T>> = inputs.iter().zip(graph.inputs.iter().map(|i| i.shape)).map(value).collect();
        interp::run(graph, &values, &options.run)
    };
    let mut errors = Vec::new();
    let mut from = 0;
    while from < lanes {
        let to = lanes.min(from + SHARE * options.threads.max(1));
        let found: Vec<_> =
            if options.threads > 1 { (from..to).into_par_iter().with_min_len(SHARE / 4).map(one).collect() } else { (from..to).map(one).collect() };
        for (lane, result) in (from..to).zip(found) {
            match result {
                Ok(values) => store(lane, Some(values)),
                Err(error) => {
                    store(lane, None);
                    errors.push(LaneError { lane, error });
                }
            }
        }
        from = to;
    }
    errors
}
