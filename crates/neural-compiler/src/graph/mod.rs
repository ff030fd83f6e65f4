//! The graph: what a program computes, for given shapes. In: nodes from the builder; out: regions that executors run.
//!
//! A graph is a list of closed regions: the program itself, the branches of `if`s, the bodies of loops, and functions that are
//! not inlined. A region sees nothing but its parameters, so each can be read, checked, printed and differentiated alone.
//! Invariants (see `verify`): arguments come before their users; equal pure nodes of a region are one node; a node with several
//! results (`If`, `Loop`, `Call`, …) is used only through `Proj`.

mod builder;
mod compact;
pub mod copy;
mod flatten;
pub mod json;
mod layout;
pub mod print;
pub(crate) mod root;
mod splice;
pub mod svg;
pub mod verify;

pub use builder::Builder;
pub(crate) use builder::result_shape;
pub use compact::compact;
pub use flatten::flatten;
pub use splice::{Part, Splice, assemble, giving, select};

use crate::diff::Form;
use crate::ops::Op;
use crate::shape::Shape;
use crate::source::Span;
use std::sync::Arc;

/// Index of a node in its region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Index of a region in its graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// What a node's value is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// Numbers.
    Value(Shape),
    /// Values stored by a forward run for the backward run: the tape.
    Record,
    /// Several results, to be taken apart by `Proj`.
    Many,
}

impl Type {
    /// The shape of a value; scalar for the rest.
    pub fn shape(self) -> Shape {
        match self {
            Type::Value(s) => s,
            Type::Record | Type::Many => Shape::Scalar,
        }
    }
}

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The region's parameter.
    Param(u32),
    /// A scalar constant, as the bits of an f64.
    Const(u64),
    /// An operation of the table with its attribute (0 for most).
    Op(Op, u32),
    /// First argument not 0: the first region, else the second, on the other arguments.
    If(RegionId, RegionId),
    /// Runs a region again and again. Arguments: carried values, then invariants. The region gives `continue?`, the next carried
    /// values, and the results, which count when `continue?` is 0.
    Loop {
        /// The body.
        body: RegionId,
        /// How many arguments are carried.
        carried: u32,
        /// One more result: the record of the carried values at the start of each round (and of the body's own record).
        taped: bool,
    },
    /// Walks back over the record of a taped loop. Arguments: the record, carried values, invariants. The region takes what was
    /// stored for a round, the carried values and the invariants, and gives the next carried values, which are the results.
    Back {
        /// The body.
        body: RegionId,
        /// How many values were stored per round.
        stored: u32,
        /// How many arguments are carried.
        carried: u32,
    },
    /// Runs a function.
    Call(RegionId),
    /// Solves an equation: runs `solve` on the arguments, whose only result x makes `zero`, run on x and the arguments behind the starts,
    /// 0. Differentiated as the implicit function it is, by `slope`, the derivative of `zero` by x; starts do not count there.
    Root {
        /// Finds the root.
        solve: RegionId,
        /// What is 0 there.
        zero: RegionId,
        /// Its derivative by what is looked for.
        slope: RegionId,
        /// How many arguments say where to look.
        starts: u32,
    },
    /// One of several results.
    Proj(u32),
    /// A record of the arguments.
    Pack,
    /// One value of a record.
    Unpack(u32),
}

impl Kind {
    /// The same with other numbers for the regions it runs.
    pub(crate) fn renumbered(self, new: impl Fn(RegionId) -> RegionId) -> Kind {
        match self {
            Kind::If(a, b) => Kind::If(new(a), new(b)),
            Kind::Loop { body, carried, taped } => Kind::Loop { body: new(body), carried, taped },
            Kind::Back { body, stored, carried } => Kind::Back { body: new(body), stored, carried },
            Kind::Call(f) => Kind::Call(new(f)),
            Kind::Root { solve, zero, slope, starts } => Kind::Root { solve: new(solve), zero: new(zero), slope: new(slope), starts },
            other @ (Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_)) => other,
        }
    }
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What it does.
    pub kind: Kind,
    /// What its value is.
    pub ty: Type,
    /// The source it comes from.
    pub span: Span,
    pub(crate) args: (u32, u32),
}

/// A closed piece of program.
#[derive(Clone, Default, Debug)]
pub struct Region {
    /// For people.
    pub name: String,
    /// Types of the parameters.
    pub params: Vec<Type>,
    /// Nodes, arguments before users.
    pub nodes: Vec<Node>,
    pub(crate) pool: Vec<NodeId>,
    /// The region's results.
    pub results: Vec<NodeId>,
}

impl Region {
    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A node's arguments.
    pub fn args(&self, id: NodeId) -> &[NodeId] {
        let (a, b) = self.node(id).args;
        &self.pool[a as usize..b as usize]
    }

    /// The shape of a node's value.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.node(id).ty.shape()
    }

    /// Types of the results.
    pub fn result_types(&self) -> Vec<Type> {
        self.results.iter().map(|&r| self.node(r).ty).collect()
    }

    /// All node ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }
}

/// An input of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphInput {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
}

/// A program for given shapes.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) regions: Vec<Region>,
    /// The program itself.
    pub main: RegionId,
    /// Inputs, in the order of the main region's parameters.
    pub inputs: Vec<GraphInput>,
    /// For a derivative that holds a tape: the same said without one, so that it can be differentiated in reverse mode again. Whoever
    /// changes a region forgets it.
    pub(crate) origin: Option<Arc<Form>>,
}

impl Graph {
    /// All regions.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The inputs that results depend on, in order. A region that is run is taken to use what it is passed.
    pub fn used_inputs(&self) -> Vec<usize> {
        let main = self.main();
        let mut needed = vec![false; main.nodes.len()];
        main.results.iter().for_each(|r| needed[r.0 as usize] = true);
        let mut found = Vec::new();
        for id in main.ids().rev() {
            if needed[id.0 as usize] {
                if let Kind::Param(p) = main.node(id).kind {
                    found.push(p as usize);
                }
                main.args(id).iter().for_each(|a| needed[a.0 as usize] = true);
            }
        }
        found.sort_unstable();
        found
    }

    /// A region.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.0 as usize]
    }

    /// The main region.
    pub fn main(&self) -> &Region {
        self.region(self.main)
    }

    /// Shapes of the results.
    pub fn outputs(&self) -> Vec<Shape> {
        self.main().result_types().into_iter().map(Type::shape).collect()
    }

    /// Whether it stores a tape: values of a forward run for a backward run.
    pub fn is_taped(&self) -> bool {
        self.regions.iter().any(|r| r.nodes.iter().any(|n| n.ty == Type::Record))
    }

    /// Nodes of all regions together.
    pub fn size(&self) -> usize {
        self.regions.iter().map(|r| r.nodes.len()).sum()
    }

    /// The types of the results of a node that runs regions.
    pub fn result_types(&self, kind: Kind) -> Vec<Type> {
        result_types(&self.regions, kind)
    }

    /// The regions a node runs.
    pub fn runs(kind: Kind) -> Vec<RegionId> {
        if let Kind::Root { solve, .. } = kind { vec![solve] } else { Graph::children(kind) }
    }

    /// The regions a node knows: those it runs, and those its derivative does.
    pub fn children(kind: Kind) -> Vec<RegionId> {
        match kind {
            Kind::If(a, b) => vec![a, b],
            Kind::Loop { body, .. } | Kind::Back { body, .. } | Kind::Call(body) => vec![body],
            Kind::Root { solve, zero, slope, .. } => vec![solve, zero, slope],
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => vec![],
        }
    }
}

/// The types of the results of a node that runs regions; none for other nodes.
pub(crate) fn result_types(regions: &[Region], kind: Kind) -> Vec<Type> {
    let types = |r: RegionId| regions[r.0 as usize].result_types();
    match kind {
        Kind::If(a, _) => types(a),
        Kind::Call(f) | Kind::Root { solve: f, .. } => types(f),
        Kind::Back { body, .. } => types(body),
        Kind::Loop { body, carried, taped } => {
            let mut out: Vec<Type> = types(body).into_iter().skip(1 + carried as usize).collect();
            if taped && out.last() != Some(&Type::Record) {
                out.push(Type::Record);
            }
            out
        }
        Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => vec![],
    }
}
