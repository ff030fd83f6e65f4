//! Elements that are asked for and are not there. In: what the operation that fails says of itself (its attribute), the index, and the
//! value; out: the error, the same in every executor.

use super::EvalError;
use crate::graph::root::{FROM_START, WITHIN};
use crate::ops::grid::{ON_GRID, outside_grid};
use crate::shape::Shape;
use crate::source::Span;

/// Why there is no such element.
pub(super) fn absent(attribute: u32, index: f64, of: Shape, span: Span) -> EvalError {
    match attribute {
        FROM_START => EvalError::new(
            "no-root",
            span,
            "Newton's steps from this start lead to no root: start nearer to it, or give an interval at whose ends the signs differ, \
             (root (x a b) …)",
        ),
        WITHIN => EvalError::new(
            "no-root",
            span,
            "there is no root in this interval: the signs at its ends are equal, the sign changes without passing 0, or the ends lie \
             further apart than the largest number",
        ),
        ON_GRID => EvalError::new("outside-grid", span, outside_grid(index)),
        _ => EvalError::new("index-out-of-range", span, format!("the index {} is outside a {of}", crate::number_text(index))),
    }
}
