//! The lane engine: a program over a batch. In: a graph, columns of inputs, buffers for outputs; out: results per lane, and an
//! error for each lane that has none.
//!
//! The batch is cut into tiles of lanes that fit in the first-level cache; each instruction of the tape runs over a whole tile.
//! Choices, loops and calls run under a mask of active lanes; what no lane needs is skipped. Programs that have run over enough lanes
//! are turned into machine code where the code generator takes them.
//! Invariants: every lane's result equals the interpreter's to the bit, whatever the tile, the thread, the SIMD level or the
//! neighbours; inputs are read where they are; nothing is allocated once a workspace has been used; memory is charged against the limit
//! before it is taken.

mod back;
mod code;
mod control;
mod generated;
mod memory;
mod record;
mod reduce;
mod shares;
mod tensor;
mod tile;
mod trap;
mod whole;
mod wide;

use crate::exec::interp::RunOptions;
use crate::exec::jit::Jit;
use crate::exec::room::over_limit;
use crate::exec::watch::Watch;
use crate::exec::{EvalError, threads};
use crate::graph::{Graph, Kind, flatten};
use crate::limits::Limits;
use crate::ops::Op;
use crate::ops::real::Real;
use crate::shape::Shape;
use crate::source::Span;
use crate::tape::{Rate, Tape};
use code::Prepared;
pub use neural_compiler_math::Level;
use reduce::Sums;
use tile::TileRun;
use wide::Wide;

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
    /// Limits, per lane; with `trap`, lanes run one by one in the interpreter.
    pub run: RunOptions,
    /// SIMD level.
    pub level: Level,
    /// Threads at most; 1 runs on the caller's.
    pub threads: usize,
    /// Bytes that the records of reverse mode may hold per thread. Beyond it loops keep some of their rounds only and run the others
    /// again on the way back: more work, the same bits.
    pub record_bytes: usize,
    /// Whether code may be generated, once enough lanes have been run to be worth it.
    pub jit: bool,
}

impl Default for BatchOptions {
    fn default() -> BatchOptions {
        BatchOptions { run: RunOptions::default(), level: Level::best(), threads: 1, record_bytes: 256 << 20, jit: true }
    }
}

/// Memory a run needs; kept between runs.
pub struct Workspace<T> {
    threads: Vec<Share<T>>,
}

/// What a thread works with.
struct Share<T> {
    memory: memory::Memory<T>,
    sums: Sums<T>,
    generated: generated::Memory<T>,
}

impl<T> Workspace<T> {
    /// Nothing yet.
    pub fn new() -> Workspace<T> {
        Workspace { threads: Vec::new() }
    }
}

impl<T: Real> Workspace<T> {
    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        self.threads.iter().map(|t| t.memory.kept() + t.sums.held() + t.generated.bytes()).sum()
    }
}

impl<T> Default for Workspace<T> {
    fn default() -> Workspace<T> {
        Workspace::new()
    }
}

/// A program ready to run over batches.
pub struct Engine {
    /// The program as given, and with small choices flattened.
    original: Graph,
    graph: Graph,
    tape: Tape,
    code: Prepared,
    uniform: Vec<bool>,
    /// Shapes of the results, and which of them are summed over the batch.
    shapes: Vec<Shape>,
    reduced: Vec<bool>,
    /// Results that are computed in the caller's buffers: their numbers and slots.
    in_place: Vec<(usize, u32)>,
    /// Results whose numbers need not be computed, but only handed on from inputs, as by choices: their numbers and lengths.
    handed_on: Vec<(usize, usize)>,
    /// Varying slots a tile has to hold.
    slots: usize,
    /// Lanes a tile may have.
    widest: usize,
    /// Whether the tape has a place for every value.
    complete: bool,
    generated: generated::Generated,
    /// Where values are large: how to run value by value.
    whole: Option<whole::Whole>,
}

/// Bytes of a tile that stay in the first-level cache, inputs and results that are used in place included.
const TILE_BYTES: usize = 32 * 1024;

/// Bytes of a tile at most, where a lane's values do not take more.
const LARGE_TILE: usize = 16 << 20;

/// Lanes a tile has at least where it may be as large as that.
const NARROW: usize = 64;

/// Below this many lanes per thread, starting threads costs more than it saves.
const LANES_PER_THREAD: usize = 4096;

/// Numbers to look at per thread, likewise, where lanes have large values.
const WORK_PER_THREAD: u64 = 128 * 1024;

impl Engine {
    /// An engine for a graph. `uniform`: which inputs all lanes share; they are computed with once per run.
    pub fn new(graph: &Graph, uniform: &[bool]) -> Engine {
        Engine::reduced(graph, uniform, &vec![false; graph.main().results.len()])
    }

    /// An engine some of whose results are summed over all lanes, as gradients with respect to shared parameters are. Such a result
    /// has one row, whatever the number of lanes; it is NaN if a lane failed. The order of the sum depends on the number of lanes
    /// alone.
    ///
    /// # Panics
    /// If `uniform` does not have an entry per input, or `reduced` one per result.
    pub fn reduced(graph: &Graph, uniform: &[bool], reduced: &[bool]) -> Engine {
        assert_eq!(uniform.len(), graph.inputs.len(), "one mark per input");
        assert_eq!(reduced.len(), graph.main().results.len(), "one mark per result");
        let original = graph.clone();
        let graph = flatten(graph);
        let tape = Tape::with_uniform(&graph, uniform);
        let main = &tape.regions[graph.main.0 as usize];
        let inner = tape.regions.iter().enumerate().filter(|(r, _)| *r != graph.main.0 as usize).map(|(_, t)| t.slots).max().unwrap_or(0);
        let slots = (main.slots + inner).max(1) as usize;
        let recursive = graph.regions.iter().any(|r| r.nodes.iter().any(|n| matches!(n.kind, Kind::Call(_))));
        // Every call in a call takes a frame of its own: smaller tiles, smaller frames.
        let widest = if recursive { 256 } else { 1024 };
        let own = |(k, place): &(usize, &crate::tape::Place)| {
            let once = main.results.iter().filter(|p| p == place).count() == 1;
            place.rate == Rate::Varying && place.len == 1 && !reduced[*k] && once && !main.params.contains(place)
        };
        let in_place = main.results.iter().enumerate().filter(own).map(|(k, place)| (k, place.at)).collect();
        let computed = |kind: Kind| match kind {
            Kind::Op(op, _) => op != Op::Select && !code::is_move(op),
            Kind::Const(_) => true,
            _ => false,
        };
        let results = graph.main().results.iter().enumerate().filter(|(k, _)| !reduced[*k]);
        let handed_on = results.filter(|(_, r)| !computed(graph.main().node(**r).kind)).map(|(k, r)| (k, graph.main().shape(*r).len()));
        let handed_on = handed_on.collect();
        let complete = tape.is_complete();
        let code = if complete { Prepared::new(&graph, &tape) } else { Prepared::default() };
        let whole = if complete { whole::Whole::new(&graph, &tape, reduced, false) } else { None };
        Engine {
            original,
            shapes: graph.outputs(),
            graph,
            tape,
            code,
            uniform: uniform.to_vec(),
            reduced: reduced.to_vec(),
            in_place,
            handed_on,
            slots,
            widest,
            complete,
            generated: Default::default(),
            whole,
        }
    }

    /// Bytes of the code that runs it, about.
    pub fn bytes(&self) -> usize {
        let nodes = |g: &Graph| g.regions.iter().map(|r| r.nodes.len() * size_of::<crate::graph::Node>() + r.pool.len() * 4).sum::<usize>();
        let instructions = self.tape.regions.iter().flat_map(|r| &r.code);
        let tape = instructions
            .map(|i| size_of_val(i) + (i.args.len() + i.out.len() + i.frees.len()) * size_of::<crate::tape::Place>() + 64)
            .sum::<usize>();
        nodes(&self.original)
            + nodes(&self.graph)
            + tape
            + self.code.bytes()
            + self.generated.bytes()
            + self.whole.as_ref().map_or(0, whole::Whole::bytes)
    }

    /// Lanes of a tile: a power of two, so that its slots stay in the first-level cache; few where a lane's values are large, and no more
    /// than a batch has.
    fn width<T>(&self, lanes: usize, limits: &Limits) -> usize {
        let floor = |n: usize| (n + 1).next_power_of_two() / 2;
        let one = size_of::<T>() * self.slots;
        let fits = TILE_BYTES / one;
        let wanted = if fits >= self.widest { self.widest } else { floor(fits).max(NARROW) };
        let most = floor(LARGE_TILE.min(limits.memory_bytes / 4) / one).max(1);
        if let Some(whole) = &self.whole {
            return whole.width::<T>(lanes, most, self.rows() > 0);
        }
        wanted.min(most).min(lanes.next_power_of_two())
    }

    /// Threads for a batch: no more than its lanes keep busy, and than there is memory for.
    fn thread_count<T: Real>(&self, lanes: usize, options: &BatchOptions) -> usize {
        let enough =
            self.whole.as_ref().map_or(LANES_PER_THREAD, |w| (WORK_PER_THREAD / w.work.max(1)).clamp(1, LANES_PER_THREAD as u64) as usize);
        let enough = if self.rows() == 0 { enough } else { LANES_PER_THREAD };
        let wanted = options.threads.min(lanes / enough).max(1);
        if wanted == 1 {
            return 1;
        }
        let limits = &options.run.limits;
        let own = (self.slots * size_of::<T>())
            .saturating_mul(self.width::<T>(lanes, limits))
            .saturating_add(Sums::<T>::bytes(self.rows(), lanes));
        wanted.min(limits.memory_bytes / own.max(1)).max(1)
    }

    /// Runs a batch. `outputs[k]` takes a row per lane of the `k`-th result, or one row if it is reduced. Lanes that fail are
    /// reported, in order, and hold NaN.
    pub fn run<T: Real>(
        &self,
        workspace: &mut Workspace<T>,
        inputs: &[Column<'_, T>],
        lanes: usize,
        outputs: &mut [&mut [T]],
        options: &BatchOptions,
    ) -> Result<Vec<LaneError>, EvalError> {
        self.check(inputs, lanes, outputs)?;
        let threads = self.thread_count::<T>(lanes, options);
        let pool = if threads > 1 { threads::pool(options.threads) } else { None };
        let threads = if pool.is_some() { threads } else { 1 };
        let new = || Share { memory: memory::Memory::default(), sums: Sums::default(), generated: generated::Memory::default() };
        workspace.threads.resize_with(threads.max(workspace.threads.len()), new);
        let rows = self.rows();
        let limit = options.run.limits.memory_bytes;
        if Sums::<T>::bytes(rows, lanes.div_ceil(threads)).saturating_mul(threads) > limit {
            return Err(over_limit(limit, Span::default()));
        }
        let wide: Vec<usize> =
            if self.whole.is_some() && !options.run.trap { self.summed().map(|s| s.len()).collect() } else { Vec::new() };
        let single = if wide.is_empty() { rows } else { 0 };
        workspace.threads[..threads].iter_mut().try_for_each(|t| t.sums.start(single, &wide))?;
        let errors = if options.run.trap {
            self.trapped(&mut workspace.threads[0].sums, inputs, lanes, outputs, options)?
        } else if let Some(pool) = pool {
            self.parallel(&pool, &mut workspace.threads[..threads], inputs, lanes, outputs, options)?
        } else {
            let generated = self.generated.get::<T>(self, lanes, options);
            self.share(&mut workspace.threads[0], generated, inputs, (0, lanes), outputs, options, Watch::alone())?
        };
        if rows > 0 {
            let mut shares: Vec<&mut Sums<T>> = workspace.threads[..threads].iter_mut().map(|t| &mut t.sums).collect();
            let targets = outputs.iter_mut().zip(&self.reduced).filter(|(_, r)| **r).map(|(o, _)| o);
            if wide.is_empty() {
                targets.flat_map(|o| o.iter_mut()).enumerate().for_each(|(row, o)| *o = Sums::total(&mut shares, row));
            } else {
                for (k, o) in targets.enumerate() {
                    let mut parts: Vec<&mut Wide<T>> = shares.iter_mut().map(|s| &mut s.wide[k]).collect();
                    Wide::total(&mut parts, options.level, o);
                }
            }
        }
        Ok(errors)
    }

    /// A thread's share of a batch: by generated code where there is some and no limit is met, else tile by tile.
    #[allow(clippy::too_many_arguments)]
    fn share<T: Real>(
        &self,
        own: &mut Share<T>,
        generated: Option<&Jit>,
        inputs: &[Column<'_, T>],
        (from, count): (usize, usize),
        outputs: &mut [&mut [T]],
        options: &BatchOptions,
        mut watch: Watch<'_>,
    ) -> Result<Vec<LaneError>, EvalError> {
        if let Some(jit) = generated {
            if generated::run(self, jit, own, inputs, (from, count), outputs, options, &mut watch)? {
                return Ok(Vec::new());
            }
            own.sums.start(self.rows(), &[])?;
        }
        let width = self.width::<T>(count, &options.run.limits);
        TileRun::new(self, &mut own.memory, options, width, watch).batch(inputs, from, count, outputs, &mut own.sums)
    }

    /// Numbers that are summed over the batch.
    fn rows(&self) -> usize {
        self.summed().map(|s| s.len()).sum()
    }

    /// Shapes of the results that are summed over the batch.
    fn summed(&self) -> impl Iterator<Item = Shape> {
        self.shapes.iter().zip(&self.reduced).filter(|(_, r)| **r).map(|(s, _)| *s)
    }

    /// A contiguous share of the batch for each thread, at multiples of the blocks that sums are made of.
    fn parallel<T: Real>(
        &self,
        pool: &rayon::ThreadPool,
        threads: &mut [Share<T>],
        inputs: &[Column<'_, T>],
        lanes: usize,
        outputs: &mut [&mut [T]],
        options: &BatchOptions,
    ) -> Result<Vec<LaneError>, EvalError> {
        let unit = if self.whole.is_some() && self.rows() == 0 { 1 } else { reduce::BLOCK };
        let share = lanes.div_ceil(threads.len()).next_multiple_of(unit);
        let mut rest: Vec<&mut [T]> = outputs.iter_mut().zip(&self.reduced).map(|(o, &r)| if r { &mut [][..] } else { &mut **o }).collect();
        let mut work = Vec::new();
        for (t, own) in threads.iter_mut().enumerate() {
            let from = (t * share).min(lanes);
            let count = share.min(lanes - from);
            let (mut buffers, mut behind) = (Vec::new(), Vec::new());
            for ((buffer, shape), &reduced) in rest.into_iter().zip(&self.shapes).zip(&self.reduced) {
                let (a, b) = buffer.split_at_mut(if reduced { 0 } else { count * shape.len() });
                buffers.push(a);
                behind.push(b);
            }
            rest = behind;
            work.push((from, own, buffers));
        }
        let generated = self.generated.get::<T>(self, lanes, options);
        let one = |(from, own, mut outputs): (usize, &mut Share<T>, Vec<&mut [T]>), watch: Watch<'_>| {
            self.share(own, generated, inputs, (from, share.min(lanes - from)), &mut outputs, options, watch)
        };
        let found = shares::all(pool, work, one);
        let found: Result<Vec<Vec<LaneError>>, EvalError> = found.into_iter().collect();
        Ok(found?.into_iter().flatten().collect())
    }

    fn trapped<T: Real>(
        &self,
        sums: &mut Sums<T>,
        inputs: &[Column<'_, T>],
        lanes: usize,
        outputs: &mut [&mut [T]],
        options: &BatchOptions,
    ) -> Result<Vec<LaneError>, EvalError> {
        trap::run(&self.original, inputs, lanes, options, |lane, values| {
            let mut row = 0;
            for (k, shape) in self.shapes.iter().enumerate() {
                let number = |e: usize| values.as_ref().map_or(T::from_f64(f64::NAN), |v| v[k].data()[e]);
                if self.reduced[k] {
                    (0..shape.len()).for_each(|e| sums.add(row + e, &[number(e)]));
                    row += shape.len();
                } else {
                    outputs[k][lane * shape.len()..(lane + 1) * shape.len()].iter_mut().enumerate().for_each(|(e, o)| *o = number(e));
                }
            }
        })
    }

    fn check<T: Real>(&self, inputs: &[Column<'_, T>], lanes: usize, outputs: &[&mut [T]]) -> Result<(), EvalError> {
        let wrong = |message: String| Err(EvalError::new("input-shape", Span::default(), message));
        if !self.complete {
            return Err(EvalError::new("limit-memory", Span::default(), "the run needs more than 2^32 numbers"));
        }
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
            let last = |n: usize, stride: usize| n.saturating_sub(1).saturating_mul(stride);
            let last = last(lanes, column.lane_stride).saturating_add(last(input.shape.len(), column.element_stride));
            if lanes > 0 && last >= column.data.len() {
                return wrong(format!(
                    "the input `{}` has {} numbers, {} are needed",
                    input.name,
                    column.data.len(),
                    last.saturating_add(1)
                ));
            }
        }
        if outputs.len() != self.shapes.len() {
            return wrong(format!("the program has {} results, {} buffers were given", self.shapes.len(), outputs.len()));
        }
        for (k, ((buffer, shape), &reduced)) in outputs.iter().zip(&self.shapes).zip(&self.reduced).enumerate() {
            let needed = if reduced { shape.len() } else { lanes.saturating_mul(shape.len()) };
            if buffer.len() != needed {
                return wrong(format!("the buffer for result {k} has room for {} numbers, {needed} are needed", buffer.len()));
            }
        }
        Ok(())
    }
}
