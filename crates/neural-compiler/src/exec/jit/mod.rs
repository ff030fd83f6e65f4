//! Generated code: a program as fused loops of machine code. In: a graph; out: something that runs batches, or the reason why the lane
//! engine should.
//!
//! `translate` turns the graph into machine-sized operations, `quotients` saves divisions, `schedule` puts them into as few loops over
//! lanes as functions of the math crate allow, `homes` says where values live between loops, `allocate` gives out registers, `assemble`
//! makes bytes, `memory` makes them executable, `run` runs them over a batch, and `listing` shows them. Invariants: every lane's result
//! equals the interpreter's to the bit; a program that could fail in a lane, other than by taking too many rounds, is declined; memory is
//! never writable and executable at once.

mod allocate;
mod arithmetic;
mod assemble;
mod expand;
mod homes;
mod indices;
mod ir;
mod listing;
mod look;
mod memory;
mod mend;
mod pace;
mod quotients;
mod run;
mod schedule;
mod tensor;
mod translate;

use crate::graph::Graph;
use crate::ops::real::Dtype;
use assemble::{Assembler, Note};
use homes::Home;
use ir::{Def, Function};
pub use listing::listing;
use neural_compiler_math::{self as math, Level};
pub use run::Memory;
use schedule::Step;
use std::sync::atomic::{AtomicU64, Ordering};

/// Set to 0, this environment variable switches code generation off.
pub const SWITCH: &str = "NEURAL_COMPILER_JIT";

/// Why a program is left to the lane engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declined {
    /// The environment says so.
    SwitchedOff,
    /// No code is generated for this machine or level.
    Machine,
    /// An operation without a translation.
    Operation(&'static str),
    /// A function calls itself.
    Recursion,
    /// A choice whose sides are too long to compute both.
    LongChoice,
    /// A call of a function inside a loop.
    CallInLoop,
    /// Values recorded for a backward walk.
    Record,
    /// Too many values.
    TooLarge,
    /// A loop needs more registers than there are.
    Registers,
    /// An instruction could not be encoded.
    Encoding,
    /// The system gives no executable memory.
    Memory,
}

impl std::fmt::Display for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Declined::SwitchedOff => write!(f, "code generation is switched off by {SWITCH}=0"),
            Declined::Machine => write!(f, "no code is generated for this machine"),
            Declined::Operation(name) => write!(f, "no code is generated for `{name}`"),
            Declined::Recursion => write!(f, "no code is generated for recursion"),
            Declined::LongChoice => write!(f, "a choice is too long to compute both of its sides"),
            Declined::CallInLoop => write!(f, "a loop calls a function"),
            Declined::Record => write!(f, "the program records values for a walk back"),
            Declined::TooLarge => write!(f, "the program is too large"),
            Declined::Registers => write!(f, "a loop needs more registers than there are"),
            Declined::Encoding => write!(f, "an instruction could not be encoded"),
            Declined::Memory => write!(f, "the system gives no executable memory"),
        }
    }
}

impl std::error::Error for Declined {}

/// What batches code is for. Nothing else depends on it: any code runs any batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batches {
    /// A few lanes, which a vector holds: nothing is computed side by side.
    Few,
    /// Results stay in the caches for whoever reads them.
    Usual,
    /// Larger than the caches: results go straight to memory.
    Large,
}

/// Lanes of a block when values are kept between loops.
const MOST_LANES: usize = 1024;

/// Bytes of the first-level cache that values kept between loops may take.
const SLOT_BYTES: usize = 24 * 1024;

/// Bytes of scratch memory for columns, where a block of one step does not take more.
const SCRATCH_BYTES: usize = 1 << 20;

/// A part of a run.
enum Part {
    /// The fused loop that starts here.
    Fused(usize),
    Unary(&'static math::Unary, Home, Home),
    Binary(&'static math::Binary, [Home; 2], Home),
    Ternary(&'static math::Ternary, [Home; 3], Home),
}

/// A program as machine code.
pub struct Jit {
    code: memory::Executable,
    notes: Vec<(usize, Note)>,
    /// Bytes of code.
    length: usize,
    dtype: Dtype,
    level: Level,
    once: Vec<Part>,
    lanes: Vec<Part>,
    /// The same with results that go past the caches, where there are such and every result is a column.
    streamed: Vec<Part>,
    /// For each input: numbers, and whether all lanes share it.
    inputs: Vec<(usize, bool)>,
    /// Numbers of each result.
    outputs: Vec<usize>,
    /// Columns of inputs that vary.
    columns: usize,
    constants: Vec<(u32, u64)>,
    shared: Vec<(u32, u32)>,
    /// Vectors of the pool and behind it.
    pool: usize,
    /// Where in the pool stands whom loops ask whether to go on, in bytes.
    question: usize,
    slots: usize,
    /// Lanes a slot holds.
    block: usize,
    /// Lanes every loop advances by, or a divisor of it.
    step: usize,
    loops: bool,
    /// What the interpreter counts and the code does not: see `translate`.
    steps: translate::Steps,
    /// Tells programs apart, so that a memory knows whose constants it holds.
    id: u64,
}

/// Lanes of a block: as many as leave slots and columns, of so many bytes a lane, in the caches.
fn block_of(slots: usize, columns: usize, vector: usize) -> usize {
    let mut block = MOST_LANES;
    while block > vector * allocate::MOST_COPIES && (slots * block > SLOT_BYTES || columns * block > SCRATCH_BYTES) {
        block /= 2;
    }
    block
}

/// A function called for a whole block of lanes, between loops.
fn called(code: &ir::Code, homes: &homes::Homes, v: ir::Value) -> Result<Part, Declined> {
    let home = |v: ir::Value| homes.of[v.0 as usize];
    match code.def(v) {
        Def::Unary(Function(f), x) => Ok(Part::Unary(f, home(x), home(v))),
        Def::Binary(Function(f), x, y) => Ok(Part::Binary(f, [home(x), home(y)], home(v))),
        Def::Ternary(Function(f), args) => Ok(Part::Ternary(f, args.map(home), home(v))),
        _ => Err(Declined::Encoding),
    }
}

impl Jit {
    /// Generates code for a graph. `uniform`: which inputs all lanes share.
    pub fn new(graph: &Graph, uniform: &[bool], dtype: Dtype, level: Level) -> Result<Jit, Declined> {
        Jit::for_batches(graph, uniform, dtype, level, Batches::Usual)
    }

    /// The same for batches of a certain size.
    pub fn for_batches(graph: &Graph, uniform: &[bool], dtype: Dtype, level: Level, batches: Batches) -> Result<Jit, Declined> {
        if std::env::var_os(SWITCH).is_some_and(|v| v == "0") {
            return Err(Declined::SwitchedOff);
        }
        if level == Level::Baseline || level > Level::best() {
            return Err(Declined::Machine);
        }
        let translated = translate::translate(graph, uniform, dtype, level)?;
        let code = quotients::share(translated.code, dtype, level);
        let schedule = schedule::schedule(&code);
        let inputs: Vec<(usize, bool)> = graph.inputs.iter().zip(uniform).map(|(i, &u)| (i.shape.len(), u)).collect();
        let columns: usize = inputs.iter().filter(|i| !i.1).map(|i| i.0).sum();
        let homes = homes::homes(&code, &schedule, columns as u32, dtype);
        let mut asm = Assembler::new(level, dtype);
        let size = match dtype {
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        };
        let vector = asm.vector_bytes() / size;
        let results: usize = graph.outputs().iter().map(|s| s.len()).sum();
        let block = block_of(homes.slots as usize * size, (columns + results) * size, vector);
        let usual = allocate::Shape {
            side_by_side: batches != Batches::Few,
            stream: false,
            code: &code,
            homes: &homes,
            live: &schedule.live,
            columns: columns as u32,
            pool: homes.pool + 1,
            question: i64::from(homes.pool) * asm.vector_bytes() as i64,
            slot_bytes: (block * size) as u32,
        };
        let mut tables = allocate::Tables::new(code.defs.len());
        let mut spills = 0;
        let mut copies = 1;
        let mut parts = |shape: &allocate::Shape<'_>, steps: &[Step], once: bool| -> Result<Vec<Part>, Declined> {
            let mut list = Vec::with_capacity(steps.len());
            for step in steps {
                list.push(match step {
                    Step::Fused(tasks) => {
                        asm.note(Note::Fused);
                        let fused = allocate::fuse(shape, &mut tables, &mut asm, tasks, once)?;
                        spills = spills.max(fused.spills);
                        copies = copies.max(fused.copies);
                        Part::Fused(fused.entry)
                    }
                    Step::Call(v) => called(&code, &homes, *v)?,
                });
            }
            Ok(list)
        };
        let once = parts(&usual, &schedule.once, true)?;
        let lanes = parts(&usual, &schedule.lanes, false)?;
        let outputs: Vec<usize> = graph.outputs().iter().map(|s| s.len()).collect();
        let streamed = if batches == Batches::Large && outputs.iter().all(|&n| n == 1) {
            parts(&allocate::Shape { stream: true, ..usual }, &schedule.lanes, false)?
        } else {
            Vec::new()
        };
        let (bytes, notes) = asm.finish()?;
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Jit {
            code: memory::Executable::new(&bytes)?,
            notes,
            length: bytes.len(),
            dtype,
            level,
            once,
            lanes,
            streamed,
            inputs,
            outputs,
            columns,
            pool: (homes.pool + 1 + spills) as usize,
            question: usual.question as usize,
            constants: homes.constants,
            shared: homes.shared,
            slots: homes.slots as usize,
            block,
            step: vector * copies,
            loops: !code.loops.is_empty(),
            steps: translated.steps,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Whether functions are called for whole blocks of lanes, between loops.
    pub fn calls(&self) -> bool {
        self.once.iter().chain(&self.lanes).any(|part| !matches!(part, Part::Fused(_)))
    }

    /// Bytes of generated code.
    pub fn size(&self) -> usize {
        self.length
    }
}
