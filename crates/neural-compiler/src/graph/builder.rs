//! Builds one region. In: operations on nodes; out: a `Region` in which equal nodes are shared and constants are folded.
//! Invariant: nothing the builder simplifies changes a bit of any result in either number type: constants are folded with the
//! executing kernels, and only when f32 and f64 agree on the result; the algebraic identities used hold for every IEEE number.

use super::{Kind, Node, NodeId, Region, Type};
use crate::ops::Op;
use crate::ops::real::Real;
use crate::ops::row::{Kernel, Len, Pat, Row, ShapeRule, Special, apply_scalar};
use crate::shape::Shape;
use crate::source::Span;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// A region under construction.
pub struct Builder {
    region: Region,
    known: HashTable<u32>,
    /// Where the nodes made next come from.
    pub span: Span,
}

fn hash(kind: &Kind, ty: Type, args: &[NodeId]) -> u64 {
    let mut h = FxHasher::default();
    kind.hash(&mut h);
    ty.hash(&mut h);
    for a in args {
        h.write_u32(a.0);
    }
    // FxHash leaves its entropy in the high bits, the table looks at both ends.
    let x = h.finish();
    x ^ (x >> 32)
}

impl Builder {
    /// An empty region.
    pub fn new(name: impl Into<String>) -> Builder {
        Builder { region: Region { name: name.into(), ..Region::default() }, known: HashTable::new(), span: Span::default() }
    }

    /// The region so far.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Ends the region.
    pub fn finish(mut self, results: Vec<NodeId>) -> Region {
        self.region.results = results;
        self.region
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.region.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.region.nodes.is_empty()
    }

    /// The shape of a node's value.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.region.shape(id)
    }

    /// The type of a node's value.
    pub fn ty(&self, id: NodeId) -> Type {
        self.region.node(id).ty
    }

    /// A new parameter.
    pub fn param(&mut self, ty: Type) -> NodeId {
        let i = self.region.params.len() as u32;
        self.region.params.push(ty);
        self.push(Kind::Param(i), ty, &[])
    }

    fn push(&mut self, kind: Kind, ty: Type, args: &[NodeId]) -> NodeId {
        let from = self.region.pool.len() as u32;
        self.region.pool.extend_from_slice(args);
        let to = self.region.pool.len() as u32;
        self.region.nodes.push(Node { kind, ty, span: self.span, args: (from, to) });
        NodeId(self.region.nodes.len() as u32 - 1)
    }

    /// A pure node: an equal one is reused.
    pub(crate) fn pure(&mut self, kind: Kind, ty: Type, args: &[NodeId]) -> NodeId {
        let h = hash(&kind, ty, args);
        let region = &self.region;
        let same = |&i: &u32| {
            let node = &region.nodes[i as usize];
            node.kind == kind && node.ty == ty && region.args(NodeId(i)) == args
        };
        if let Some(&i) = self.known.find(h, same) {
            return NodeId(i);
        }
        let id = self.push(kind, ty, args);
        let region = &self.region;
        self.known.insert_unique(h, id.0, |&i| {
            let node = &region.nodes[i as usize];
            hash(&node.kind, node.ty, region.args(NodeId(i)))
        });
        id
    }

    /// A node with several results; returns them.
    pub fn many(&mut self, kind: Kind, args: &[NodeId], results: &[Type]) -> Vec<NodeId> {
        let node = self.pure(kind, Type::Many, args);
        results.iter().enumerate().map(|(i, &ty)| self.pure(Kind::Proj(i as u32), ty, &[node])).collect()
    }

    /// A scalar constant.
    pub fn constant(&mut self, x: f64) -> NodeId {
        // One NaN is enough.
        let x = if x.is_nan() { f64::NAN } else { x };
        self.pure(Kind::Const(x.to_bits()), Type::Value(Shape::Scalar), &[])
    }

    /// The value of a constant node.
    pub fn constant_value(&self, id: NodeId) -> Option<f64> {
        match self.region.node(id).kind {
            Kind::Const(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn is_constant(&self, id: NodeId, x: f64) -> bool {
        self.constant_value(id).is_some_and(|c| c.to_bits() == x.to_bits())
    }

    /// An application whose shapes are known to fit.
    pub fn op(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let shapes: Vec<Shape> = args.iter().map(|&a| self.shape(a)).collect();
        let shape = result_shape(op.row(), &shapes).unwrap_or_else(|e| unreachable!("the compiler built {op:?} on misfit shapes: {e:?}"));
        self.given(op, 0, shape, args)
    }

    /// An application with attribute and shape given.
    pub fn given(&mut self, op: Op, attr: u32, shape: Shape, args: &[NodeId]) -> NodeId {
        debug_assert!(!matches!(op.row().kernel, Kernel::Composite(_)), "{op:?} is not a node");
        if let Some(same) = self.simplify(op, attr, shape, args) {
            return same;
        }
        self.pure(Kind::Op(op, attr), Type::Value(shape), args)
    }

    fn simplify(&mut self, op: Op, attr: u32, shape: Shape, args: &[NodeId]) -> Option<NodeId> {
        let row = op.row();
        let whole = |b: &Builder, i: usize| b.shape(args[i]) == shape;
        if row.is_elementwise() {
            if let Some(x) = self.fold(row, args) {
                return Some(self.constant(x));
            }
            for &(i, neutral) in row.neutral {
                if self.is_constant(args[i], neutral) && whole(self, 1 - i) {
                    return Some(args[1 - i]);
                }
            }
        }
        if op == Op::Mul {
            for i in [0, 1] {
                if self.is_constant(args[i], -1.0) && whole(self, 1 - i) {
                    return Some(self.neg(args[1 - i]));
                }
            }
        } else if op == Op::Pow && self.is_constant(args[1], 2.0) && whole(self, 0) {
            // The kernel of `pow` computes a square as a product, so this changes no bit.
            return Some(self.op(Op::Square, &args[..1]));
        } else if op == Op::Neg {
            if matches!(self.region.node(args[0]).kind, Kind::Op(Op::Neg, _)) {
                return Some(self.region.args(args[0])[0]);
            }
        } else if op == Op::Select {
            let chosen = self.constant_value(args[0]).map(|c| 2 - usize::from(c != 0.0));
            return chosen.filter(|&i| whole(self, i)).map(|i| args[i]);
        } else if op == Op::Cut && !whole(self, 0) {
            return self.cut_of_join(attr, shape, args[0]);
        } else if matches!(op, Op::Cut | Op::Place | Op::Join | Op::Total) && args.len() == 1 && whole(self, 0) {
            return Some(args[0]);
        }
        None
    }

    /// An element taken from a value that was just put together.
    fn cut_of_join(&mut self, start: u32, shape: Shape, x: NodeId) -> Option<NodeId> {
        let mut at = 0;
        match self.region.node(x).kind {
            Kind::Op(Op::Join, _) => {
                let (from, to) = self.region.node(x).args;
                if to as usize - from as usize == self.shape(x).len() && shape == Shape::Scalar {
                    // One number each: no need to search. A vector of one number still has to be opened.
                    let part = self.region.pool[from as usize + start as usize];
                    return Some(self.given(Op::Cut, 0, shape, &[part]));
                }
                for i in from..to {
                    let part = self.region.pool[i as usize];
                    let inner = self.shape(part);
                    let end = at + inner.len() as u32;
                    if at == start && inner == shape {
                        return Some(part);
                    }
                    if start >= at && start + shape.len() as u32 <= end {
                        return Some(self.given(Op::Cut, start - at, shape, &[part]));
                    }
                    at = end;
                }
                None
            }
            Kind::Op(Op::Spread, _) => {
                let value = self.region.args(x)[0];
                Some(self.fill(value, shape))
            }
            Kind::Op(Op::Cut, inner) => {
                let origin = self.region.args(x)[0];
                Some(self.given(Op::Cut, start + inner, shape, &[origin]))
            }
            _ => None,
        }
    }

    /// Folds an application of constants: with the executing kernels, when both number types agree and the domain is kept.
    fn fold(&self, row: &Row, args: &[NodeId]) -> Option<f64> {
        if args.len() > 3 {
            return None;
        }
        let mut wide = [0.0f64; 3];
        let mut narrow = [0.0f32; 3];
        for (i, &a) in args.iter().enumerate() {
            wide[i] = self.constant_value(a)?;
            narrow[i] = f32::from_f64(wide[i]);
        }
        let (wide, narrow) = (&wide[..args.len()], &narrow[..args.len()]);
        let (x, y) = (apply_scalar(&row.kernel, wide), apply_scalar(&row.kernel, narrow));
        let agree = f32::from_f64(x).to_bits() == y.to_bits();
        let proper = !x.is_nan() && !row.domain.violated(wide) && !row.domain.violated(narrow);
        (agree && proper).then_some(x)
    }

    /// `x + y`.
    pub fn add(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.op(Op::Add, &[x, y])
    }

    /// `x - y`.
    pub fn sub(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.op(Op::Sub, &[x, y])
    }

    /// `x * y`.
    pub fn mul(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.op(Op::Mul, &[x, y])
    }

    /// `x / y`.
    pub fn div(&mut self, x: NodeId, y: NodeId) -> NodeId {
        self.op(Op::Div, &[x, y])
    }

    /// `-x`.
    pub fn neg(&mut self, x: NodeId) -> NodeId {
        self.op(Op::Neg, &[x])
    }

    /// `1 / x`.
    pub fn recip(&mut self, x: NodeId) -> NodeId {
        let one = self.constant(1.0);
        self.div(one, x)
    }

    /// A scalar repeated to a shape.
    pub fn fill(&mut self, x: NodeId, shape: Shape) -> NodeId {
        if shape == Shape::Scalar { x } else { self.given(Op::Spread, 0, shape, &[x]) }
    }

    /// Zeros of a shape.
    pub fn zeros(&mut self, shape: Shape) -> NodeId {
        let zero = self.constant(0.0);
        self.fill(zero, shape)
    }
}

/// Two shapes that do not go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Misfit {
    /// The argument that does not fit.
    pub(crate) argument: usize,
    /// The earlier argument it clashes with, if any.
    pub(crate) against: Option<usize>,
}

/// The shape of an application's result, or which arguments do not fit.
pub(crate) fn result_shape(row: &Row, args: &[Shape]) -> Result<Shape, Misfit> {
    match row.shape {
        ShapeRule::Elementwise => {
            let Some(lead) = args.iter().position(|&s| s != Shape::Scalar) else {
                return Ok(Shape::Scalar);
            };
            match args.iter().position(|&s| s != Shape::Scalar && s != args[lead]) {
                None => Ok(args[lead]),
                Some(argument) => Err(Misfit { argument, against: Some(lead) }),
            }
        }
        ShapeRule::Pattern(patterns, out) => pattern_shape(patterns, out, args),
        ShapeRule::Special(Special::Product) => product_shape(args).ok_or(Misfit { argument: 1, against: Some(0) }),
        ShapeRule::Special(Special::Solve) => match (args[0], args[1]) {
            (Shape::Matrix(r, c), _) if r != c => Err(Misfit { argument: 0, against: None }),
            (Shape::Matrix(r, _), Shape::Vector(n)) if r == n => Ok(args[1]),
            (Shape::Matrix(r, _), Shape::Matrix(n, _)) if r == n => Ok(args[1]),
            (Shape::Matrix(..), _) => Err(Misfit { argument: 1, against: Some(0) }),
            _ => Err(Misfit { argument: 0, against: None }),
        },
        ShapeRule::Special(_) | ShapeRule::Given => {
            unreachable!("`{}` chooses its shape itself", row.name)
        }
    }
}

fn product_shape(args: &[Shape]) -> Option<Shape> {
    match (args[0], args[1]) {
        (Shape::Matrix(r, k), Shape::Matrix(l, c)) if k == l => Some(Shape::Matrix(r, c)),
        (Shape::Matrix(r, k), Shape::Vector(n)) if k == n => Some(Shape::Vector(r)),
        _ => None,
    }
}

fn pattern_shape(patterns: &[Pat], out: Pat, args: &[Shape]) -> Result<Shape, Misfit> {
    let mut lengths: [Option<(u32, usize)>; 4] = [None; 4];
    let mut shapes: [Option<Shape>; 4] = [None; 4];
    for (argument, (&pattern, &shape)) in patterns.iter().zip(args).enumerate() {
        let mut fit = |len: Len, n: u32| match len {
            Len::Is(k) if k == n => Ok(()),
            Len::Is(_) => Err(Misfit { argument, against: None }),
            Len::N(i) => match lengths[i as usize] {
                None => {
                    lengths[i as usize] = Some((n, argument));
                    Ok(())
                }
                Some((m, _)) if m == n => Ok(()),
                Some((_, against)) => Err(Misfit { argument, against: (against != argument).then_some(against) }),
            },
        };
        match (pattern, shape) {
            (Pat::S, Shape::Scalar) => {}
            (Pat::V(a), Shape::Vector(n)) => fit(a, n)?,
            (Pat::M(a, b), Shape::Matrix(r, c)) => {
                fit(a, r)?;
                fit(b, c)?;
            }
            (Pat::Any(i), s) => shapes[i as usize] = Some(s),
            _ => {
                return Err(Misfit { argument, against: None });
            }
        }
    }
    let length = |len: Len| match len {
        Len::Is(k) => k,
        Len::N(i) => lengths[i as usize].expect("a result's lengths come from its arguments").0,
    };
    Ok(match out {
        Pat::S => Shape::Scalar,
        Pat::V(a) => Shape::Vector(length(a)),
        Pat::M(a, b) => Shape::Matrix(length(a), length(b)),
        Pat::Any(i) => shapes[i as usize].expect("a result's shape comes from its arguments"),
    })
}
