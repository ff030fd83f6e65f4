//! What every command shares: where output goes, whether it is JSON, the limits; and what can go wrong.
//! In: results and failures; out: text on the standard streams and the exit code.

use crate::render::{self, Source};
use crate::stdout::Stdout;
use neural_compiler::units::Mode;
use neural_compiler::{Diagnostic, Diagnostics, EvalError, Limits, Syntax};
use serde_json::{Value, json};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::PathBuf;

/// Why a command ends early.
pub(crate) enum Failure {
    /// The user's program or data is wrong.
    Wrong(Source, Vec<Diagnostic>),
    /// The command line is wrong in a way clap cannot see.
    Usage(String),
    /// Output could not be written.
    Output(io::Error),
}

impl Failure {
    /// Exit code when there is nothing to complain about.
    pub(crate) const FINE: u8 = 0;
    /// Exit code when the user's program or data is wrong.
    pub(crate) const WRONG: u8 = 1;
    /// Exit code when the command line is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// Exit code of a bug in neuralc.
    pub(crate) const BUG: u8 = 70;

    /// Everything wrong with a program.
    pub(crate) fn program(source: &Source, diagnostics: Diagnostics) -> Failure {
        let (source, diagnostics) = source.blame(diagnostics);
        Failure::Wrong(source, diagnostics.0.into_iter().map(advise).collect())
    }

    /// What went wrong while a program ran.
    pub(crate) fn run(source: &Source, error: EvalError) -> Failure {
        Failure::program(source, Diagnostic::error(error.code, error.span, error.message).into())
    }

    /// What is wrong, in the words of its first diagnostic.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Failure::Wrong(_, all) => all.first().map(|d| d.message.clone()),
            Failure::Usage(message) => Some(message.clone()),
            Failure::Output(_) => None,
        }
    }

    /// What is wrong, for programs.
    pub(crate) fn json(&self) -> Vec<Value> {
        match self {
            Failure::Wrong(source, all) => all.iter().map(|d| render::to_json(source, d)).collect(),
            Failure::Usage(message) => vec![json!({"message": message})],
            Failure::Output(e) => vec![json!({"message": format!("cannot write the output: {}", reason(e))})],
        }
    }

    /// The same, of one table of many.
    pub(crate) fn within(mut self, table: &str) -> Failure {
        match &mut self {
            Failure::Wrong(_, all) => all.iter_mut().for_each(|d| d.message = format!("`{table}`: {}", d.message)),
            Failure::Usage(message) => *message = format!("`{table}`: {message}"),
            Failure::Output(_) => {}
        }
        self
    }

    /// The same with advice, where it has none.
    pub(crate) fn with_help(mut self, help: &str) -> Failure {
        if let Failure::Wrong(_, all) = &mut self {
            for d in all.iter_mut().filter(|d| d.help.is_none()) {
                d.help = Some(help.into());
            }
        }
        self
    }

    /// Something wrong that has no place in a program.
    pub(crate) fn plain(code: &'static str, message: impl Into<String>, help: Option<String>) -> Failure {
        let diagnostic = Diagnostic::error(code, Default::default(), message).maybe_help(help);
        Failure::Wrong(Source::new("", ""), vec![diagnostic])
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// Names the option of the command line that helps.
fn advise(mut d: Diagnostic) -> Diagnostic {
    let advice = match d.code {
        "limit-source-size" => "--max-source-bytes raises the limit",
        "limit-nesting" => "--max-nesting raises the limit",
        "limit-nodes" => "--max-nodes raises the limit",
        "limit-iterations" => "--max-iterations raises the limit",
        "limit-depth" => "--max-depth raises the limit",
        "limit-steps" => "--max-steps raises the limit",
        "limit-memory" => "--max-memory raises the limit",
        "shape-unknown" => "here: --shape NAME=SIZE",
        "ambiguous-input" => "here: --into NAME",
        _ => return d,
    };
    d.help = Some(d.help.map_or(advice.into(), |h| format!("{h}; {advice}")));
    d
}

/// Output and settings of one invocation.
pub(crate) struct Context {
    /// Print JSON.
    pub(crate) json: bool,
    /// Bounds on compiling and running.
    pub(crate) limits: Limits,
    /// What programs are written in, where the command line says so.
    pub(crate) syntax: Option<Syntax>,
    /// What becomes of units that do not fit.
    pub(crate) units: Mode,
    /// The library of modules, where the command line names one.
    pub(crate) library: Option<PathBuf>,
    /// The folder outside of which programs use no files.
    pub(crate) files_under: Option<PathBuf>,
    out: BufWriter<Stdout>,
}

impl Context {
    pub(crate) fn new(
        json: bool,
        limits: Limits,
        syntax: Option<Syntax>,
        units: Mode,
        folders: (Option<PathBuf>, Option<PathBuf>),
    ) -> Context {
        let (library, files_under) = folders;
        Context { json, limits, syntax, units, library, files_under, out: BufWriter::new(Stdout::new()) }
    }

    /// Writes text as it is; on a terminal nothing of it acts there.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Writes text that is our own, with its colours.
    pub(crate) fn print_styled(&mut self, text: &str) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(self.out.get_mut().write_styled(text)?)
    }

    /// Writes a line of JSON.
    pub(crate) fn print_json(&mut self, value: &Value) -> Result<(), Failure> {
        self.print(&(render::json_line(value) + "\n"))
    }

    /// Hands everything written so far to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// The source named on the command line: a file, `-` for standard input, or an expression.
    pub(crate) fn source(&self, file: Option<&str>, expression: Option<&str>) -> Result<Source, Failure> {
        let (name, bytes) = match (file, expression) {
            (_, Some(text)) => return Ok(Source::new("<expression>", text).written_in(self.syntax.unwrap_or_default())),
            (Some("-"), None) => ("<stdin>", self.read(&mut io::stdin().lock())),
            (Some(path), None) => (path, std::fs::File::open(path).and_then(|mut f| self.read(&mut f))),
            (None, None) => return Err(Failure::Usage("give a FILE, `-` for standard input, or -e EXPR".into())),
        };
        let bytes = bytes.map_err(|e| Failure::plain("cannot-read", format!("cannot read `{name}`: {}", reason(&e)), None))?;
        if bytes.len() > self.limits.source_bytes {
            let message = format!("`{name}` has more than {} bytes", self.limits.source_bytes);
            return Err(Failure::program(&Source::new("", ""), Diagnostic::error("limit-source-size", Default::default(), message).into()));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::new(name, text).written_in(self.syntax.unwrap_or_else(|| Syntax::of_file(name)))),
            Err(e) => {
                let message = format!("`{name}` is not UTF-8 text (byte {})", e.utf8_error().valid_up_to());
                Err(Failure::plain("not-utf8", message, None))
            }
        }
    }

    /// Reads at most one byte more than the source limit allows.
    fn read(&self, from: &mut dyn Read) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        from.take(self.limits.source_bytes as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Tells the user what went wrong; gives the exit code.
    pub(crate) fn report(&mut self, failure: Failure) -> u8 {
        match failure {
            Failure::Wrong(source, diagnostics) => {
                if self.json {
                    let all = Failure::Wrong(source, diagnostics).json();
                    let written = self.print_json(&json!({"diagnostics": all})).and_then(|()| self.flush());
                    if let Err(Failure::Output(e)) = written {
                        return output_failed(&e);
                    }
                } else {
                    let _ = self.flush();
                    for d in &diagnostics {
                        let _ = writeln!(io::stderr(), "{}", render::to_text(&source, d, render::stderr_colour()));
                    }
                }
                Failure::WRONG
            }
            Failure::Usage(message) => {
                let message = render::shown(&message);
                let _ = writeln!(io::stderr(), "error: {message}\n\nFor more information, try '--help'.");
                Failure::USAGE
            }
            Failure::Output(e) => output_failed(&e),
        }
    }
}

/// A reader that went away (`| head`) has had enough and is no error.
pub(crate) fn output_failed(e: &io::Error) -> u8 {
    if e.kind() == ErrorKind::BrokenPipe {
        return Failure::FINE;
    }
    let _ = writeln!(io::stderr(), "error: cannot write the output: {}", reason(e));
    Failure::WRONG
}

/// An I/O error in words, without the number of the operating system.
pub(crate) fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
