//! `neuralc repl`: definitions and expressions, line by line. In: a terminal (with history and completion) or a pipe; out: values.
//! Invariants: a mistake never ends it; a definition is kept only when the whole session still compiles with it.
//!
//! A defined value is computed at once and becomes an input of every later program: that is what `:grad` differentiates by.

mod session;
mod terminal;

use crate::args::ReplArgs;
use crate::context::{Context, Failure};
use neural_compiler::Limits;
use neural_compiler::syntax::reader::read;
use session::{Reply, Session};
use std::io::{BufRead, IsTerminal, stdin};
use terminal::{Line, Terminal};

pub(crate) const HELP: &str = "\
(define x 2)           a value, computed at once
(define (f x) …)       a function; definitions of one entry may call each other
(* x 3)                an expression; its value is printed
:grad EXPR             value and derivatives with respect to the defined values it uses
:hessian EXPR          second derivatives too
:list                  what is defined
:reset                 forget everything
:help  :quit
";

/// Whether a text still waits for a closing parenthesis, bracket or comment.
fn incomplete(text: &str) -> bool {
    let (_, errors) = read(text, &Limits::default());
    let Some(first) = errors.first() else { return false };
    match first.code {
        "unclosed-comment" => true,
        "unbalanced-parenthesis" => first.labels.is_empty() && first.message.contains("never closed"),
        _ => false,
    }
}

pub(crate) fn run(context: &mut Context, args: &ReplArgs) -> Result<u8, Failure> {
    let mut session = Session::new(args.dtype.0, args.trap);
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
    let mut terminal = Terminal::new().map_err(|e| Failure::plain("no-terminal", format!("cannot use the terminal: {e}"), None))?;
    context.print("neuralc: an expression or a definition; :help explains, :quit ends.\n")?;
    context.flush()?;
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
    loop {
        bytes.clear();
        let read = input.read_until(b'\n', &mut bytes)?;
        pending.push_str(&String::from_utf8_lossy(&bytes));
        if read > 0 && pending.len() <= context.limits.source_bytes && !pending.starts_with(':') && incomplete(&pending) {
            continue;
        }
        let entry = std::mem::take(&mut pending);
        if !answer(context, session, &entry)? || read == 0 {
            return Ok(Failure::FINE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::incomplete;

    #[test]
    fn entries_end_when_parentheses_balance() {
        for text in ["(", "(+ 1\n", "[1 2", "#| note", "(define (f x)\n"] {
            assert!(incomplete(text), "{text}");
        }
        for text in ["", "1", "(+ 1 2)", ")", "(]", "(+ 1 2))", "\"", "; ("] {
            assert!(!incomplete(text), "{text}");
        }
    }
}
