//! What a minimum is worth: how probable it makes the data, how sure its numbers are, whether a better one could hide.

pub mod diagnostics;
pub(crate) mod freedom;
pub mod identify;
pub(crate) mod lack_of_fit;
pub(crate) mod likelihood;
pub(crate) mod lost;
pub(crate) mod poor;
pub(crate) mod profile;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod smooth;
pub(crate) mod student;
pub mod uncertainty;
