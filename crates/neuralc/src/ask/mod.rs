//! `neuralc ask`: text to model through a language model of the user's choice. In: a question, a table's columns, an endpoint; out: a
//! program that compiles and passes its own examples, or why there is none.
//! Invariants: what is sent is said before it is sent; the key goes into one header of requests to the named host and nowhere else; an
//! answer is a text to be judged: nothing in it is run but the program, within bounds, and no file is read or written at its wish.

mod args;
mod endpoint;
mod judge;
mod prompt;

pub(crate) use args::AskArgs;

use crate::ask::endpoint::{Endpoint, Message};
use crate::ask::judge::{Verdict, judge};
use crate::context::{Context, Failure, reason};
use crate::render;
use crate::table::{Reader, write_whole};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;

/// Rows of the table that are looked at for the ranges of its columns.
const MOST_ROWS: usize = 1 << 16;

pub(crate) fn run(context: &mut Context, args: &AskArgs) -> Result<u8, Failure> {
    let columns = args.data.as_deref().map(|path| columns(path, args)).transpose()?;
    let mut messages = vec![Message::user(prompt::question(&args.question, columns.as_deref()))];
    let system = prompt::system();
    if args.dry_run {
        let endpoint = Endpoint::find(args).ok().map(|e| e.to_string());
        let sent = json!({"to": endpoint, "system": system, "messages": messages.iter().map(Message::json).collect::<Vec<_>>()});
        if context.json {
            context.print_json(&sent)?;
        } else {
            context.print(&format!("to: {}\n\n{system}\n{}\n", endpoint.as_deref().unwrap_or("nobody yet"), messages[0].text))?;
        }
        return Ok(Failure::FINE);
    }
    let endpoint = Endpoint::find(args)?;
    let mut transcript = Transcript::new(args.transcript.as_deref())?;
    say(&endpoint, &system, &messages[0].text, columns.as_deref(), args);
    transcript.write(&json!({"to": endpoint.to_string(), "system": system}))?;
    transcript.write(&messages[0].json())?;
    let mut last = String::new();
    for round in 1..=args.rounds.get() {
        let answer = endpoint.ask(&system, &messages).inspect_err(|why| {
            let _ = transcript.write(&json!({"error": why.message()}));
        })?;
        let reply = Message::assistant(answer);
        transcript.write(&reply.json())?;
        match judge(context, &reply.text, columns.as_deref().unwrap_or(&[])) {
            Verdict::Good { text, examples } => {
                transcript.write(&json!({"verdict": "good", "rounds": round, "text": text}))?;
                return finish(context, args, &text, round, examples);
            }
            Verdict::Bad(why) => {
                transcript.write(&json!({"verdict": "bad", "why": why}))?;
                messages.push(reply);
                messages.push(Message::user(prompt::again(&why)));
                last = why;
            }
        }
    }
    let rounds = args.rounds;
    let message = format!("no program after {rounds} rounds; of the last answer: {}", last.trim());
    Err(Failure::plain("ask-gave-up", message, Some("ask otherwise, allow more --rounds, or take another --model".into())))
}

fn finish(context: &mut Context, args: &AskArgs, text: &str, rounds: usize, examples: usize) -> Result<u8, Failure> {
    if let Some(path) = &args.out {
        write_whole(path, text.as_bytes())?;
    }
    if context.json {
        context.print_json(&json!({"text": text, "rounds": rounds, "examples": examples}))?;
    } else if args.out.is_none() {
        context.print(text)?;
    }
    Ok(Failure::FINE)
}

/// Says what goes where, before it goes.
fn say(endpoint: &Endpoint, system: &str, question: &str, columns: Option<&[Column]>, args: &AskArgs) {
    let table = columns.map_or_else(|| "no data".to_string(), |c| format!("names and ranges of {} columns, no rows", c.len()));
    let size = system.len() + question.len();
    let endpoint = endpoint.to_string();
    let endpoint = render::shown(&endpoint);
    let _ = writeln!(
        std::io::stderr(),
        "sending to {endpoint}: your question, the language reference, {table} ({size} bytes), then diagnostics of its answers, in at most \
         {} rounds; --dry-run prints it",
        args.rounds
    );
}

/// A column of the table, and its range.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) range: Option<(f64, f64)>,
}

fn columns(path: &str, args: &AskArgs) -> Result<Vec<Column>, Failure> {
    let mut reader = Reader::open(path, &args.table)?;
    let names = reader.columns().to_vec();
    let mut found: Vec<Column> = names.into_iter().map(|name| Column { name, range: None }).collect();
    if let Some(chunk) = reader.next(MOST_ROWS)? {
        for (i, column) in found.iter_mut().enumerate() {
            let mut numbers = vec![f64::NAN; chunk.rows()];
            if chunk.numbers_or_missing(i, &mut numbers).is_ok() {
                let finite = || numbers.iter().copied().filter(|x| x.is_finite());
                column.range = finite().reduce(f64::min).zip(finite().reduce(f64::max));
            }
        }
    }
    Ok(found)
}

/// The lines of a dialogue, each written when it is known.
struct Transcript(Option<(File, String)>);

impl Transcript {
    fn new(path: Option<&str>) -> Result<Transcript, Failure> {
        let open = |path: &str| {
            let file = File::options().create(true).append(true).open(path);
            file.map(|f| (f, path.to_string())).map_err(|e| cannot(path, &e))
        };
        path.map(open).transpose().map(Transcript)
    }

    fn write(&mut self, line: &Value) -> Result<(), Failure> {
        match &mut self.0 {
            None => Ok(()),
            Some((file, path)) => file.write_all((render::json_line(line) + "\n").as_bytes()).map_err(|e| cannot(path, &e)),
        }
    }
}

fn cannot(path: &str, e: &std::io::Error) -> Failure {
    Failure::plain("cannot-write", format!("cannot write `{path}`: {}", reason(e)), None)
}
