//! Loops of functions as `Loop` nodes. In: functions that call each other last; out: one node whose body says whether to go on, what is
//! carried next, and the result.

use super::{Branch, Frame, Level, Lowered, Lowering, MOST_LOOPS, Machine, Mode, Nest};
use crate::anf::{Atom, Tail};
use crate::diagnostic::Diagnostic;
use crate::graph::{Kind, NodeId, Type};
use crate::infer::{Solver, branch_diagnostic};
use crate::shape::Shape;
use crate::source::Span;
use crate::syntax::ast::FunId;

impl Lowering<'_> {
    /// A loop as a node.
    pub(super) fn run_loop(&mut self, nest: &mut Nest, f: FunId, args: &[NodeId]) -> Lowered<NodeId> {
        let span = self.anf.fun(f).span;
        self.loops += 1;
        if self.loops > MOST_LOOPS {
            let message = format!("loops are nested more than {MOST_LOOPS} deep");
            return Err(Box::new(
                Diagnostic::error("limit-nesting", span, message).help("make one loop of several, or a function of the inner ones"),
            ));
        }
        let shapes: Vec<Shape> = args.iter().map(|&a| nest.top().shape(a)).collect();
        let machine = self.machine(f, &shapes)?;
        let entry = machine.members.iter().position(|&m| m == f).expect("a loop contains its entry");
        let mut body = Nest { levels: vec![Level::new(&self.anf.fun(f).name)] };
        // Carried values first: zeros of the right shape for the parameters of members not entered.
        let mut initial = vec![None; machine.carried.len()];
        if machine.several() {
            initial[0] = Some(nest.top().constant(entry as f64));
        }
        for (slot, &a) in machine.slots[entry].iter().zip(args) {
            if let Some(i) = slot {
                initial[*i] = Some(a);
            }
        }
        let mut operands: Vec<NodeId> =
            initial.into_iter().zip(&machine.carried).map(|(a, &s)| a.unwrap_or_else(|| nest.top().zeros(s))).collect();
        let carried: Vec<NodeId> = machine.carried.iter().map(|&s| body.top().param(Type::Value(s))).collect();
        let mut frames: Vec<Frame> = machine.members.iter().map(|&m| vec![None; self.anf.fun(m).locals.len()]).collect();
        for (frame, slots) in frames.iter_mut().zip(&machine.slots) {
            for (i, slot) in slots.iter().enumerate() {
                frame[i] = Some((
                    0,
                    match slot {
                        Some(c) => carried[*c],
                        None => {
                            // Only a loop of one function has invariants, so its arguments are at hand.
                            operands.push(args[i]);
                            body.top().param(Type::Value(shapes[i]))
                        }
                    },
                ));
            }
        }
        let results = self.branch(&mut body, &mut frames[0].clone(), Branch::States(&frames, 0), Mode::Step(&machine, f))?;
        let level = body.levels.pop().expect("the body");
        self.charge(level.builder.len(), span)?;
        let region = self.add_region(level.builder.finish(results));
        self.loops -= 1;
        let kind = Kind::Loop { body: region, carried: machine.carried.len() as u32, taped: false };
        Ok(nest.top().many(kind, &operands, &[Type::Value(machine.result)])[0])
    }

    pub(super) fn machine(&mut self, f: FunId, shapes: &[Shape]) -> Lowered<Machine> {
        let members = self.tails.members(f);
        let mut solver = Solver::new(self.anf);
        let (params, result) = solver.group(&members, f, shapes);
        if let Some(e) = solver.errors.first() {
            return Err(Box::new(e.clone()));
        }
        let settled = |t| {
            solver.settled(t).ok_or_else(|| {
                let fun = self.anf.fun(f);
                Box::new(Diagnostic::error("shape-unknown", fun.span, format!("the shapes in the loop `{}` cannot be told", fun.name)))
            })
        };
        let mut carried = Vec::new();
        if members.len() > 1 {
            carried.push(Shape::Scalar);
        }
        let mut slots = Vec::new();
        for (&m, terms) in members.iter().zip(&params) {
            let invariant = if members.len() == 1 { self.invariants(m) } else { vec![false; terms.len()] };
            let mut own = Vec::new();
            for (&t, fixed) in terms.iter().zip(invariant) {
                if fixed {
                    own.push(None);
                } else {
                    own.push(Some(carried.len()));
                    carried.push(settled(t)?);
                }
            }
            slots.push(own);
        }
        let result = settled(result)?;
        Ok(Machine { members, slots, carried, result })
    }

    /// Which parameters of a loop of one function every jump hands on unchanged.
    pub(super) fn invariants(&self, f: FunId) -> Vec<bool> {
        let mut fixed = vec![true; self.anf.fun(f).params];
        for (id, tail) in self.anf.blocks_of(f) {
            if let Tail::Call(g, args, _) = self.anf.block(id).tail
                && tail
                && g == f
            {
                for (i, a) in self.anf.args(args).iter().enumerate() {
                    fixed[i] &= matches!(a.atom, Atom::Local(l) if l.0 as usize == i);
                }
            }
        }
        fixed
    }

    /// What a block gives when it ends with a value.
    pub(super) fn leave(&mut self, nest: &mut Nest, value: NodeId, mode: Mode<'_>, span: Span) -> Lowered<Vec<NodeId>> {
        match mode {
            Mode::Value => Ok(vec![value]),
            Mode::Step(machine, _) => {
                let found = nest.top().shape(value);
                if found != machine.result {
                    return Err(Box::new(branch_diagnostic(&machine.result.to_string(), &found.to_string(), span)));
                }
                let mut results = vec![nest.top().constant(0.0)];
                results.extend(machine.carried.iter().map(|&s| nest.top().zeros(s)));
                results.push(value);
                Ok(results)
            }
        }
    }

    /// What a block gives when it jumps.
    pub(super) fn jump(&mut self, nest: &mut Nest, machine: &Machine, g: FunId, args: &[NodeId], span: Span) -> Lowered<Vec<NodeId>> {
        let to = machine.members.iter().position(|&m| m == g).expect("a jump stays in its loop");
        let mut next: Vec<Option<NodeId>> = vec![None; machine.carried.len()];
        if machine.several() {
            next[0] = Some(nest.top().constant(to as f64));
        }
        for (slot, &a) in machine.slots[to].iter().zip(args) {
            if let Some(i) = *slot {
                let (found, wanted) = (nest.top().shape(a), machine.carried[i]);
                if found != wanted {
                    return Err(Box::new(
                        Diagnostic::error(
                            "shape-mismatch",
                            span,
                            format!("a loop variable changes its shape from a {wanted} to a {found}"),
                        )
                        .help("a loop variable keeps one shape; start it with the shape it will have, for instance (zeros n)"),
                    ));
                }
                next[i] = Some(a);
            }
        }
        let mut results = vec![nest.top().constant(1.0)];
        for (value, &shape) in next.into_iter().zip(&machine.carried) {
            results.push(value.unwrap_or_else(|| nest.top().zeros(shape)));
        }
        results.push(nest.top().zeros(machine.result));
        Ok(results)
    }
}
