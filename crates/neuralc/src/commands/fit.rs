//! `neuralc fit`: constants from data. In: a model, a table; out: values with standard errors, on request a plot and the model with the
//! fitted values in place.
//! Invariants: Ctrl-C ends the search and keeps the best so far, a second one ends the process; files appear whole or not at all.

use crate::args::Cli;
use crate::commands::doses;
use crate::commands::fit_args::{FitArgs, Fitting, Log};
use crate::commands::fit_stream::{self, Stream, Tables};
use crate::commands::fit_table::{Roles, Wanted, Whole};
use crate::commands::waiting::{Bar, interrupts};
use crate::context::{Context, Failure, reason};
use crate::core::Compiled;
use crate::render::Source;
use crate::table::dialect::Notes;
use crate::table::{self, Format, Reader, same_file, write_together, write_whole};
use clap::CommandFactory;
use clap::parser::ValueSource;
use neural_compiler::syntax::translate::translate;
use neural_compiler::{Diagnostics, Syntax};
use neural_compiler_fit::plot::{Drawing, Look};
use neural_compiler_fit::{Fit, Loss, Options, Stage, fit, fit_rows, save, text, to_json, weights};
use serde_json::json;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub(crate) fn run(context: &mut Context, args: &FitArgs) -> Result<u8, Failure> {
    if args.how.from.data == "-" && args.source.file.as_deref() == Some("-") {
        return Err(Failure::Usage("the model and the table cannot both come from standard input".into()));
    }
    drawn(args.plot.as_deref())?;
    if args.save.as_ref().is_some_and(|p| p == &beside(p)) {
        return Err(Failure::Usage("--save takes the file of the model; its weights go into the .safetensors file beside it".into()));
    }
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let model = Compiled::new(context, source)?;
    // What is needed is known before anything is read; whether a name is that of a column of standard deviations does not matter for it.
    let early = Options { group: args.how.group.clone(), ..own_options(args, Options::default()) };
    let tables = fit_stream::tables(args, &model, &early)?;
    apart(args, &model, tables.as_ref())?;
    let wanted = wanted(&args.how, &model, args.weights.as_deref());
    let say = |notes: &Rc<RefCell<Notes>>| table::say(context, &args.how.from.data, notes);
    let begun = tables.map(|tables| begin(&args.how, &wanted, &tables, say)).transpose()?.flatten();
    let (whole, notes, stream) = match begun {
        Some((whole, notes, stream)) => (whole, notes, Some(stream)),
        None => {
            let (whole, notes) = read(&args.how, &wanted, say)?;
            (whole, notes, None)
        }
    };
    let cancel = interrupts();
    let bar = Bar::new();
    let tell = |stage: Stage, done: usize, of: usize, cost: f64| bar.tell(stage, done, of, cost);
    let options = Options { cancel: Some(&cancel), progress: Some(&tell), ..own_options(args, options(&args.how, &model, &whole)?) };
    options.check().map_err(bad_options)?;
    let outcome = match &stream {
        None => fit(&model.program, &whole.table, &options),
        Some(stream) => fit_rows(&model.program, &whole.table, stream, &options),
    };
    bar.clear();
    let fitted = match outcome {
        Ok(fitted) => fitted,
        Err(e) => return Err(whole.blame(&model, e, args.how.target.as_deref())),
    };
    let whole = &Read { whole, stream };
    // The report first: a file that cannot be written must not cost what was computed.
    if context.json {
        let failures = files(args, &model, whole, &options, &fitted);
        let mut report = to_json(&fitted);
        report["table"] = notes.borrow().json();
        report["table"]["dates"] = whole.whole.calendar.map_or(serde_json::Value::Null, |c| c.json());
        if !failures.is_empty() {
            report["diagnostics"] = failures.iter().flat_map(Failure::json).collect();
        }
        context.print_json(&report)?;
        return Ok(if failures.is_empty() { Failure::FINE } else { Failure::WRONG });
    }
    context.print(&text::to_text(&fitted))?;
    context.flush()?;
    let failures = files(args, &model, whole, &options, &fitted);
    if failures.is_empty() {
        let weights = args.save.as_ref().filter(|_| fitted.weights > 0).map(|p| beside(p));
        for (what, path) in [("the fitted model", &args.save), ("its weights", &weights), ("the plot", &args.plot)] {
            if let Some(path) = path {
                context.print(&format!("{what}: {path}\n"))?;
            }
        }
        return Ok(Failure::FINE);
    }
    Ok(failures.into_iter().map(|f| context.report(f)).max().unwrap_or(Failure::WRONG).max(Failure::WRONG))
}

/// A table, and where its rows come from if they are not in memory.
struct Read<'a> {
    whole: Whole,
    stream: Option<Stream<'a>>,
}

/// Complains about files to be written that are one, that would be written over the table or among many, or that are none where weights
/// go beside them.
fn apart(args: &FitArgs, model: &Compiled, tables: Option<&Tables>) -> Result<(), Failure> {
    let weights = args.save.as_ref().filter(|_| !weights::needed(&model.program).is_empty()).map(|p| beside(p));
    if let Some(path) = args.save.as_ref().filter(|p| weights.is_some() && (*p == "-" || Format::is_stream(Path::new(p)))) {
        return Err(Failure::Usage(format!(
            "the model has nets, whose weights go into a file beside it: --save needs a file, not `{path}`"
        )));
    }
    let written = [("--save", &args.save), ("the weights beside --save", &weights), ("--plot", &args.plot)];
    let written: Vec<(&str, &String)> = written.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?))).collect();
    for (i, &(what, path)) in written.iter().enumerate() {
        let events = ("the doses", "--events", args.how.begin.events.as_deref());
        // A model may be saved in its own place.
        let own = args.source.file.as_deref().filter(|_| what != "--save");
        let data = &args.how.from.data;
        table::apart(what, path, &[("the table", "--data", Some(data)), events, table::program(own)])?;
        let mut tables = tables.iter().flat_map(|t| &t.paths);
        tables.try_for_each(|one| table::apart(what, path, &[("a table", "--data", Some(one))]))?;
        if inside(path, Path::new(data)) {
            return Err(Failure::Usage(format!("{what} is inside the directory of --data: `{path}` would be a table of the next run")));
        }
        if let Some((other, _)) = written[..i].iter().find(|(_, other)| same_file(path, other)) {
            return Err(Failure::Usage(format!("{other} and {what} are one file, `{path}`: give each its own")));
        }
    }
    Ok(())
}

/// Links that lead to each other after which they are taken for a ring.
const MOST_LINKS: usize = 40;

/// Whether a file is, or would be, inside a directory, or below it.
fn inside(path: &str, folder: &Path) -> bool {
    if path == "-" || !folder.is_dir() {
        return false;
    }
    let mut path = PathBuf::from(path);
    // What is written to a link goes to where it leads, whether or not there is something yet.
    for _ in 0..MOST_LINKS {
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    matches!((parent.canonicalize(), folder.canonicalize()), (Ok(parent), Ok(folder)) if parent.starts_with(&folder))
}

/// Writes what was asked for; gives what could not be written.
fn files(args: &FitArgs, model: &Compiled, read: &Read<'_>, options: &Options<'_>, fitted: &Fit) -> Vec<Failure> {
    let whole = &read.whole;
    let saved = args.save.as_ref().map(|path| {
        let weights = weights::to_bytes(&model.program, &fitted.values).map_err(|d| Failure::plain(d.code, d.message, d.help))?;
        let text = save::fitted(&model.program.scheme(), fitted);
        let text = whole.calendar.map_or(text.clone(), |calendar| calendar.remember(&text));
        let text = save::with_record(&text, &to_json(fitted), &provenance(args, model, (read, fitted), weights.as_deref())?);
        // As the model is written, unless the name of the file says otherwise.
        let to = if path == "-" { model.source.syntax } else { Syntax::of_file(path) };
        let text = match to {
            Syntax::Scheme => text,
            other => translate(&text, Syntax::Scheme, other, &model.program.limits()).map_err(|e| Failure::program(&model.source, e))?,
        };
        let beside = beside(path);
        let weights = weights.as_deref().map(|bytes| (beside.as_str(), bytes));
        write_together(&weights.into_iter().chain([(path.as_str(), text.as_bytes())]).collect::<Vec<_>>())
    });
    let drawn = args.plot.as_ref().map(|path| {
        let (log_x, log_y) = args.log.map_or((false, false), Log::axes);
        let look = Look { log_x, log_y, groups: whole.groups(args.how.group.as_deref()) };
        let drawing = Drawing::new(&model.program, &whole.table, options, fitted, look);
        let bytes = match path.rsplit('.').next() {
            Some("png") => drawing.png(),
            Some("pdf") => drawing.pdf(),
            _ => drawing.svg().into_bytes(),
        };
        write_whole(path, &bytes)
    });
    [saved, drawn].into_iter().flatten().filter_map(Result::err).collect()
}

/// Where the fit comes from: the file with its hash (of what came from standard input, that of the columns), every option given, the
/// hashes of the texts the model uses, and that of the weights.
fn provenance(
    args: &FitArgs,
    model: &Compiled,
    (Read { whole, stream }, fitted): (&Read<'_>, &Fit),
    weights: Option<&[u8]>,
) -> Result<save::Provenance, Failure> {
    let data = &args.how.from.data;
    let rows = fitted.streamed.map_or(whole.table.rows(), |s| s.rows);
    let sha256 = match data.as_str() {
        _ if stream.is_some() => stream.as_ref().map_or_else(|| Ok(Default::default()), Stream::sha256)?,
        "-" => (save::sha256_of_columns(&whole.table), "columns"),
        path => (std::fs::File::open(path).and_then(save::sha256).map_err(|e| table::cannot_read(path, reason(&e)))?, "file"),
    };
    let weights = weights.map(save::sha256).transpose()?;
    let mut options = given();
    for module in model.source.linked.iter().flat_map(|l| &l.files[1..]) {
        options["use"][&module.name] = json!(save::sha256(module.text.as_bytes())?);
    }
    Ok(save::Provenance { data: data.clone(), rows, sha256, options, weights })
}

/// The options on the command line, by name, but those that name files or are the model.
fn given() -> serde_json::Value {
    let command = Cli::command();
    let matches = command.clone().get_matches();
    let (Some(known), Some(given)) = (command.find_subcommand("fit"), matches.subcommand_matches("fit")) else { return json!({}) };
    let one = |arg: &clap::Arg| {
        let (name, id) = (arg.get_long()?, arg.get_id().as_str());
        let told = given.value_source(id) == Some(ValueSource::CommandLine) && !["data", "save", "plot", "expression"].contains(&name);
        let values: Vec<String> = given.try_get_raw(id).ok()??.map(|v| v.to_string_lossy().into_owned()).collect();
        // That there were doses is known, and asked for again; which file they stood in is nobody's business.
        told.then(|| (name.to_string(), if name == "events" { json!("given") } else { json!(values.join(" ")) }))
    };
    known.get_arguments().filter_map(one).collect::<serde_json::Map<_, _>>().into()
}

/// What of a table matters to a fit. `also`: a column that is named besides.
pub(crate) fn wanted<'a>(how: &'a Fitting, model: &'a Compiled, also: Option<&'a str>) -> Wanted<'a> {
    let named = [how.time.as_deref(), how.target.as_deref(), how.sigma.as_deref(), also].into_iter().flatten().collect();
    let roles = Roles { time: how.time.as_deref(), target: how.target.as_deref(), sigma: how.sigma.as_deref() };
    Wanted { model, named, roles, group: how.group.as_deref(), dates: &how.from.dates, fitting: true }
}

/// The table of a fit, and what is to be said of it.
pub(crate) fn read(
    how: &Fitting,
    wanted: &Wanted<'_>,
    say: impl FnOnce(&Rc<RefCell<Notes>>),
) -> Result<(Whole, Rc<RefCell<Notes>>), Failure> {
    let reader = Reader::open(&how.from.data, &how.from.table)?;
    let notes = reader.notes();
    let whole = Whole::read(reader, wanted);
    say(&notes);
    Ok((whole?, notes))
}

/// What is known of a table before its rows are read again and again: the first of them, what is to be said, where all of them come from.
type Begun<'a> = (Whole, Rc<RefCell<Notes>>, Stream<'a>);

/// The same of tables whose rows are not held in memory; `None`: they are held all the same.
fn begin<'a>(
    how: &Fitting,
    wanted: &Wanted<'a>,
    tables: &Tables,
    say: impl FnOnce(&Rc<RefCell<Notes>>),
) -> Result<Option<Begun<'a>>, Failure> {
    let mut notes = Rc::default();
    let begun = Stream::begin(tables, &how.from.table, wanted, |reader| {
        notes = reader.notes();
        say(&notes);
    })?;
    Ok(begun.map(|(whole, stream)| (whole, notes, stream)))
}

/// The options of the library that every fit takes.
pub(crate) fn options<'a>(how: &Fitting, model: &Compiled, whole: &Whole) -> Result<Options<'a>, Failure> {
    let column = how.sigma.as_ref().filter(|s| whole.table.column(s).is_some());
    let number = how.sigma.as_ref().filter(|_| column.is_none()).and_then(|s| s.parse::<f64>().ok());
    Ok(Options {
        target: how.target.clone(),
        time: how.time.clone(),
        group: how.group.clone(),
        start_time: how.begin.start_time.map(|t| t.number(whole.calendar)).transpose()?,
        sigma_column: if number.is_none() { how.sigma.clone() } else { None },
        sigma: number,
        starts: how.starts,
        budget: how.budget,
        effects: how.effects,
        scheme: how.method.0,
        step: how.step,
        tolerance: how.rtol,
        absolute_tolerance: how.atol,
        doses: doses::read(
            how.begin.events.as_deref(),
            &how.from.table,
            model,
            (how.time.as_deref(), how.group.as_deref()),
            Some(whole),
            true,
        )?,
        seed: how.seed,
        threads: how.threads.map_or(0, Into::into),
        ..Options::default()
    })
}

/// The options, with those of `neuralc fit` alone.
fn own_options<'a>(args: &FitArgs, common: Options<'a>) -> Options<'a> {
    Options {
        weights_column: args.weights.clone(),
        loss: (args.loss != Loss::Squares).then_some(args.loss),
        holdout: args.holdout,
        training: args.training,
        weight_decay: args.weight_decay,
        epochs: args.epochs,
        batch: args.batch,
        profile: args.profile,
        bootstrap: args.bootstrap,
        resampling: args.resample,
        ..common
    }
}

/// Refuses a picture in a format there is none of.
pub(crate) fn drawn(plot: Option<&str>) -> Result<(), Failure> {
    match plot.filter(|p| ![".svg", ".png", ".pdf"].iter().any(|e| p.ends_with(e))) {
        Some(path) => Err(Failure::Usage(format!("plots are drawn as .svg, .png or .pdf, `{path}` is none of these"))),
        None => Ok(()),
    }
}

/// What is wrong with options, whatever the model and the data: all of it, with the library's codes.
pub(crate) fn bad_options(found: Diagnostics) -> Failure {
    Failure::Wrong(Source::new("", ""), found.0)
}

/// The file with the weights of a saved model.
pub(crate) fn beside(model: &str) -> String {
    Path::new(model).with_extension("safetensors").to_string_lossy().into_owned()
}
