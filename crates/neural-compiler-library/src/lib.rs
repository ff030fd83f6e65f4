//! A library of frozen modules. In: programs as text, with what is claimed of them; out: a folder of plain files in which each module is
//! held to its claims, and texts for programs that say `(use name@2)`.
//!
//! ```text
//! library/library.lock             one line a module: name@version, the hashes of its text and its record; lines are added, never changed
//! library/gravity/2/module.scm     the text
//! library/gravity/2/module.json    signature, proved domain, examples, provenance, hash
//! ```
//!
//! Invariants: a hash is that of a text and of the hashes of all it uses, so that it has one meaning for ever; what was added once keeps
//! its number; a module whose text or record is no longer that of its hash is an error wherever it is met; files appear whole or not at
//! all.

mod add;
mod canonical;
mod examples;
mod folder;
mod lock;
mod module;
mod probes;
mod resolve;
mod search;
mod signature;
mod verify;

pub use add::{Claim, Claimed};
pub use examples::Example;
pub use folder::{Library, Verdict};
pub use module::{Constant, Domain, Module, Output, Probe, Quantity};
pub use resolve::Resolver;
pub use search::{Found, Query, Samples};

use neural_compiler::syntax::modules::{Loaded, Mistake};
use neural_compiler::{Diagnostic, Diagnostics};

/// What a call gives, or what is wrong and with which text.
pub type Outcome<T> = Result<T, Box<Mistake>>;

/// A mistake that has no place in a text.
pub(crate) fn plain(code: &'static str, message: impl Into<String>, help: Option<String>) -> Box<Mistake> {
    let error = Diagnostic::error(code, Default::default(), message).maybe_help(help);
    Box::new(Mistake { file: Loaded { name: String::new(), text: String::new() }, errors: error.into() })
}

/// Mistakes in a text.
pub(crate) fn within(name: &str, text: &str, errors: Diagnostics) -> Box<Mistake> {
    Box::new(Mistake { file: Loaded { name: name.into(), text: text.into() }, errors })
}
