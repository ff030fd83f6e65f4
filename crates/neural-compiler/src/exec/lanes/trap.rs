//! A batch that stops each lane at the first operation that leaves its domain. In: columns; out: results per lane from the interpreter,
//! which knows the domain of every operation. Slow and exact: choices are not flattened, so no lane is blamed for a side it did not
//! take.

use super::{BatchOptions, Column, LaneError, shares};
use crate::exec::room::make_room;
use crate::exec::watch::{self, Watch};
use crate::exec::{EvalError, Tensor, interp, threads};
use crate::graph::Graph;
use crate::ops::real::Real;
use crate::source::Span;
use std::ops::Range;

/// Lanes a thread takes at a time.
const SHARE: usize = 256;

/// Runs lanes one by one; `store` takes the results of each (`None`: it has none).
pub(super) fn run<T: Real>(
    graph: &Graph,
    inputs: &[Column<'_, T>],
    lanes: usize,
    options: &BatchOptions,
    mut store: impl FnMut(usize, Option<Vec<Tensor<T>>>),
) -> Result<Vec<LaneError>, EvalError> {
    let one = |lane: usize, watch: &mut Watch<'_>| {
        let value = |(column, shape): (&Column<'_, T>, crate::Shape)| {
            let mut numbers = Vec::new();
            make_room(&mut numbers, shape.len(), Span::default())?;
            numbers.extend((0..shape.len()).map(|k| column.data[lane * column.lane_stride + k * column.element_stride]));
            Ok(Tensor::new(shape, numbers).expect("the shape's own number of numbers"))
        };
        let values: Vec<Tensor<T>> =
            inputs.iter().zip(graph.inputs.iter().map(|i| i.shape)).map(value).collect::<Result<_, EvalError>>()?;
        interp::run_watched(graph, &values, &options.run, watch)
    };
    // What the lanes of a round hold until they are stored.
    let numbers: usize = graph.outputs().iter().chain(graph.inputs.iter().map(|i| &i.shape)).map(|s| s.len()).sum();
    let together = (options.run.limits.memory_bytes / 4 / (numbers * size_of::<T>()).max(1)).clamp(1, SHARE * options.threads.max(1));
    let pool = if options.threads > 1 && together > 1 { threads::pool(options.threads) } else { None };
    let mut watch = Watch::alone();
    let mut errors = Vec::new();
    let mut from = 0;
    while from < lanes {
        let to = lanes.min(from + together);
        let found: Vec<_> = match &pool {
            Some(pool) => {
                let part = (to - from).div_ceil(options.threads);
                let parts = (from..to).step_by(part).map(|first| first..to.min(first + part)).collect();
                shares::all(pool, parts, |part: Range<usize>, mut watch| in_turn(part, |lane| one(lane, &mut watch)))
                    .into_iter()
                    .flatten()
                    .collect()
            }
            None => in_turn(from..to, |lane| one(lane, &mut watch)),
        };
        for (lane, result) in (from..to).zip(found) {
            match result {
                Ok(values) => store(lane, Some(values)),
                Err(error) if watch::is_interrupted(&error) => return Err(error),
                Err(error) => {
                    store(lane, None);
                    errors.push(LaneError { lane, error });
                }
            }
        }
        from = to;
        watch.pass(u64::MAX, Span::default())?;
    }
    Ok(errors)
}

/// One lane after another; behind a lane whose run was ended, none.
fn in_turn<R>(lanes: Range<usize>, mut one: impl FnMut(usize) -> Result<R, EvalError>) -> Vec<Result<R, EvalError>> {
    let mut found = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let result = one(lane);
        let ended = matches!(&result, Err(error) if watch::is_interrupted(error));
        found.push(result);
        if ended {
            break;
        }
    }
    found
}
