//! The lane engine: a program over a batch. In: a graph, columns of inputs, buffers for outputs; out: results per lane, and an
//! error for each lane that has none.
//!
//! The batch is cut into tiles of lanes that fit in the first-level cache; each instruction of the tape runs over a whole tile.
//! Choices, loops and calls run under a mask of active lanes; what no lane needs is skipped.
//! Invariants: every lane's result equals the interpreter's to the bit, whatever the tile, the thread, the SIMD level or the
//! neighbours; inputs are read where they are; nothing is allocated once a workspace has been used.

mod memory;
mod record;
mod tensor;
mod tile;

use crate::exec::EvalError;
use crate::exec::interp::RunOptions;
use crate::graph::{Graph, Kind, flatten};
use crate::ops::real::Real;
use crate::source::Span;
use crate::tape::{Place, Rate, RegionTape, Tape};
use neural_compiler_math::Level;
use rayon::prelude::*;
use tile::TileRun;

/// An input of a batch: number `k` of lane `i` is `data[i * lane_stride + k * element_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a, T> {
    /// The numbers.
    pub data: &'a [T],
    /// From one lane to the next; 0 for a value all lanes share.
    pub lane_stride: usize,
    /// From one number of a vector or matrix to the next, row by row.
    pub element_stride: usize,
}

impl<'a, T> Column<'a, T> {
    /// One row per lane, numbers next to each other.
    pub fn rows(data: &'a [T], per_lane: usize) -> Column<'a, T> {
        Column { data, lane_stride: per_lane, element_stride: 1 }
    }

    /// The same value for all lanes.
    pub fn shared(data: &'a [T]) -> Column<'a, T> {
        Column { data, lane_stride: 0, element_stride: 1 }
    }
}

/// A lane without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneError {
    /// Its index in the batch.
    pub lane: usize,
    /// Why.
    pub error: EvalError,
}

/// How to run a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Limits, per lane.
    pub run: RunOptions,
    /// SIMD level.
    pub level: Level,
    /// Threads at most; 1 runs on the caller's.
    pub threads: usize,
}

impl Default for BatchOptions {
    fn default() -> BatchOptions {
        BatchOptions { run: RunOptions::default(), level: Level::best(), threads: 1 }
    }
}

/// Memory a run needs; kept between runs.
#[derive(Default)]
pub struct Workspace<T> {
    runs: Vec<memory::Memory<T>>,
}

impl<T> Workspace<T> {
    /// Nothing yet.
    pub fn new() -> Workspace<T> {
        Workspace { runs: Vec::new() }
    }
}

/// A program ready to run over batches.
pub struct Engine {
    graph: Graph,
    tape: Tape,
    uniform: Vec<bool>,
    /// Which instructions of the main region run once for all tiles.
    early: Vec<bool>,
    /// Varying slots a tile has to hold.
    slots: usize,
    /// Lanes a tile may have.
    widest: usize,
}

/// Bytes of a tile that stay in the first-level cache beside the inputs.
const TILE_BYTES: usize = 24 * 1024;

/// Below this many lanes per thread, starting threads costs more than it saves.
const LANES_PER_THREAD: usize = 4096;

impl Engine {
    /// An engine for a graph. `uniform`: which inputs all lanes share; they are computed with once per run.
    pub fn new(graph: &Graph, uniform: &[bool]) -> Engine {
        let graph = &flatten(graph);
        let tape = Tape::with_uniform(graph, uniform);
        let main = &tape.regions[graph.main.0 as usize];
        // Inputs are read where they are, so the main region's parameters take no room in a tile.
        let params: u32 = main.params.iter().filter(|p| p.rate == Rate::Varying).map(|p| p.len).sum();
        let inner = tape.regions.iter().enumerate().filter(|(r, _)| *r != graph.main.0 as usize).map(|(_, t)| t.slots).max().unwrap_or(0);
        let slots = (main.slots - params + inner).max(1) as usize;
        let recursive = graph.regions.iter().any(|r| r.nodes.iter().any(|n| matches!(n.kind, Kind::Call(_))));
        // Every call in a call takes a frame of its own: smaller tiles, smaller frames.
        let widest = if recursive { 256 } else { 2048 };
        let early = early(&tape.regions[graph.main.0 as usize]);
        Engine { graph: graph.clone(), tape, uniform: uniform.to_vec(), early, slots, widest }
    }

    /// Lanes of a tile: a power of two, so that its slots stay in the first-level cache.
    fn width<T>(&self) -> usize {
        let fits = TILE_BYTES / (size_of::<T>() * self.slots);
        (64..=self.widest).rev().find(|w| w.is_power_of_two() && *w <= fits).unwrap_or(64)
    }

    /// Runs a batch. `outputs[k]` takes `lanes` rows of the `k`-th result. Lanes that fail are reported, in order, and hold NaN.
    pub fn run<T: Real>(
        &self,
        workspace: &mut Workspace<T>,
        inputs: &[Column<'_, T>],
        lanes: usize,
        outputs: &mut [&mut [T]],
        options: &BatchOptions,
    ) -> Result<Vec<LaneError>, EvalError> {
        self.check(inputs, lanes, outputs)?;
        let width = self.width::<T>();
        let tiles = lanes.div_ceil(width);
        let threads = options.threads.min(lanes / LANES_PER_THREAD).max(1);
        workspace.runs.resize_with(threads.max(workspace.runs.len()), Default::default);
        // A contiguous share of tiles for each thread.
        let share = tiles.div_ceil(threads).max(1);
        let mut shares: Vec<(usize, Vec<&mut [T]>)> = Vec::new();
        let mut rest: Vec<&mut [T]> = outputs.iter_mut().map(|o| &mut **o).collect();
        let shapes = self.graph.outputs();
        for t in 0..threads {
            let from = (t * share * width).min(lanes);
            let to = ((t + 1) * share * width).min(lanes);
            let mut own = Vec::new();
            let mut behind = Vec::new();
            for (buffer, shape) in rest.into_iter().zip(&shapes) {
                let (a, b) = buffer.split_at_mut((to - from) * shape.len());
                own.push(a);
                behind.push(b);
            }
            rest = behind;
            shares.push((from, own));
        }
        let one = |(memory, (from, mut outputs)): (&mut memory::Memory<T>, (usize, Vec<&mut [T]>))| {
            let count = (from + share * width).min(lanes).saturating_sub(from);
            TileRun::new(self, memory, options, width).batch(inputs, from, count, &mut outputs)
        };
        let work = workspace.runs.iter_mut().zip(shares);
        let found: Result<Vec<Vec<LaneError>>, EvalError> =
            if threads == 1 { work.map(one).collect() } else { work.collect::<Vec<_>>().into_par_iter().map(one).collect() };
        Ok(found?.into_iter().flatten().collect())
    }

    fn check<T: Real>(&self, inputs: &[Column<'_, T>], lanes: usize, outputs: &[&mut [T]]) -> Result<(), EvalError> {
        let wrong = |message: String| Err(EvalError::new("input-shape", Span::default(), message));
        if inputs.len() != self.graph.inputs.len() {
            return Err(EvalError::new(
                "missing-input",
                Span::default(),
                format!("the program has {} inputs, {} were given", self.graph.inputs.len(), inputs.len()),
            ));
        }
        for ((column, input), &uniform) in inputs.iter().zip(&self.graph.inputs).zip(&self.uniform) {
            if uniform && column.lane_stride != 0 {
                return wrong(format!("the input `{}` is shared by all lanes, its values must not vary", input.name));
            }
            let last = lanes.saturating_sub(1) * column.lane_stride + (input.shape.len() - 1) * column.element_stride;
            if lanes > 0 && last >= column.data.len() {
                return wrong(format!("the input `{}` has {} numbers, {} are needed", input.name, column.data.len(), last + 1));
            }
        }
        for (k, (buffer, shape)) in outputs.iter().zip(self.graph.outputs()).enumerate() {
            if buffer.len() != lanes * shape.len() {
                return wrong(format!("the buffer for result {k} has room for {} numbers, {} are needed", buffer.len(), lanes * shape.len()));
            }
        }
        if outputs.len() != self.graph.outputs().len() {
            return wrong(format!("the program has {} results, {} buffers were given", self.graph.outputs().len(), outputs.len()));
        }
        Ok(())
    }
}

/// Which instructions of the main region run once for all tiles: uniform ones whose arguments are all there by then. (A record
/// belongs to a tile, so what makes or reads one runs with every tile.)
fn early(tape: &RegionTape) -> Vec<bool> {
    let mut ready = vec![false; tape.uniforms as usize];
    tape.params.iter().filter(|p| p.rate == Rate::Uniform && !p.is_record()).for_each(|p| ready[p.at as usize] = true);
    tape.code
        .iter()
        .map(|i| {
            let shared = |p: &Place| p.rate == Rate::Uniform && !p.is_record();
            let once = i.out.iter().all(shared) && i.args.iter().all(|a| shared(a) && ready[a.at as usize]);
            if once {
                i.out.iter().for_each(|o| ready[o.at as usize] = true);
            }
            once
        })
        .collect()
}
