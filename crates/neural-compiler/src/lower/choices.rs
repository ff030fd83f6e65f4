//! Branches. In: a test and two blocks; out: an `If` node, or the block that is taken where the test is a constant.

use super::{Branch, Frame, Level, Lowered, Lowering, Mode, Nest};
use crate::anf::Arg;
use crate::graph::{Kind, NodeId, Type};
use crate::infer::{branch_diagnostic, test_diagnostic};
use crate::ops::Op;
use crate::shape::Shape;
use crate::source::Span;

impl Lowering<'_> {
    pub(super) fn branch(&mut self, nest: &mut Nest, frame: &mut Frame, branch: Branch<'_>, mode: Mode<'_>) -> Lowered<Vec<NodeId>> {
        match (branch, mode) {
            (Branch::Block(id), _) => self.block(nest, frame, id, mode),
            (Branch::States(frames, i), Mode::Step(machine, _)) => {
                let member = machine.members[i];
                let body = Branch::Block(self.anf.fun(member).body);
                let mode = Mode::Step(machine, member);
                let mut own = frames[i].clone();
                if i + 1 == machine.members.len() {
                    return self.branch(nest, &mut own, body, mode);
                }
                let state = nest.reach(0, NodeId(0));
                let here = nest.top().constant(i as f64);
                let test = nest.top().op(Op::Eq, &[state, here]);
                crate::deep(|| self.choose(nest, &mut own, test, body, Branch::States(frames, i + 1), mode, self.anf.fun(member).span))
            }
            (Branch::States(..), Mode::Value) => unreachable!("states belong to loops"),
        }
    }

    pub(super) fn choice(
        &mut self,
        nest: &mut Nest,
        frame: &mut Frame,
        c: Arg,
        t: Branch<'_>,
        e: Branch<'_>,
        mode: Mode<'_>,
    ) -> Lowered<Vec<NodeId>> {
        let test = self.arg(nest, frame, c);
        let shape = nest.top().shape(test);
        if shape != Shape::Scalar {
            return Err(Box::new(test_diagnostic(&shape.to_string(), c.span)));
        }
        self.choose(nest, frame, test, t, e, mode, c.span)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn choose(
        &mut self,
        nest: &mut Nest,
        frame: &mut Frame,
        test: NodeId,
        t: Branch<'_>,
        e: Branch<'_>,
        mode: Mode<'_>,
        span: Span,
    ) -> Lowered<Vec<NodeId>> {
        if let Some(c) = nest.top().constant_value(test) {
            return self.branch(nest, frame, if c != 0.0 { t } else { e }, mode);
        }
        nest.levels.push(Level::new("then"));
        let first = self.branch(nest, frame, t, mode)?;
        let mut yes = nest.levels.pop().expect("the branch");
        nest.levels.push(Level::new("else"));
        let outer = nest.levels.len() - 2;
        for &c in &yes.captures {
            nest.reach(outer, c);
        }
        let second = self.branch(nest, frame, e, mode)?;
        let no = nest.levels.pop().expect("the branch");
        for &c in &no.captures[yes.captures.len()..] {
            let ty = nest.top().ty(c);
            yes.builder.param(ty);
        }
        self.charge(yes.builder.len() + no.builder.len(), span)?;
        let mut types = Vec::new();
        for (&a, &b) in first.iter().zip(&second) {
            let (x, y) = (yes.builder.shape(a), no.builder.shape(b));
            if x != y {
                return Err(Box::new(branch_diagnostic(&x.to_string(), &y.to_string(), span)));
            }
            types.push(Type::Value(x));
        }
        let captures = no.captures;
        let (yes, no) = (self.add_region(yes.builder.finish(first)), self.add_region(no.builder.finish(second)));
        let mut args = vec![test];
        args.extend(captures);
        nest.top().span = span;
        Ok(nest.top().many(Kind::If(yes, no), &args, &types))
    }
}
