//! Calls on NumPy arrays: `quick` takes the arguments of a usual call as the user wrote them, `call` arrays the Python side has sorted out.

pub(crate) mod call;
pub(crate) mod quick;
