//! Batches and their comparison. In: a graph, columns of numbers and executors; out: how many lanes every executor computed as the
//! interpreter does, or a panic that says where one does not.

use super::executors::{Executor, Ran};
use crate::probe::values_of_lane;
use neural_compiler::Shape;
use neural_compiler::exec::interp::{self, RunOptions};
use neural_compiler::exec::lanes::{Column, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::Real;

/// A number type as its bits, which say more than `==` about NaNs.
pub trait Bits: Real {
    /// The bits.
    fn bits(self) -> u64;
    /// A NaN that no operation gives.
    fn odd_nan(payload: u32) -> Self;
    /// The smallest number above 0.
    fn smallest() -> Self;
    /// An executor's way with this type.
    fn run(executor: &dyn Executor, batch: &Batch<'_, Self>) -> Ran<Self>;
    /// The workspace of this type.
    fn workspace(of: &mut Workspaces) -> &mut Workspace<Self>;
}

/// Workspaces that all programs use one after the other: nothing of one may be seen by the next.
#[derive(Default)]
pub struct Workspaces {
    narrow: Workspace<f32>,
    wide: Workspace<f64>,
}

impl Bits for f32 {
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn odd_nan(payload: u32) -> f32 {
        f32::from_bits(0x7fc0_0001 | (payload << 8) & 0x803f_ff00)
    }
    fn smallest() -> f32 {
        f32::from_bits(1)
    }
    fn run(executor: &dyn Executor, batch: &Batch<'_, f32>) -> Ran<f32> {
        executor.narrow(batch)
    }
    fn workspace(of: &mut Workspaces) -> &mut Workspace<f32> {
        &mut of.narrow
    }
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn odd_nan(payload: u32) -> f64 {
        f64::from_bits(0x7ff8_0000_0000_0001 | (u64::from(payload) << 40) & 0x8007_ffff_ffff_ff00)
    }
    fn smallest() -> f64 {
        f64::from_bits(1)
    }
    fn run(executor: &dyn Executor, batch: &Batch<'_, f64>) -> Ran<f64> {
        executor.wide(batch)
    }
    fn workspace(of: &mut Workspaces) -> &mut Workspace<f64> {
        &mut of.wide
    }
}

/// What an executor is to run.
#[derive(Clone, Copy)]
pub struct Batch<'a, T> {
    /// The program.
    pub graph: &'a Graph,
    /// A column for each input, lane by lane.
    pub columns: &'a [Vec<T>],
    /// How many lanes.
    pub lanes: usize,
    /// Inputs of which all lanes have the first row.
    pub uniform: &'a [bool],
    /// Numbers between the rows of a column, which nobody may read.
    pub gap: usize,
    /// Limits, and whether leaving a domain is an error.
    pub run: RunOptions,
}

impl<T: Bits> Batch<'_, T> {
    /// The columns as a caller may have them: with gaps, or shared. Numbers, and how far rows are apart.
    pub fn laid_out(&self) -> Vec<(Vec<T>, usize)> {
        let columns = self.columns.iter().zip(&self.graph.inputs).zip(self.uniform);
        columns
            .map(|((column, input), &uniform)| {
                let n = input.shape.len();
                if uniform {
                    return (column[..n].to_vec(), 0);
                }
                let mut data = Vec::with_capacity(column.len() + self.gap * self.lanes);
                for row in column.chunks(n.max(1)) {
                    data.extend_from_slice(row);
                    data.extend(std::iter::repeat_n(T::odd_nan(1), self.gap));
                }
                (data, n + self.gap)
            })
            .collect()
    }

    /// Room for the results, and a run into it.
    pub fn into_outputs<E>(
        &self,
        run: impl FnOnce(&[Column<'_, T>], &mut [&mut [T]]) -> Result<E, &'static str>,
    ) -> Result<(E, Vec<Vec<T>>), &'static str> {
        let held = self.laid_out();
        let inputs: Vec<Column<'_, T>> =
            held.iter().map(|(data, stride)| Column { data, lane_stride: *stride, element_stride: 1 }).collect();
        let mut outputs: Vec<Vec<T>> = self.graph.outputs().iter().map(|s| vec![T::ZERO; s.len() * self.lanes]).collect();
        let mut buffers: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut o[..]).collect();
        let ran = run(&inputs, &mut buffers)?;
        Ok((ran, outputs))
    }
}

/// Values around those of a case, different in each lane, some at the edges of domains and of the number type, and NaNs that no
/// operation gives.
pub fn columns<T: Bits>(values: &[(Shape, Vec<f64>)], lanes: usize, seed: u64) -> Vec<Vec<T>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut column = |data: &[f64]| -> Vec<T> {
        let mut column = Vec::with_capacity(lanes * data.len());
        for lane in 0..lanes {
            column.extend(data.iter().map(|&x| match (lane, rng.u8(0..60)) {
                (0, _) => T::from_f64(x),
                (_, 0) => T::from_f64(0.0),
                (_, 1) => T::from_f64(-0.0),
                (_, 2) => T::from_f64(-x),
                (_, 3) => T::from_f64(x.round()),
                (_, 4) => T::from_f64(f64::NAN),
                (_, 5) => T::odd_nan(rng.u32(..)),
                (_, 6) => T::from_f64(f64::INFINITY),
                (_, 7) => T::from_f64(f64::NEG_INFINITY),
                (_, 8) => T::smallest(),
                (_, 9) => T::from_f64(x * 1e30),
                _ => T::from_f64(x * (0.5 + rng.f64())),
            }));
        }
        column
    };
    values.iter().map(|(_, data)| column(data)).collect()
}

/// What the interpreter says of a lane: its results, or the code of its error.
type Expected<T> = Result<Vec<neural_compiler::Tensor<T>>, &'static str>;

/// Compares what executors make of a batch with the interpreter, lane by lane. The number of lanes with a result that no executor
/// left to others.
///
/// # Panics
/// If a lane differs.
pub fn compare<T: Bits>(executors: &[Box<dyn Executor>], batch: &Batch<'_, T>, what: &str) -> usize {
    let ran: Vec<(String, Ran<T>)> = executors.iter().map(|e| (e.name(), T::run(&**e, batch))).collect();
    if ran.iter().all(|(_, ran)| matches!(ran, Ran::Declined)) {
        return 0;
    }
    let declined = ran.iter().any(|(_, ran)| matches!(ran, Ran::Declined));
    let mut good = 0;
    for lane in 0..batch.lanes {
        let values = values_of_lane(batch.graph, batch.columns, batch.uniform, lane);
        let expected: Expected<T> = interp::run(batch.graph, &values, &batch.run).map_err(|e| e.code);
        for (name, ran) in &ran {
            let differs = difference(ran, lane, &expected);
            assert!(
                differs.is_none(),
                "{what}\n{name}, {}, lane {lane} of {}: {}\ninputs {values:?}",
                T::DTYPE.name(),
                batch.lanes,
                differs.unwrap_or_default()
            );
        }
        good += usize::from(expected.is_ok() && !declined);
    }
    good
}

/// What is wrong with a lane.
fn difference<T: Bits>(ran: &Ran<T>, lane: usize, expected: &Expected<T>) -> Option<String> {
    match (ran, expected) {
        (Ran::Declined, _) => None,
        // What all lanes share failed.
        (Ran::Failed(code), expected) => (expected.as_ref().err() != Some(code)).then(|| format!("the batch fails with {code}")),
        (Ran::Done { errors, .. }, Err(code)) => {
            let found = errors.iter().find(|e| e.0 == lane).map(|e| e.1);
            (found != Some(code)).then(|| format!("{found:?} instead of {code}"))
        }
        (Ran::Done { outputs, errors }, Ok(results)) => {
            if let Some(error) = errors.iter().find(|e| e.0 == lane) {
                return Some(format!("fails with {}, the interpreter gives {results:?}", error.1));
            }
            for (k, tensor) in results.iter().enumerate() {
                let size = tensor.data().len();
                for (e, (&x, &y)) in tensor.data().iter().zip(&outputs[k][lane * size..]).enumerate() {
                    if x.bits() != y.bits() {
                        return Some(format!("result {k}[{e}]: {y:?} ({:x}) instead of {x:?} ({:x})", y.bits(), x.bits()));
                    }
                }
            }
            None
        }
    }
}
