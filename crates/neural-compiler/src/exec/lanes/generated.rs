//! Which batches run as machine code. In: an engine and what it has run so far; out: generated code, made when it is worth it, and
//! its run over a share of a batch.
//! Invariants: the choice never changes a bit; code is generated at most once per process, number type, level and size of batches.

use super::reduce::{BLOCK, CHUNK};
use super::{BatchOptions, Column, Engine, Share};
use crate::exec::EvalError;
use crate::exec::jit::{self, Batches, Jit};
use crate::exec::room::widen;
use crate::exec::watch::Watch;
use crate::ops::real::{Dtype, Real};
use crate::source::Span;
use crate::tape::RegionTape;
use neural_compiler_math::Level;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Generating code costs about as much as running this many lanes tile by tile, whatever the program: both grow with its length.
const WORTH_IT: u64 = 16 * 1024;

/// Batches of fewer lanes fill no vector and stay with the tiles, unless the program is long or has loops: a step of a tile costs about as
/// much as ten instructions, however few its lanes.
const FEWEST_LANES: usize = 32;
const LONG: usize = 12;

/// What a call costs tile by tile at least, in lanes.
const CALL: u64 = 64;

/// Bytes of a batch, inputs and results together, from which on its results go past the caches: they would drive out each other.
const LARGE: usize = 6 << 20;

/// The code of an engine, for each number type, level and size of batches.
#[derive(Default)]
pub(super) struct Generated {
    ran: AtomicU64,
    code: [[[Made; 3]; 2]; 2],
}

/// Code, once some thread has made it. Nobody waits for that thread: it may be one of a parent that was forked meanwhile.
#[derive(Default)]
struct Made {
    code: OnceLock<Option<Jit>>,
    /// The process one of whose threads makes it.
    maker: AtomicU32,
}

/// What batches of so many lanes are for an engine.
fn size<T>(engine: &Engine, lanes: usize, level: Level) -> Batches {
    let vector = if level == Level::Avx512 { 64 } else { 32 };
    let numbers = || {
        let varying = engine.original.inputs.iter().zip(&engine.uniform).filter(|(_, u)| !**u).map(|(i, _)| i.shape.len());
        varying.chain(engine.shapes.iter().map(|s| s.len())).sum::<usize>()
    };
    match lanes * size_of::<T>() {
        bytes if bytes <= vector => Batches::Few,
        bytes if engine.rows() == 0 && bytes * numbers() >= LARGE => Batches::Large,
        _ => Batches::Usual,
    }
}

impl Generated {
    /// Bytes of the code that was made.
    pub(super) fn bytes(&self) -> usize {
        self.code.as_flattened().as_flattened().iter().filter_map(|m| m.code.get()?.as_ref()).map(Jit::size).sum()
    }

    /// Code for a batch of so many lanes, if it is worth it and can be had.
    pub(super) fn get<T: Real>(&self, engine: &Engine, lanes: usize, options: &BatchOptions) -> Option<&Jit> {
        let short = |regions: &[RegionTape]| matches!(regions, [only] if only.code.len() < LONG);
        if !options.jit || engine.whole.is_some() || (lanes < FEWEST_LANES && short(&engine.tape.regions)) {
            return None;
        }
        let worth = CALL.max(lanes as u64);
        let level = options.level.min(Level::best());
        let batches = size::<T>(engine, lanes, level);
        let which = match level {
            Level::Baseline => return None,
            Level::Avx2 => 0,
            Level::Avx512 => 1,
        };
        let dtype = match T::DTYPE {
            Dtype::F32 => 0,
            Dtype::F64 => 1,
        };
        let place = &self.code[dtype][which][batches as usize];
        if let Some(made) = place.code.get() {
            return made.as_ref();
        }
        if self.ran.fetch_add(worth, Ordering::Relaxed) + worth < WORTH_IT {
            return None;
        }
        let (before, own) = (place.maker.load(Ordering::Relaxed), std::process::id());
        if before == own || place.maker.compare_exchange(before, own, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return None;
        }
        let made = Jit::for_batches(&engine.original, &engine.uniform, T::DTYPE, level, batches).ok();
        // Somebody else's is as good.
        let _ = place.code.set(made);
        place.code.get()?.as_ref()
    }
}

/// What a thread needs to run generated code.
pub(super) struct Memory<T> {
    memory: jit::Memory,
    /// Lanes of results that are summed, a block at a time.
    lanes: Vec<Vec<T>>,
}

impl<T> Default for Memory<T> {
    fn default() -> Memory<T> {
        Memory { memory: jit::Memory::default(), lanes: Vec::new() }
    }
}

impl<T> Memory<T> {
    /// Bytes held between runs.
    pub(super) fn bytes(&self) -> usize {
        self.memory.bytes() + self.lanes.iter().map(|l| l.capacity() * size_of::<T>()).sum::<usize>()
    }
}

/// Bytes of lanes that are to be summed, at a time.
const SUMMED_BYTES: usize = 1 << 20;

/// Runs lanes `from .. from + count`; `false` when the tiles have to do it.
#[allow(clippy::too_many_arguments)]
pub(super) fn run<T: Real>(
    engine: &Engine,
    jit: &Jit,
    own: &mut Share<T>,
    inputs: &[Column<'_, T>],
    (from, count): (usize, usize),
    outputs: &mut [&mut [T]],
    options: &BatchOptions,
    watch: &mut Watch<'_>,
) -> Result<bool, EvalError> {
    let limits = &options.run.limits;
    let Memory { memory, lanes } = &mut own.generated;
    let rows = engine.rows();
    if rows == 0 {
        return jit.run_watched(memory, inputs, from, count, outputs, limits, watch);
    }
    // Sums do not mind how many lanes come at a time.
    let piece = (SUMMED_BYTES / (rows * size_of::<T>()).max(1)).clamp(CHUNK, BLOCK).next_multiple_of(CHUNK).min(count).max(1);
    if (piece * rows).saturating_mul(size_of::<T>()) > limits.memory_bytes {
        return Ok(false);
    }
    let results = || engine.shapes.iter().zip(&engine.reduced).enumerate();
    lanes.resize_with(engine.shapes.len(), Vec::new);
    for (k, (shape, _)) in results().filter(|(_, (_, reduced))| **reduced) {
        widen(&mut lanes[k], piece * shape.len(), T::ZERO, Span::default())?;
    }
    for start in (0..count).step_by(piece) {
        let n = piece.min(count - start);
        let mut buffers: Vec<&mut [T]> = Vec::with_capacity(engine.shapes.len());
        for (((shape, &reduced), output), lanes) in engine.shapes.iter().zip(&engine.reduced).zip(outputs.iter_mut()).zip(lanes.iter_mut())
        {
            buffers.push(if reduced { &mut lanes[..n * shape.len()] } else { &mut output[start * shape.len()..(start + n) * shape.len()] });
        }
        if !jit.run_watched(memory, inputs, from + start, n, &mut buffers, limits, watch)? {
            return Ok(false);
        }
        let mut row = 0;
        for (k, (shape, _)) in results().filter(|(_, (_, reduced))| **reduced) {
            for element in 0..shape.len() {
                own.sums.add_strided(row, &lanes[k][element..n * shape.len()], shape.len());
                row += 1;
            }
        }
    }
    Ok(true)
}
