//! Operations. In: one as it is written, with any number of arguments; out: nodes of the table's operations.

use super::{Frame, Lowered, Lowering, Nest};
use crate::anf::Arg;
use crate::diagnostic::Diagnostic;
use crate::graph::{NodeId, result_shape};
use crate::infer::misfit_diagnostic;
use crate::ops::Surface;
use crate::ops::row::{Arity, Kernel};
use crate::shape::Shape;
use crate::source::Span;

impl Lowering<'_> {
    pub(super) fn application(&mut self, nest: &mut Nest, frame: &Frame, surface: Surface, args: &[Arg], span: Span) -> Lowered<NodeId> {
        let nodes: Vec<NodeId> = args.iter().map(|&a| self.arg(nest, frame, a)).collect();
        let op = surface.op(nodes.len()).expect("the arity is checked");
        let apply = |nest: &mut Nest, nodes: &[NodeId], spans: &[Span]| -> Lowered<NodeId> {
            let row = op.row();
            let b = nest.top();
            if row.shape.is_by_shapes() {
                let shapes: Vec<Shape> = nodes.iter().map(|&n| b.shape(n)).collect();
                if result_shape(row, &shapes).is_err() {
                    let described: Vec<(String, Span)> = shapes.iter().map(|s| s.to_string()).zip(spans.iter().copied()).collect();
                    return Err(Box::new(misfit_diagnostic(op, &described, span)));
                }
            }
            match row.kernel {
                Kernel::Composite(lower) => {
                    lower(b, nodes).map_err(|e| Box::new(Diagnostic::error(e.code, span, e.message).help(format!("usage: {}", row.usage))))
                }
                Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) | Kernel::Select | Kernel::Tensor(_) => Ok(b.op(op, nodes)),
            }
        };
        let spans: Vec<Span> = args.iter().map(|a| a.span).collect();
        match op.row().arity {
            Arity::Fold(_, identity) => match nodes[..] {
                [] => Ok(nest.top().constant(identity)),
                [x] => Ok(x),
                _ => {
                    let mut value = nodes[0];
                    for i in 1..nodes.len() {
                        value = apply(nest, &[value, nodes[i]], &[spans[0].join(spans[i - 1]), spans[i]])?;
                    }
                    Ok(value)
                }
            },
            Arity::Chain => {
                let mut value = None;
                for i in 1..nodes.len() {
                    let pair = apply(nest, &nodes[i - 1..=i], &spans[i - 1..=i])?;
                    // Both 0 or 1: their product is "and", with every argument computed as R7RS has it.
                    value = Some(match value {
                        None => pair,
                        Some(v) => {
                            let (a, b) = (nest.top().shape(v), nest.top().shape(pair));
                            if a != b && a != Shape::Scalar && b != Shape::Scalar {
                                return Err(Box::new(misfit_diagnostic(op, &[(a.to_string(), span), (b.to_string(), span)], span)));
                            }
                            nest.top().mul(v, pair)
                        }
                    });
                }
                Ok(value.unwrap_or_else(|| nest.top().constant(1.0)))
            }
            Arity::Exactly(_) | Arity::Between(..) | Arity::AtLeast(_) => apply(nest, &nodes, &spans),
        }
    }
}
