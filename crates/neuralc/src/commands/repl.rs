//! `neuralc repl`: definitions and expressions, line by line. In: a terminal (with history and completion) or a pipe; out: values.
//! Invariants: a mistake never ends it; a definition is kept only when the whole session still compiles with it.
//!
//! A defined value is computed at once and becomes an input of every later program: that is what `:grad` differentiates by.

mod balance;
mod session;
mod terminal;

use crate::args::ReplArgs;
use crate::context::{Context, Failure};
use balance::Balance;
use neural_compiler::Syntax;
use session::{Reply, Session};
use std::io::{BufRead, IsTerminal, stdin};
use terminal::{Line, Terminal};

/// What can be entered, in each syntax.
pub(crate) fn help(syntax: Syntax) -> String {
    let entries = match syntax {
        Syntax::Scheme => [("(define x 2)", "(define (f x) …)", "(* x 3)")],
        Syntax::Infix => [("x = 2", "f(x) = …", "x*3")],
        Syntax::Latex => [("x = 2", "f(x) = …", "3 x")],
    };
    let [(value, function, expression)] = entries;
    format!(
        "{value:<22} a value, computed at once\n{function:<22} a function; definitions of one entry may call each other\n\
         {expression:<22} an expression; its value is printed\n{COMMANDS}"
    )
}

const COMMANDS: &str = "\
:grad EXPR             value and derivatives with respect to the defined values it uses
:hessian EXPR          second derivatives too
:list                  what is defined
:reset                 forget everything
:help  :quit
";

pub(crate) fn run(context: &mut Context, args: &ReplArgs) -> Result<u8, Failure> {
    let mut session = Session::new(args.dtype.0, args.trap, context.syntax.unwrap_or_default());
    if stdin().is_terminal() { interactive(context, &mut session) } else { piped(context, &mut session) }
}

/// Answers an entry; false when it was the last.
fn answer(context: &mut Context, session: &mut Session, entry: &str) -> Result<bool, Failure> {
    match session.entry(context, entry) {
        Ok(Reply::Go) => {}
        Ok(Reply::Quit) => return Ok(false),
        Err(Failure::Output(e)) => return Err(Failure::Output(e)),
        Err(Failure::Usage(message)) => {
            context.report(Failure::plain("bad-command", message, Some(":help lists the commands".into())));
        }
        Err(wrong) => {
            context.report(wrong);
        }
    }
    context.flush()?;
    Ok(true)
}

fn interactive(context: &mut Context, session: &mut Session) -> Result<u8, Failure> {
    let mut terminal = Terminal::new(context.syntax.unwrap_or_default())
        .map_err(|e| Failure::plain("no-terminal", format!("cannot use the terminal: {e}"), None))?;
    if !context.json {
        context.print("neuralc: an expression or a definition; :help explains, :quit ends.\n")?;
        context.flush()?;
    }
    loop {
        match terminal.line(&session.names()) {
            Line::Entry(entry) => {
                if !answer(context, session, &entry)? {
                    break;
                }
            }
            Line::Interrupted => continue,
            Line::End => break,
        }
    }
    terminal.save();
    Ok(Failure::FINE)
}

/// Without a terminal: entries from standard input, an entry being lines until the parentheses balance.
fn piped(context: &mut Context, session: &mut Session) -> Result<u8, Failure> {
    let mut pending = String::new();
    let mut input = stdin().lock();
    let mut bytes = Vec::new();
    let mut balance = Balance::new(context.syntax.unwrap_or_default());
    loop {
        bytes.clear();
        let read = input.read_until(b'\n', &mut bytes)?;
        let line = String::from_utf8_lossy(&bytes);
        pending.push_str(&line);
        balance.line(&line);
        if read > 0 && pending.len() <= context.limits.source_bytes && balance.open() {
            continue;
        }
        let entry = std::mem::take(&mut pending);
        balance = Balance::new(context.syntax.unwrap_or_default());
        if !answer(context, session, &entry)? || read == 0 {
            return Ok(Failure::FINE);
        }
    }
}
