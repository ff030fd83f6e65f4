//! The arguments of a call in the order of a program's inputs. In: what the user gave by position or by name, and values that need not be
//! given; out: the values one after another, or the answer that the longer way must sort them out (or say what is wrong with them).
//! Invariant: what is bound here is bound alike by the longer way, `neural_compiler.signature.bind`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

/// A value of a dictionary, held: whatever Python does next may take it out of the dictionary.
pub(crate) fn item<'py>(dict: &Bound<'py, PyDict>, name: &Py<PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    dict.get_item(name.bind(dict.py()))
}

/// Where the values that need not be given come from.
pub(crate) trait Own<'py> {
    /// Whether a call may give another value by name.
    const REPLACED: bool;

    /// The value of an input, if it has one of its own.
    fn value(&mut self, input: usize) -> PyResult<Option<Bound<'py, PyAny>>>;
}

/// Hands the value of each input on, in order, until one is not taken. False: the arguments are not complete, or something is left over.
pub(crate) fn bind<'py>(
    names: &[Py<PyString>],
    (args, kwargs): (&Bound<'py, PyTuple>, &Bound<'py, PyDict>),
    own: &mut impl Own<'py>,
    mut take: impl FnMut(usize, Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<bool> {
    fn read<'py, O: Own<'py>>(own: &mut O, input: usize, first: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        if first == O::REPLACED { Ok(None) } else { own.value(input) }
    }
    let by_name = !kwargs.is_empty();
    if by_name && !args.is_empty() {
        return Ok(false);
    }
    let mut taken = 0;
    for (input, name) in names.iter().enumerate() {
        let mut found = read(own, input, true)?;
        if found.is_none() && by_name {
            found = item(kwargs, name)?;
            taken += usize::from(found.is_some());
        }
        if found.is_none() {
            found = read(own, input, false)?;
        }
        if found.is_none() && taken < args.len() {
            found = Some(args.get_item(taken)?);
            taken += 1;
        }
        let Some(value) = found else { return Ok(false) };
        if !take(input, value)? {
            return Ok(false);
        }
    }
    Ok(taken == args.len() + kwargs.len())
}
