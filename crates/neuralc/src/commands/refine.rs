//! `neuralc refine`: models found from data. In: a table, models to begin with, proposers; out: the front and the best, and on request a
//! journal of every hypothesis.
//! Invariants: the last line of JSON has what scripts rely on; Ctrl-C ends the search and keeps what there is, a second one ends
//! the process and those of proposers; a journal is written line by
//! line by one run at a time, its report whole or not at all.

use crate::alone::alone;
use crate::commands::fit_table::{Roles, Wanted, Whole};
use crate::commands::refine_args::RefineArgs;
use crate::commands::waiting::interrupts_with;
use crate::context::{Context, Failure, reason};
use crate::core::Compiled;
use crate::render::{self, Source};
use crate::table::{self, Reader, write_whole};
use neural_compiler::syntax::ast::{InputKind, ModelKind};
use neural_compiler::units::check::VALUE;
use neural_compiler::units::header::{Header, split};
use neural_compiler::{Diagnostic, Diagnostics};
use neural_compiler_discover::journal::{self, Journal};
use neural_compiler_discover::{Entry, Kind, Outcome, Problem, Settings, end_proposers, is_name, named, refine};
use serde_json::json;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

pub(crate) fn run(context: &mut Context, args: &RefineArgs) -> Result<u8, Failure> {
    if let Some(threads) = args.threads {
        // A pool that is already there stays; the outcome is the same.
        let _ = neural_compiler_discover::threads(threads.into());
    }
    let models: Vec<Compiled> =
        args.files.iter().map(|f| context.source(Some(f), None).and_then(|s| Compiled::new(context, s))).collect::<Result<_, _>>()?;
    let reader = Reader::open(&args.from.data, &args.from.table)?;
    let headers = reader.columns().to_vec();
    let kind = kind(args, &models, &headers)?;
    let stand_in = stand_in(context, args, &models, &kind)?;
    let notes = reader.notes();
    let (time, group, target) = match &kind {
        Kind::Formula { target, .. } => (None, None, Some(target.as_str())),
        Kind::Ode { time, group, .. } => (Some(time.as_str()), group.as_deref(), None),
    };
    let named_columns: Vec<&str> = [time, target].into_iter().flatten().collect();
    let roles = Roles { time, target, sigma: None };
    let wanted = Wanted { model: &stand_in, named: named_columns, roles, group, dates: &args.from.dates, fitting: true };
    let whole = Whole::read(reader, &wanted);
    table::say(context, &args.from.data, &notes);
    let whole = whole?;
    // The columns count as the first model does, where it says that.
    let own = stand_in.program.units();
    let called = |name: &str| if Some(name) == target { VALUE.to_string() } else { name.to_string() };
    let counts = |h: Header<'_>| own.scale(h.name).or_else(|| own.scale(&called(h.name))).unwrap_or(h.scale).unit;
    let units = headers.iter().filter_map(|h| split(h)).map(|h| (h.name.to_string(), counts(h))).collect();
    let problem = match Problem::new(whole.table.clone(), kind.clone(), args.holdout, args.seed) {
        Ok(problem) => problem.with_units(units),
        Err(e) => return Err(whole.blame(&stand_in, e, target)),
    };
    let read = |path: &str| {
        let wrong =
            |e: std::io::Error| Diagnostic::error("cannot-read", Default::default(), format!("cannot read `{path}`: {}", reason(&e)));
        std::fs::read_to_string(path).map_err(|e| Diagnostics::from(wrong(e)))
    };
    let mut proposers = named(&problem, &args.proposers, &read).map_err(plain)?;
    let given = args.files.iter().zip(&models).map(|(f, m)| (f.clone(), m.program.scheme().into_owned())).collect();
    let mut journal = args.journal.as_ref().map(|dir| Journal::new(&problem, dir));
    let (mut file, dropped) = args.journal.as_ref().map(|dir| open(&problem, dir, args.resume)).transpose()?.unzip();
    let dropped = dropped.unwrap_or_default();
    let cancel = interrupts_with(end_proposers);
    let mut trouble: Option<Failure> = None;
    let stop = || cancel.load(Ordering::Relaxed);
    let outcome = {
        let mut tell = |entry: &Entry| {
            if let (Some(file), Some(journal)) = (&mut file, &mut journal) {
                let line = render::json_line(&journal.line(entry)) + "\n";
                if let Err(e) = file.write_all(line.as_bytes()).and_then(|()| file.flush()) {
                    trouble.get_or_insert(Failure::Output(e));
                }
            }
        };
        let mut settings = Settings { given, budget: args.budget, dropped, tell: &mut tell, stop: &stop };
        refine(&problem, &mut proposers, &mut settings).map_err(plain)?
    };
    if let Some(failure) = trouble {
        return Err(failure);
    }
    if let (Some(dir), Some(journal)) = (&args.journal, &journal) {
        for (name, text) in journal.report(&problem, &outcome) {
            write_whole(&Path::new(dir).join(name).to_string_lossy(), text.as_bytes())?;
        }
    }
    for warning in &outcome.warnings {
        let _ = writeln!(std::io::stderr(), "warning: {}", render::shown(warning));
    }
    tell(context, &outcome)?;
    Ok(Failure::FINE)
}

fn plain(errors: Diagnostics) -> Failure {
    Failure::Wrong(Source::new("", ""), errors.0)
}

/// What is looked for: as the options say, else as the model does.
fn kind(args: &RefineArgs, models: &[Compiled], headers: &[String]) -> Result<Kind, Failure> {
    let named = |h: &String| split(h).map_or(h.as_str(), |s| s.name).to_string();
    let states = |m: &Compiled| -> Vec<String> {
        let of = |i: &neural_compiler::syntax::ast::Input| matches!(i.kind, InputKind::State(_)).then(|| i.name.clone());
        m.program.inputs().iter().filter_map(of).collect()
    };
    let dynamic = models.iter().find(|m| m.program.kind() != ModelKind::Expression);
    let found = if args.states.is_empty() { dynamic.map(states).unwrap_or_default() } else { args.states.clone() };
    if !found.is_empty() {
        if dynamic.is_none() && !models.is_empty() {
            return Err(Failure::Usage("--states asks for a differential equation, and the model is a formula".into()));
        }
        let declared = dynamic.and_then(|m| m.program.time()).map(|t| t.name.clone());
        let time = args.time.clone().or(declared).unwrap_or_else(|| "t".into());
        return Ok(Kind::Ode { states: found, time, group: args.group.clone() });
    }
    let Some(target) = args.target.clone() else {
        return Err(Failure::Usage("say what to explain: --target COLUMN for a formula, --states A,B for a differential equation".into()));
    };
    let others = headers.iter().map(named).filter(|n| *n != target);
    let inputs = if args.inputs.is_empty() { others.collect() } else { args.inputs.clone() };
    Ok(Kind::Formula { target, inputs })
}

/// The model that says which columns are wanted: the user's, else one that uses them all.
fn stand_in(context: &Context, args: &RefineArgs, models: &[Compiled], kind: &Kind) -> Result<Compiled, Failure> {
    if let Some(file) = args.files.first().filter(|_| !models.is_empty()) {
        return Compiled::new(context, context.source(Some(file), None)?);
    }
    let names = match kind {
        Kind::Formula { inputs, .. } => inputs.clone(),
        Kind::Ode { states, .. } => states.clone(),
    };
    if let Some(bad) = names.iter().find(|n| !is_name(n)) {
        let message = format!("`{bad}` is no name a model can have");
        return Err(Failure::plain("bad-name", message, Some("give the column another name, or name the others with --inputs".into())));
    }
    Compiled::new(context, Source::new("", format!("(+ 0 {})", names.join(" "))))
}

/// The file of the journal, this run's alone, with its first line where it is new; and what an earlier run has dropped.
fn open(problem: &Problem, dir: &str, resume: bool) -> Result<(File, HashMap<String, String>), Failure> {
    let path = Path::new(dir).join(journal::FILE);
    let cannot = |e: std::io::Error| Failure::plain("cannot-write", format!("cannot write `{}`: {}", path.display(), reason(&e)), None);
    std::fs::create_dir_all(dir).map_err(cannot)?;
    if std::fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
        return Err(cannot(std::io::Error::other("it is no file")));
    }
    let mut file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(&path).map_err(cannot)?;
    alone(&file, &format!("the journal `{dir}`"))?;
    let mut text = Vec::new();
    if resume {
        file.read_to_end(&mut text).map_err(|e| table::cannot_read(&path.to_string_lossy(), reason(&e)))?;
    }
    // A run that was killed may leave half a line at the end: what it says was not judged.
    text.truncate(text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1));
    let dropped = match &*String::from_utf8_lossy(&text) {
        "" => HashMap::new(),
        text => journal::dropped(problem, text).map_err(plain)?,
    };
    let mut begin = || -> std::io::Result<()> {
        file.set_len(text.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        if text.is_empty() { file.write_all(format!("{}\n", journal::head(problem)).as_bytes()) } else { Ok(()) }
    };
    begin().map_err(cannot)?;
    Ok((file, dropped))
}

fn tell(context: &mut Context, outcome: &Outcome) -> Result<(), Failure> {
    if context.json {
        let front: Vec<_> = outcome.front.iter().map(|j| j.to_json()).collect();
        return context
            .print_json(&json!({"best": outcome.best.to_json(), "front": front, "tried": outcome.tried, "seconds": outcome.seconds}));
    }
    context.print(&journal::summary(outcome))
}
