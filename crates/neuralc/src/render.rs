//! Diagnostics on a terminal: what `neural-compiler-render` makes of them, and whether a stream takes colour.

use anstream::ColorChoice;
pub(crate) use neural_compiler_render::{Source, json_line, shown, to_json, to_text};

/// Whether standard error takes colour (`NO_COLOR` and friends are honoured).
pub(crate) fn stderr_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// The same for standard output.
pub(crate) fn stdout_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}
