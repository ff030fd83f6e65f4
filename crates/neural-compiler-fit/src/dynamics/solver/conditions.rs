//! The conditions of a law that depend on time and not on states. In: a graph whose first input is the states; out: a copy of what leads to
//! them, with class and level of each. Invariants: a condition reads no state; whether there are others is noted.

use neural_compiler::Shape;
use neural_compiler::graph::{Builder, Graph, Kind, NodeId, Region, Type};
use neural_compiler::ops::Op;
use std::collections::HashMap;

/// Calls followed into calls.
const DEEPEST: usize = 12;

/// Operations that change their form.
const CONDITIONS: [Op; 18] = [
    Op::Lt,
    Op::Gt,
    Op::Le,
    Op::Ge,
    Op::Eq,
    Op::Min,
    Op::Max,
    Op::Abs,
    Op::Sign,
    Op::Relu,
    Op::Clamp,
    Op::Floor,
    Op::Ceiling,
    Op::Round,
    Op::Truncate,
    Op::Modulo,
    Op::Remainder,
    Op::Quotient,
];

/// Whether a law changes its form where its states pass a level, or where that cannot be told.
pub(crate) fn on_states(law: &Graph) -> bool {
    let mut finder = Finder::new(law);
    let inputs = &law.inputs[1..];
    let params: Vec<NodeId> = inputs.iter().map(|i| finder.b.param(Type::Value(i.shape))).collect();
    let args: Vec<Option<NodeId>> = std::iter::once(None).chain(params.into_iter().map(Some)).collect();
    finder.walk(law.main(), &args, 0);
    finder.others
}

/// Copies what depends on time alone out of a law.
pub(super) struct Finder<'a> {
    pub(super) law: &'a Graph,
    pub(super) b: Builder,
    /// Which of the nodes copied depend on time or forcing.
    pub(super) timed: HashMap<NodeId, bool>,
    /// Class and level of each condition.
    pub(super) found: Vec<(NodeId, NodeId)>,
    /// Whether there are others: on states, or on what cannot be copied.
    others: bool,
}

impl<'a> Finder<'a> {
    pub(super) fn new(law: &'a Graph) -> Finder<'a> {
        Finder { law, b: Builder::new("switches"), timed: HashMap::new(), found: vec![], others: false }
    }

    /// Copies a region; `args` are the copies of its arguments, where they do not depend on states. Gives those of its results.
    pub(super) fn walk(&mut self, region: &Region, args: &[Option<NodeId>], depth: usize) -> Vec<Option<NodeId>> {
        let mut map: Vec<Option<NodeId>> = Vec::with_capacity(region.nodes.len());
        let mut many: HashMap<NodeId, Vec<Option<NodeId>>> = HashMap::new();
        for id in region.ids() {
            let node = *region.node(id);
            let own: Vec<Option<NodeId>> = region.args(id).iter().map(|a| map[a.0 as usize]).collect();
            let copy = match node.kind {
                Kind::Param(p) => args[p as usize],
                Kind::Const(bits) => Some(self.b.constant(f64::from_bits(bits))),
                Kind::Op(op, attr) => {
                    let own = own.iter().copied().collect::<Option<Vec<NodeId>>>();
                    self.others |= own.is_none() && CONDITIONS.contains(&op);
                    own.map(|own| self.operation(op, attr, node.ty.shape(), &own))
                }
                Kind::Proj(i) => many.get(&region.args(id)[0]).and_then(|m| m.get(i as usize).copied().flatten()),
                Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => {
                    let results = self.control(node.kind, &own, depth);
                    many.insert(id, results);
                    None
                }
                Kind::Pack | Kind::Unpack(_) => None,
            };
            map.push(copy);
        }
        region.results.iter().map(|r| map[r.0 as usize]).collect()
    }

    fn control(&mut self, kind: Kind, args: &[Option<NodeId>], depth: usize) -> Vec<Option<NodeId>> {
        if depth >= DEEPEST {
            self.others = true;
            return vec![];
        }
        let law = self.law;
        match kind {
            Kind::If(yes, no) => {
                let (y, n) = (self.walk(law.region(yes), &args[1..], depth + 1), self.walk(law.region(no), &args[1..], depth + 1));
                let mut choose = |(y, n): (Option<NodeId>, Option<NodeId>)| match (args[0], y, n) {
                    (Some(c), Some(y), Some(n)) if self.b.shape(y) == self.b.shape(n) => {
                        let shape = self.b.shape(y);
                        let all = [c, y, n];
                        let timed = all.iter().any(|a| self.timed.get(a) == Some(&true));
                        let made = self.b.given(Op::Select, 0, shape, &all);
                        self.timed.insert(made, timed);
                        Some(made)
                    }
                    _ => None,
                };
                y.into_iter().zip(n).map(&mut choose).collect()
            }
            Kind::Call(f) => self.walk(law.region(f), args, depth + 1),
            Kind::Loop { body, carried, .. } => {
                let known: Vec<Option<NodeId>> = args.iter().enumerate().map(|(i, a)| a.filter(|_| i >= carried as usize)).collect();
                self.walk(law.region(body), &known, depth + 1);
                vec![]
            }
            // What was stored in a round is not known, nor what is carried.
            Kind::Back { body, stored, carried } => {
                let unknown = std::iter::repeat_n(None, (stored + carried) as usize);
                let known: Vec<Option<NodeId>> = unknown.chain(args[1 + carried as usize..].iter().copied()).collect();
                self.walk(law.region(body), &known, depth + 1);
                vec![]
            }
            // A root jumps where what is 0 there does; how it is looked for does not count.
            Kind::Root { zero, starts, .. } => {
                let known: Vec<Option<NodeId>> = std::iter::once(None).chain(args[starts as usize..].iter().copied()).collect();
                self.walk(law.region(zero), &known, depth + 1);
                vec![]
            }
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => vec![],
        }
    }

    fn operation(&mut self, op: Op, attr: u32, shape: Shape, args: &[NodeId]) -> NodeId {
        let timed = args.iter().any(|a| self.timed.get(a) == Some(&true));
        let made = self.b.given(op, attr, shape, args);
        let timed = timed && self.b.constant_value(made).is_none();
        self.timed.insert(made, timed);
        if timed && CONDITIONS.contains(&op) {
            for element in 0..shape.len() {
                let parts: Vec<NodeId> = args.iter().map(|&a| self.element(a, element)).collect();
                self.condition(op, &parts);
            }
        }
        made
    }

    /// An element of a value; a scalar is that of all.
    fn element(&mut self, value: NodeId, element: usize) -> NodeId {
        let len = self.b.shape(value).len();
        if len == 1 { value } else { self.b.given(Op::Cut, element.min(len - 1) as u32, Shape::Scalar, &[value]) }
    }

    /// Notes the condition an elementwise operation on scalars stands for, if it does.
    fn condition(&mut self, op: Op, args: &[NodeId]) {
        if args.iter().any(|&a| self.b.shape(a) != Shape::Scalar) {
            return;
        }
        let b = &mut self.b;
        let mut note = |class: NodeId, level: NodeId| {
            if !self.found.contains(&(class, level)) {
                self.found.push((class, level));
            }
        };
        match op {
            Op::Lt | Op::Gt | Op::Le | Op::Ge => {
                let level = b.sub(args[0], args[1]);
                note(b.op(op, args), level);
            }
            Op::Eq | Op::Min | Op::Max => {
                let level = b.sub(args[0], args[1]);
                note(b.op(Op::Sign, &[level]), level);
            }
            Op::Abs | Op::Sign | Op::Relu => note(b.op(Op::Sign, &args[..1]), args[0]),
            Op::Clamp => {
                for end in &args[1..] {
                    let level = b.sub(args[0], *end);
                    note(b.op(Op::Sign, &[level]), level);
                }
            }
            Op::Floor | Op::Ceiling | Op::Round | Op::Truncate => note(b.op(op, args), args[0]),
            // A remainder, or a quotient.
            _ => {
                let level = b.div(args[0], args[1]);
                note(b.op(if op == Op::Modulo { Op::Floor } else { Op::Truncate }, &[level]), level);
            }
        }
    }
}
