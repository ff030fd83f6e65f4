//! Memory of the caller's, whoever that is: `views` makes columns of it, `holding` keeps it where it is during a call.

pub(crate) mod holding;
pub(crate) mod views;
