//! Tapes made ready for lanes. In: a tape; out: per region a list of small steps that name slots and kernels directly.
//! Invariants: a step that computes lanes never writes a slot it reads; steps run in the order of the tape; uniform instructions of
//! the main region that need nothing of a tile stand apart, to be run once.

use crate::graph::{Graph, Kind};
use crate::ops::Op;
use crate::ops::row::{Kernel, Operand};
use crate::tape::{Instruction, Place, Rate, RegionTape, Tape};
use neural_compiler_math::{Binary, Ternary, Unary};
use rustc_hash::FxHashSet;

/// Where a number is read: one for all lanes, or a slot of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Uniform(u32),
    Varying(u32),
}

/// One step over a tile.
pub(super) enum Step {
    Unary(&'static Unary, u32, u32),
    Binary(&'static Binary, Source, Source, u32),
    Ternary(&'static Ternary, [Source; 3], u32),
    Select([Source; 3], u32),
    /// An elementwise operation on uniform numbers.
    Number(&'static Kernel, [u32; 3], u8, u32),
    Constant(f64, u32),
    Copy(Source, u32),
    Fill(f64, u32),
    /// An elementwise instruction of the tape on long values, number by number: its steps are made as they run.
    Repeat(u32),
    /// Anything else: an instruction of the tape.
    Instruction(u32),
}

/// How values go from one set of places to another of the same frame, all at once.
#[derive(Default)]
pub(super) struct Carry {
    /// One after the other, in this order.
    pub(super) moves: Vec<(Place, Place, Way)>,
    /// Those that need each other's old values: read all, then write all.
    pub(super) tangled: Vec<(Place, Place)>,
}

/// How a value is carried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The slots trade places: nothing else reads the source before it is written again.
    Trade,
    Copy,
}

/// A region, ready to run.
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    /// For the body of a loop or of a walk back: from results to the carried parameters.
    pub(super) carry: Carry,
}

/// A program, ready to run.
#[derive(Default)]
pub(super) struct Prepared {
    /// Run once for all tiles.
    pub(super) early: Vec<Step>,
    pub(super) regions: Vec<Code>,
}

/// Operations on whole values are taken apart into steps on slots up to this many numbers.
const MOST_STEPS: usize = 256;

impl Prepared {
    /// Bytes of its steps.
    pub(super) fn bytes(&self) -> usize {
        (self.early.len() + self.regions.iter().map(|r| r.steps.len()).sum::<usize>()) * size_of::<Step>()
    }

    pub(super) fn new(graph: &Graph, tape: &Tape) -> Prepared {
        let main = graph.main.0 as usize;
        let mut early = Vec::new();
        let mut regions: Vec<Code> = Vec::with_capacity(tape.regions.len());
        for (r, region) in tape.regions.iter().enumerate() {
            let once = if r == main { run_once(region) } else { vec![false; region.code.len()] };
            let mut steps = Vec::with_capacity(region.code.len());
            for (k, (i, once)) in region.code.iter().zip(once).enumerate() {
                prepare(i, k as u32, if once { &mut early } else { &mut steps });
            }
            regions.push(Code { steps, carry: Carry::default() });
        }
        for region in &tape.regions {
            for i in &region.code {
                let (body, from, to) = match i.kind {
                    Kind::Loop { body, carried, .. } => (body, 1..1 + carried as usize, 0..carried as usize),
                    Kind::Back { body, stored, carried } => (body, 0..carried as usize, stored as usize..(stored + carried) as usize),
                    _ => continue,
                };
                let code = &tape.regions[body.0 as usize];
                regions[body.0 as usize].carry = Carry::new(&code.results[from], &code.params[to], &code.params);
            }
        }
        Prepared { early, regions }
    }
}

/// Which instructions of the main region run once for all tiles: uniform ones whose arguments are all there by then. (A record
/// belongs to a tile, so what makes or reads one runs with every tile.)
fn run_once(tape: &RegionTape) -> Vec<bool> {
    let mut ready: FxHashSet<u32> = tape.params.iter().filter(|p| p.rate == Rate::Uniform && !p.is_record()).map(|p| p.at).collect();
    let shared = |p: &Place| p.rate == Rate::Uniform && !p.is_record();
    tape.code
        .iter()
        .map(|i| {
            let once = i.out.iter().all(shared) && i.args.iter().all(|a| shared(a) && ready.contains(&a.at));
            if once {
                ready.extend(i.out.iter().map(|o| o.at));
            }
            once
        })
        .collect()
}

fn source(place: Place, k: usize) -> Source {
    // A scalar combines with every element.
    let at = place.at + if place.len == 1 { 0 } else { k as u32 };
    match place.rate {
        Rate::Uniform => Source::Uniform(at),
        Rate::Varying => Source::Varying(at),
    }
}

fn prepare(i: &Instruction, index: u32, steps: &mut Vec<Step>) {
    let out = i.out.first().copied();
    match (i.kind, out) {
        (Kind::Const(bits), Some(out)) => steps.push(Step::Constant(f64::from_bits(bits), out.at)),
        (Kind::Op(op, attr), Some(out)) => match (&op.row().kernel, out.rate) {
            (Kernel::Tensor(_), Rate::Varying) if is_move(op) && out.len as usize <= MOST_STEPS => moves(op, attr, i, out, steps),
            (Kernel::Tensor(_) | Kernel::Composite(_), _) => steps.push(Step::Instruction(index)),
            _ if out.len as usize > MOST_STEPS => steps.push(Step::Repeat(index)),
            (kernel, rate) => (0..out.len as usize).for_each(|k| steps.push(elementwise(kernel, rate, i, k, out.at + k as u32))),
        },
        _ => steps.push(Step::Instruction(index)),
    }
}

/// The step for number `k` of an elementwise instruction.
pub(super) fn elementwise(kernel: &'static Kernel, rate: Rate, i: &Instruction, k: usize, out: u32) -> Step {
    if rate == Rate::Uniform {
        let at = std::array::from_fn(|a| {
            i.args.get(a).map_or(0, |&p| if let Source::Uniform(at) = source(p, k) { at } else { unreachable!("uniform") })
        });
        return Step::Number(kernel, at, i.args.len() as u8, out);
    }
    let arg = |a: usize| {
        let s = source(i.args[a], k);
        assert_ne!(s, Source::Varying(out), "a result must not overwrite its argument");
        s
    };
    match kernel {
        Kernel::Unary(f) => match arg(0) {
            Source::Varying(x) => Step::Unary(f, x, out),
            Source::Uniform(_) => unreachable!("a result varies because its argument does"),
        },
        Kernel::Binary(f) => Step::Binary(f, arg(0), arg(1), out),
        Kernel::Ternary(f) => Step::Ternary(f, [arg(0), arg(1), arg(2)], out),
        Kernel::Select => Step::Select([arg(0), arg(1), arg(2)], out),
        Kernel::Tensor(_) | Kernel::Composite(_) => unreachable!("not an elementwise operation"),
    }
}

/// Operations that only move numbers about.
pub(super) fn is_move(op: Op) -> bool {
    matches!(op, Op::Join | Op::Cut | Op::Place | Op::Spread | Op::Transpose)
}

/// Finds where each number of a move comes from by moving numbers that name their places.
fn moves(op: Op, attr: u32, i: &Instruction, out: Place, steps: &mut Vec<Step>) {
    let Kernel::Tensor(kernel) = &op.row().kernel else { unreachable!("moves are tensor operations") };
    let mut sources = Vec::new();
    let mut named: Vec<Vec<f64>> = Vec::new();
    for &a in &i.args {
        named.push((0..a.len as usize).map(|k| (sources.len() + k + 1) as f64).collect());
        sources.extend((0..a.len as usize).map(|k| source(a, k)));
    }
    let operands: Vec<Operand<'_, f64>> = named.iter().zip(&i.arg_shapes).map(|(data, &shape)| Operand { data, shape }).collect();
    let mut moved = vec![0.0; out.len as usize];
    let done = (kernel.f64)(&operands, attr, i.shapes[0], &mut moved);
    debug_assert!(done.is_ok(), "a move has no error to report");
    for (k, name) in moved.into_iter().enumerate() {
        let to = out.at + k as u32;
        steps.push(if name == 0.0 { Step::Fill(0.0, to) } else { Step::Copy(sources[name as usize - 1], to) });
    }
}

impl Carry {
    /// From results of a region to some of its parameters.
    fn new(from: &[Place], to: &[Place], params: &[Place]) -> Carry {
        let mut pending: Vec<(Place, Place)> = from.iter().copied().zip(to.iter().copied()).filter(|(f, t)| f != t).collect();
        let mut carry = Carry::default();
        // A parameter may be overwritten once nobody pending wants its old value.
        while let Some(k) = (0..pending.len()).find(|&k| pending.iter().enumerate().all(|(j, p)| j == k || p.0 != pending[k].1)) {
            let (f, t) = pending.remove(k);
            let alone = from.iter().filter(|p| **p == f).count() == 1 && !params.contains(&f);
            let lanes = !f.is_record() && f.rate == Rate::Varying && t.rate == Rate::Varying;
            carry.moves.push((f, t, if alone && lanes { Way::Trade } else { Way::Copy }));
        }
        carry.tangled = pending;
        carry
    }
}
