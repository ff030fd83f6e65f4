//! Room for numbers, charged before it is taken. In: a vector and how many numbers it is to hold; out: the room, or the error of a run that
//! has none. Invariant: a lack of memory is an error with a code, never the end of the process.

use crate::exec::EvalError;
use crate::source::Span;

/// The error of a run that would hold more than its limit.
pub(crate) fn over_limit(limit: usize, span: Span) -> EvalError {
    EvalError::new("limit-memory", span, format!("the run needs more than {limit} bytes"))
}

/// The error of a run for which the system has no memory.
pub(crate) fn no_memory(bytes: usize, span: Span) -> EvalError {
    EvalError::new("limit-memory", span, format!("the system has no {bytes} bytes of memory left for the run"))
}

/// Makes room for `more` further elements, no more than that.
pub(crate) fn make_room<N>(list: &mut Vec<N>, more: usize, span: Span) -> Result<(), EvalError> {
    list.try_reserve_exact(more).map_err(|_| no_memory(more.saturating_mul(size_of::<N>()), span))
}

/// Makes a list at least this long.
pub(crate) fn widen<N: Clone>(list: &mut Vec<N>, length: usize, with: N, span: Span) -> Result<(), EvalError> {
    if list.len() < length {
        make_room(list, length - list.len(), span)?;
        list.resize(length, with);
    }
    Ok(())
}

/// Whether the system would give so many bytes, for code that takes them without asking: they are taken and given back.
pub(crate) fn is_there(bytes: usize) -> bool {
    const SMALL: usize = 1 << 20;
    bytes < SMALL || Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}
