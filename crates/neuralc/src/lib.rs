//! The command line of Neural Compiler. In: arguments and files; out: text or JSON, and an exit code: 0 fine, 1 the user's program
//! or data is wrong, 2 the command line is wrong, 70 a bug in neuralc itself. Invariant: no panic leaves `guard`.

mod alone;
mod args;
#[cfg(feature = "ask")]
mod ask;
mod commands;
mod context;
mod core;
mod feeds;
mod inputs;
#[cfg(feature = "mcp")]
mod mcp;
mod quiet;
#[cfg(any(feature = "ask", feature = "mcp"))]
mod reference;
mod render;
mod stdout;
mod table;
mod value;

use crate::args::{Cli, Command};
use crate::context::{Context, Failure};
use clap::Parser;
use neural_compiler::exec::lanes::Level;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The whole program, from the arguments of the process to its exit code.
pub fn main() -> ExitCode {
    stdout::outlive_size_limit();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
        // Help and version come this way too.
        Err(wanted) => {
            let mut out = stdout::Stdout::new();
            let text = wanted.render();
            let text = if render::stdout_colour() { text.ansi().to_string() } else { text.to_string() };
            let written = out.write_styled(&text).and_then(|()| out.flush());
            return ExitCode::from(written.map_or_else(|e| context::output_failed(&e), |()| Failure::FINE));
        }
    };
    ExitCode::from(guard(|| run(cli)))
}

/// Reads a whole table in every way the commands do, and writes it out to nowhere; gives the number of its rows. For the fuzzer.
#[doc(hidden)]
pub fn try_table(path: &std::path::Path) -> Result<u64, String> {
    table::try_all(&path.to_string_lossy()).map_err(|e| e.message().unwrap_or_default())
}

/// Runs a command and turns what it ends with into an exit code.
fn run(cli: Cli) -> u8 {
    let mut context =
        Context::new(cli.json, cli.limits.limits(), cli.syntax.map(|s| s.0), cli.units.0, (cli.library.clone(), cli.files_under.clone()));
    if let Err(what) = Level::limit() {
        return context.report(Failure::Usage(what));
    }
    let outcome = match cli.command {
        Command::Run(args) => commands::run::run(&mut context, &args),
        Command::Eval(args) => commands::eval::run(&mut context, &args),
        Command::Bench(args) => commands::bench::run(&mut context, &args),
        Command::Fit(args) => commands::fit::run(&mut context, &args),
        Command::Compare(args) => commands::compare::run(&mut context, &args),
        Command::Refine(args) => commands::refine::run(&mut context, &args),
        Command::Predict(args) => commands::predict::run(&mut context, &args),
        Command::Simulate(args) => commands::simulate::run(&mut context, &args),
        Command::Check(args) => commands::check::run(&mut context, &args),
        Command::Show(args) => commands::show::run(&mut context, &args),
        Command::Fmt(args) => commands::fmt::run(&mut context, &args),
        Command::Ops => commands::ops::run(&mut context),
        Command::Compose(args) => commands::compose::run(&mut context, &args),
        Command::Export(args) => commands::export::run(&mut context, &args),
        Command::Library(args) => commands::library::run(&mut context, &args),
        #[cfg(feature = "ask")]
        Command::Ask(args) => ask::run(&mut context, &args),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(&mut context, &args),
        Command::Repl(args) => commands::repl::run(&mut context, &args),
        Command::Completions(args) => commands::completions::run(&mut context, &args),
    };
    match outcome.and_then(|code| context.flush().map(|()| code)) {
        Ok(code) => code,
        Err(failure) => context.report(failure),
    }
}

/// Runs `f`; a panic becomes a polite report and exit code 70.
fn guard(f: impl FnOnce() -> u8) -> u8 {
    std::panic::set_hook(Box::new(|info| {
        if quiet::is_quiet() {
            return;
        }
        let message = quiet::message(info.payload());
        let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        let mut err = std::io::stderr();
        let _ = writeln!(err, "neuralc: internal error: {message}{place}");
        let _ = writeln!(err, "This is a bug in neuralc, not in your program. Please report it together with the program that shows it.");
    }));
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(Failure::BUG)
}

#[cfg(test)]
mod tests {
    #[test]
    fn panics_become_exit_code_70() {
        assert_eq!(super::guard(|| panic!("on purpose")), 70);
        assert_eq!(super::guard(|| 1), 1);
        drop(std::panic::take_hook());
    }
}
