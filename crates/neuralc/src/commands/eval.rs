//! `neuralc eval`: a table through a program. In: a program, a table (or many: `eval_many.rs`), values for inputs that are no columns; out:
//! the table with the value, and on request the gradient, of every row.
//!
//! Memory is constant by construction: one chunk of rows of a table is read, evaluated by the batch engine and written before the next is
//! read, of many tables one of each that is worked on, of which there are no more than threads; buffers are made
//! once, for the largest chunk. A chunk ends where the next row would have to be waited for, and what goes into a stream is handed on after
//! every chunk.
//! Invariants: every row's result equals that of `neuralc run` to the bit; the first mistake in the order of the chunks is the one
//! reported; a file is written only when all of it is there.

use super::eval_many::{self, Finished, Identity, Piece, Results as Many};
use crate::args::EvalArgs;
use crate::context::{Context, Failure, reason};
use crate::core::Compiled;
use crate::feeds::{Feed, feeds, remark, sets};
use crate::render;
use crate::table::{self, CellError, Chunk, Format, Reader, Results, Size, Target, Writer};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, LaneError, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::{Diagnostic, EvalError, Limits, Shape};
use neural_compiler_fit::dates::Calendar;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;

/// Failed rows that are reported one by one; of the others only the number.
const ROWS_SHOWN: usize = 5;

pub(crate) fn run(context: &mut Context, args: &EvalArgs) -> Result<u8, Failure> {
    if args.data == "-" && args.source.file.as_deref() == Some("-") {
        return Err(Failure::Usage("the program and the table cannot both come from standard input".into()));
    }
    if args.out == "-" && context.json {
        return Err(Failure::Usage("--json and `--out -` both need standard output".into()));
    }
    if let Some(pieces) = eval_many::tables(&args.data)? {
        return many(context, args, &pieces);
    }
    table::apart("--out", &args.out, &[("the table", "--data", Some(&args.data)), table::program(args.source.file.as_deref())])?;
    Format::write(&args.out)?;
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let program = Compiled::new(context, source)?;
    let (summary, said) = one(Setting::new(context, args), args, &program, &args.data, &args.out)?;
    if let (Some(line), false) = (said.line, context.json) {
        let _ = writeln!(std::io::stderr(), "{}", render::shown(&line));
    }
    summary?.print(context, args, &program, said.json)?;
    Ok(Failure::FINE)
}

/// What evaluations need to know besides their arguments.
#[derive(Clone, Copy)]
struct Setting {
    limits: Limits,
    threads: usize,
    /// Whether a bar shows how far a table is.
    bar: bool,
}

impl Setting {
    fn new(context: &Context, args: &EvalArgs) -> Setting {
        let threads = args.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, |n| n.get());
        Setting { limits: context.limits, threads, bar: true }
    }
}

/// What is to be said about a table: for people, and for programs.
struct Said {
    line: Option<String>,
    json: Value,
}

/// A table through a program; gives besides what is to be said about the table, if it can be opened.
fn one(setting: Setting, args: &EvalArgs, program: &Compiled, data: &str, out: &str) -> Result<(Result<Summary, Failure>, Said), Failure> {
    let format = Format::write(out)?;
    let sets = sets(program, &args.sets)?;
    let reader = Reader::open(data, &args.table)?;
    let notes = reader.notes();
    notes.borrow_mut().columns.extend(remark(program, reader.columns()));
    let outcome = feeds(program, reader.columns(), sets).and_then(|feeds| match args.dtype.0 {
        Dtype::F32 => evaluate::<f32>(setting, args, program, &feeds, reader, (out, format)),
        Dtype::F64 => evaluate::<f64>(setting, args, program, &feeds, reader, (out, format)),
    });
    let notes = notes.borrow();
    Ok((outcome, Said { line: notes.line(if data == "-" { "<stdin>" } else { data }), json: notes.json() }))
}

/// What became of one of many tables.
struct Outcome {
    /// Where its result is, and what is known of it.
    done: Result<(String, Finished), Failure>,
    /// Whether it was there before.
    before: bool,
    said: Option<String>,
    /// The first rows without results.
    summary: Option<Summary>,
}

/// One of many tables.
fn piece(setting: Setting, args: &EvalArgs, program: &Compiled, results: &Many, piece: &Piece) -> Outcome {
    let mut told = Outcome { done: Err(Failure::Usage(String::new())), before: false, said: None, summary: None };
    told.done = done(setting, args, program, results, piece, &mut told);
    told
}

/// Where the result of one of many tables is, and what is known of it; what is to be said of it goes into `told`.
fn done(
    setting: Setting,
    args: &EvalArgs,
    program: &Compiled,
    results: &Many,
    piece: &Piece,
    told: &mut Outcome,
) -> Result<(String, Finished), Failure> {
    let (data, out) = (piece.data.display().to_string(), results.place(piece)?);
    if let Some(done) = results.finished(piece)? {
        told.before = true;
        return Ok((out, done));
    }
    table::apart("--out", &out, &[("the table", "--data", Some(&data)), table::program(args.source.file.as_deref())])?;
    // As it was before it was read: if it changes meanwhile, its result is not taken for one of what it became.
    let read = Identity::of(&piece.data).map_err(|e| table::cannot_read(&data, reason(&e)))?;
    let (summary, said) = one(setting, args, program, &data, &out).map_err(|e| e.within(&data))?;
    told.said = said.line;
    let summary = told.summary.insert(summary.map_err(|e| e.within(&data))?);
    let done = Finished { rows: summary.rows, failed: summary.failed, columns: summary.names.clone() };
    results.note(piece, read, &done)?;
    Ok((out, done))
}

/// Many tables through a program, each into a file of its own, several at once; those that are done already are left alone.
fn many(context: &mut Context, args: &EvalArgs, pieces: &[Piece]) -> Result<u8, Failure> {
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let program = Compiled::new(context, source)?;
    let results = Many::open(context, args, &program)?;
    let whole = Setting::new(context, args);
    let at_once = whole.threads.min(pieces.len()).max(1);
    // The tables share the threads.
    let setting = Setting { threads: whole.threads / at_once, bar: at_once == 1, ..whole };
    let bar = if at_once == 1 { ProgressBar::hidden() } else { ProgressBar::new(pieces.len() as u64) };
    let bar = styled(bar, "{wide_bar} {percent:>3}%  {human_pos} of {human_len} tables  {eta} left");
    let (mut rows, mut failed, mut before, mut tables) = (0, 0, 0, Vec::new());
    let json = context.json;
    let tell = |k: usize, outcome: Outcome| -> Result<(), Failure> {
        let data = pieces[k].data.display().to_string();
        if let (Some(line), false) = (&outcome.said, json) {
            let _ = bar.suspend(|| writeln!(std::io::stderr(), "{}", render::shown(line)));
        }
        let (out, done) = outcome.done?;
        outcome.summary.iter().for_each(|summary| bar.suspend(|| summary.warn(&program, &data)));
        rows += done.rows;
        failed += done.failed;
        before += u64::from(outcome.before);
        bar.inc(1);
        if json {
            let Finished { rows, failed, columns } = done;
            let when = if outcome.before { "before" } else { "now" };
            tables.push(json!({"data": data, "out": out, "rows": rows, "failed": failed, "columns": columns, "done": when}));
        }
        Ok(())
    };
    in_order(pieces.len(), at_once, |k| piece(setting, args, &program, &results, &pieces[k]), |o| o.done.is_err(), tell)?;
    bar.finish_and_clear();
    if context.json {
        context.print_json(&json!({"rows": rows, "failed": {"count": failed}, "tables": tables}))?;
    } else {
        let earlier = if before > 0 { format!(" ({before} of them done before)") } else { String::new() };
        let without = if failed > 0 { format!(", {failed} of them without results") } else { String::new() };
        context.print(&format!("{}: {} tables{earlier}, {rows} rows{without}\n", args.out, pieces.len()))?;
    }
    Ok(Failure::FINE)
}

/// Does so many pieces of work, several at once and begun in their order, and tells of them in their order. After one that is the `last` no
/// other is begun; the first error that telling gives is the outcome.
fn in_order<R: Send>(
    count: usize,
    at_once: usize,
    work: impl Fn(usize) -> R + Sync,
    last: impl Fn(&R) -> bool + Sync,
    mut tell: impl FnMut(usize, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let one = || {
        // What was taken is done, whatever ends meanwhile: a gap would keep all that comes behind it from being told.
        if over.load(Relaxed) {
            return None;
        }
        let k = next.fetch_add(1, Relaxed);
        (k < count).then(|| {
            let done = work(k);
            over.fetch_or(last(&done), Relaxed);
            (k, done)
        })
    };
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        for _ in 1..at_once {
            let (send, one) = (send.clone(), &one);
            let help = move || std::iter::from_fn(one).for_each(|done| drop(send.send(done)));
            // Without a helper there is more for the others.
            let _ = std::thread::Builder::new().spawn_scoped(scope, help);
        }
        let mut waiting: BTreeMap<usize, R> = BTreeMap::new();
        let mut told = 0;
        let mut hand_on = |(k, done): (usize, R)| -> Result<(), Failure> {
            waiting.insert(k, done);
            while let Some(done) = waiting.remove(&told) {
                tell(told, done)?;
                told += 1;
            }
            Ok(())
        };
        let mut outcome = Ok(());
        while outcome.is_ok()
            && let Some(done) = one()
        {
            outcome = hand_on(done);
            while outcome.is_ok()
                && let Ok(done) = receive.try_recv()
            {
                outcome = hand_on(done);
            }
        }
        over.fetch_or(outcome.is_err(), Relaxed);
        drop(send);
        for done in receive {
            outcome = outcome.and_then(|()| hand_on(done));
        }
        outcome
    })
}

/// What a result's columns are called.
fn result_names(name: &str, shape: Shape) -> Vec<String> {
    match shape {
        Shape::Scalar => vec![name.into()],
        Shape::Vector(n) => (0..n).map(|i| format!("{name}[{i}]")).collect(),
        Shape::Matrix(m, n) => (0..m).flat_map(|i| (0..n).map(move |j| format!("{name}[{i},{j}]"))).collect(),
    }
}

/// What became of the rows.
struct Summary {
    rows: u64,
    names: Vec<String>,
    failed: u64,
    /// The first of the failed rows.
    first: Vec<(u64, Diagnostic)>,
}

/// By what calendar the dates of an input are read: the one the options say with the unit the program has for it, or why there is none.
type Dates = Result<Option<Calendar>, Diagnostic>;

/// A column as numbers, or as times where it holds dates and the options say what these are.
fn numbers<T: Real>(chunk: Chunk<'_>, column: usize, out: &mut [T], most: usize, calendar: &Dates) -> Vec<CellError> {
    let wrong = chunk.numbers(column, out, most);
    let Some(first) = wrong.first() else { return wrong };
    let calendar = match calendar {
        Ok(Some(calendar)) => calendar,
        Err(why) if chunk.dates(column).is_ok() => return (0..chunk.rows()).map(|row| CellError::other_unit(row, why.clone())).collect(),
        Ok(None) | Err(_) => return wrong,
    };
    match chunk.dates(column) {
        Ok(stamps) => {
            let mut unread = Vec::new();
            for (row, (out, stamp)) in out.iter_mut().zip(stamps).enumerate() {
                match stamp {
                    Some(stamp) if !calendar.counts(stamp) => unread.push(CellError::mixed_zones(row, calendar.mixed())),
                    Some(stamp) => *out = T::from_f64(calendar.number(stamp.nanoseconds)),
                    None => unread.push(CellError::missing(row, "")),
                }
            }
            unread
        }
        // It begins with dates, so that is what it should hold.
        Err(e) if e.row > first.row => vec![e],
        Err(_) => wrong,
    }
}

/// What the columns of the results are called: names that the table does not have, few enough to be held in memory.
fn names<T: Real>(
    setting: Setting,
    program: &Compiled,
    reader: &Reader,
    titles: impl Iterator<Item = String>,
    outputs: &[Shape],
) -> Result<Vec<String>, Failure> {
    // A row of results has to be in memory, and each of its columns has a name.
    let bytes = outputs.iter().map(|s| s.len()).sum::<usize>().saturating_mul(size_of::<T>() + size_of::<String>());
    if bytes > setting.limits.memory_bytes {
        let message = format!("the names and results of a row take more than {} bytes", setting.limits.memory_bytes);
        return Err(Failure::run(&program.source, EvalError::new("limit-memory", Default::default(), message)));
    }
    let names: Vec<String> = titles.zip(outputs).flat_map(|(title, &shape)| result_names(&title, shape)).collect();
    let taken: std::collections::HashSet<&str> = reader.columns().iter().map(String::as_str).collect();
    if let Some(name) = names.iter().find(|n| taken.contains(n.as_str())) {
        let message = format!("the table has a column `{name}` already, which is what a result is called");
        return Err(Failure::plain("duplicate-column", message, Some("rename the column".into())));
    }
    Ok(names)
}

/// Of each row the leftmost cell that is no number.
type Wrong = BTreeMap<usize, (usize, CellError)>;

/// Reads the numbers of a chunk into the buffers, `stride` apart from element to element.
fn read_cells<T: Real>(
    chunk: Chunk<'_>,
    (feeds, calendars): (&[Feed], &[Dates]),
    buffers: &mut [Vec<T>],
    stride: usize,
    args: &EvalArgs,
) -> Wrong {
    let mut wrong = Wrong::new();
    let most_wrong = if args.keep_going { usize::MAX } else { 1 };
    for ((feed, calendar), buffer) in feeds.iter().zip(calendars).zip(buffers) {
        let Feed::Columns { columns, conversions, .. } = feed else { continue };
        for ((&column, conversion), out) in columns.iter().zip(conversions).zip(buffer.chunks_mut(stride)) {
            let out = &mut out[..chunk.rows()];
            for e in numbers(chunk, column, out, most_wrong, calendar) {
                match wrong.get(&e.row) {
                    Some(known) if known.0 <= column => {}
                    _ => drop(wrong.insert(e.row, (column, e))),
                }
            }
            if let Some(conversion) = conversion {
                out.iter_mut().for_each(|x| *x = T::from_f64(conversion.apply(x.to_f64())));
            }
        }
    }
    wrong
}

/// The engine computes something for rows that cannot be read, too: what it computes for another.
fn stand_in<T: Real>(wrong: &Wrong, rows: usize, feeds: &[Feed], buffers: &mut [Vec<T>], stride: usize) {
    let good = (0..rows).find(|row| !wrong.contains_key(row));
    for (buffer, _) in buffers.iter_mut().zip(feeds).filter(|(_, f)| matches!(f, Feed::Columns { .. })) {
        for out in buffer.chunks_mut(stride) {
            wrong.keys().for_each(|&row| out[row] = good.map_or(T::ZERO, |good| out[good]));
        }
    }
}

fn evaluate<T: Real>(
    setting: Setting,
    args: &EvalArgs,
    program: &Compiled,
    feeds: &[Feed],
    mut reader: Reader,
    (out, format): (&str, Format),
) -> Result<Summary, Failure> {
    let shapes: Vec<Shape> = feeds.iter().map(Feed::shape).collect();
    let graph = program.specialise(&shapes)?;
    let wrt: Vec<usize> = (0..feeds.len()).filter(|&i| args.grad && matches!(feeds[i], Feed::Columns { own: true, .. })).collect();
    let derived: Graph;
    let whole = if args.grad {
        derived = program.gradient(&graph, &wrt)?;
        &derived
    } else {
        &*graph
    };
    let outputs = whole.outputs();
    let titles = std::iter::once("value".to_string()).chain(wrt.iter().map(|&i| format!("d/d{}", graph.inputs[i].name)));
    let names = names::<T>(setting, program, &reader, titles, &outputs)?;
    let mut numeric = vec![false; reader.columns().len()];
    for feed in feeds {
        if let Feed::Columns { columns, .. } = feed {
            columns.iter().for_each(|&c| numeric[c] = true);
        }
    }

    let most = table::rows_for(reader.columns().len() + names.len());
    let uniform: Vec<bool> = feeds.iter().map(|f| matches!(f, Feed::Shared(_))).collect();
    let engine = Engine::new(whole, &uniform);
    let options =
        BatchOptions { run: RunOptions { limits: setting.limits, trap: false }, threads: setting.threads, ..BatchOptions::default() };
    let mut workspace = Workspace::new();
    // Numbers of a vector's first element for all rows, then of its second, …
    let mut buffers: Vec<Vec<T>> = feeds
        .iter()
        .map(|f| match f {
            Feed::Columns { columns, .. } => vec![T::ZERO; columns.len() * most],
            Feed::Shared((_, numbers)) => numbers.iter().map(|&x| T::from_f64(x)).collect(),
        })
        .collect();
    let mut results: Vec<Vec<T>> = outputs.iter().map(|s| vec![T::ZERO; s.len() * most]).collect();

    let target = Target::open(out)?;
    let mut writer =
        Writer::new::<T>(format, &target, &reader, &numeric, &names, setting.limits.memory_bytes).map_err(|e| target.blame(e))?;
    let columns = reader.columns().to_vec();
    let calendars: Vec<Dates> = program.program.inputs().iter().map(|i| args.dates.said(&program.program, &i.name)).collect();
    let bar = if setting.bar { progress(&reader) } else { ProgressBar::hidden() };
    let mut summary = Summary { rows: 0, names, failed: 0, first: Vec::new() };
    while let Some(chunk) = reader.next(most)? {
        let rows = chunk.rows();
        let wrong = read_cells(chunk, (feeds, &calendars), &mut buffers, most, args);
        if let (Some((row, (column, e))), false) = (wrong.first_key_value(), args.keep_going) {
            return Err(e.failure(&chunk.place(summary.rows, *row), &columns[*column]));
        }
        if !wrong.is_empty() {
            stand_in(&wrong, rows, feeds, &mut buffers, most);
        }
        let computed = if wrong.len() == rows { 0 } else { rows };
        let inputs: Vec<Column<'_, T>> = buffers
            .iter()
            .zip(&uniform)
            .map(|(data, &shared)| if shared { Column::shared(data) } else { Column { data, lane_stride: 1, element_stride: most } })
            .collect();
        let mut slices: Vec<&mut [T]> = results.iter_mut().zip(&outputs).map(|(r, s)| &mut r[..rows * s.len()]).collect();
        let errors = match computed {
            0 => Vec::new(),
            _ => engine.run(&mut workspace, &inputs, rows, &mut slices, &options).map_err(|e| Failure::run(&program.source, e))?,
        };
        let failed = summary.failures(chunk, errors, &wrong, &columns, args.keep_going).map_err(|e| Failure::run(&program.source, e))?;
        let blocks = slices.into_iter().zip(&outputs).map(|(s, shape)| (&*s, shape.len())).collect();
        let written = writer.write(chunk, summary.rows, &Results { blocks, failed });
        written.and_then(|()| if target.streams() { writer.flush() } else { Ok(()) }).map_err(|e| target.blame(e))?;
        summary.rows += rows as u64;
        bar.set_position(reader.position());
    }
    writer.finish().map_err(|e| target.blame(e))?;
    target.finish()?;
    Ok(summary)
}

impl Summary {
    /// Takes note of the rows of a chunk that failed; gives their places in it. `Err`: the first, when that is the end.
    fn failures(
        &mut self,
        chunk: Chunk<'_>,
        errors: Vec<LaneError>,
        wrong: &Wrong,
        columns: &[String],
        keep_going: bool,
    ) -> Result<Vec<usize>, EvalError> {
        let mut failed: BTreeMap<usize, Option<&LaneError>> = wrong.keys().map(|&row| (row, None)).collect();
        for e in &errors {
            failed.entry(e.lane).or_insert(Some(e));
        }
        let named =
            |e: &LaneError| EvalError::new(e.error.code, e.error.span, format!("{}: {}", chunk.place(self.rows, e.lane), e.error.message));
        if let (Some(first), false) = (errors.first(), keep_going) {
            return Err(named(first));
        }
        self.failed += failed.len() as u64;
        for (&row, lane) in failed.iter().take(ROWS_SHOWN - self.first.len()) {
            let diagnostic = match (lane, wrong.get(&row)) {
                (Some(e), _) => {
                    let e = named(e);
                    Diagnostic::warning(e.code, e.span, e.message)
                }
                (None, found) => {
                    let (column, e) = found.expect("a row fails in the engine or in a cell");
                    let message = format!("{}, column `{}`: {}", chunk.place(self.rows, row), columns[*column], e.message);
                    Diagnostic::warning(e.code, Default::default(), message).maybe_help(e.help.clone())
                }
            };
            self.first.push((self.rows + row as u64 + 1, diagnostic));
        }
        Ok(failed.into_keys().collect())
    }

    /// Names the first rows without results, on standard error; `table`: what to call the table, if it is one of many.
    fn warn(&self, program: &Compiled, table: &str) {
        if self.failed == 0 {
            return;
        }
        let mut err = std::io::stderr();
        for (_, d) in &self.first {
            let nowhere = d.span == Default::default();
            let source = if nowhere { render::Source::new("", "") } else { program.source.clone() };
            let _ = writeln!(err, "{}", render::to_text(&source, d, render::stderr_colour()));
        }
        let place = if table.is_empty() { String::new() } else { format!("{}: ", render::shown(table)) };
        let _ = writeln!(err, "{place}{} of {} rows failed; their results are empty", self.failed, self.rows);
    }

    fn print(self, context: &mut Context, args: &EvalArgs, program: &Compiled, table: Value) -> Result<(), Failure> {
        if context.json {
            let first: Vec<Value> = self.first.iter().map(|(row, d)| json!({"row": row, "code": d.code, "message": d.message})).collect();
            let failed = json!({"count": self.failed, "first": first});
            return context.print_json(&json!({"rows": self.rows, "columns": self.names, "failed": failed, "table": table}));
        }
        self.warn(program, "");
        if args.out == "-" {
            return Ok(());
        }
        let rows = if self.rows == 1 { "row" } else { "rows" };
        let shown = if self.names.len() > 12 { format!("{} new columns", self.names.len()) } else { self.names.join(" ") };
        context.print(&format!("{}: {} {rows}, {shown}\n", args.out, self.rows))
    }
}

/// A bar with the time left; nothing when standard error is no terminal.
fn progress(reader: &Reader) -> ProgressBar {
    let (bar, template) = match reader.size() {
        Size::Bytes(n) => (ProgressBar::new(n), "{wide_bar} {percent:>3}%  {bytes} of {total_bytes}  {eta} left"),
        Size::Rows(n) => (ProgressBar::new(n), "{wide_bar} {percent:>3}%  {human_pos} of {human_len} rows  {eta} left"),
        Size::Unknown => (ProgressBar::no_length(), "{spinner} {bytes}  {elapsed}"),
    };
    styled(bar, template)
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    bar.with_style(ProgressStyle::with_template(template).expect("the templates are right")).with_finish(ProgressFinish::AndClear)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever of two pieces is done first, the failure of the second is the outcome, and the first is told before.
    #[test]
    fn a_failure_is_told_whatever_ends_first() {
        for _ in 0..2_000 {
            let mut told = Vec::new();
            let tell = |k: usize, fine: bool| {
                told.push(k);
                if fine { Ok(()) } else { Err(Failure::Usage("the second".into())) }
            };
            assert!(in_order(8, 4, |k| k != 1, |fine| !fine, tell).is_err());
            assert_eq!(told, [0, 1]);
        }
    }
}
