//! `neuralc simulate`: trajectories of a model without data. In: a model, values, times; out: a table with the time, every state and every
//! observable, for each set of values; and a picture.

use crate::commands::doses;
use crate::commands::fit::{bad_options, drawn};
use crate::commands::fit_args::SimulateArgs;
use crate::commands::fit_table::{Roles, Wanted, Whole};
use crate::commands::predict::saved_weights;
use crate::commands::waiting::Bar;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::render::Source;
use crate::table::{self, Chunk, Format, MOST_ROWS, Reader, Results, Rows, Target, Writer, write_whole};
use crate::value;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostics, number_text};
use neural_compiler_fit::layout::element_names;
use neural_compiler_fit::plot::{Look, Paths};
use neural_compiler_fit::{Given, Options, Simulation, Stage, Table, group_column, simulate};
use serde_json::json;
use std::io::Write as _;

/// Most times between start and end.
const MOST_POINTS: usize = 100_000_000;

/// Most numbers a simulation gives.
const MOST_NUMBERS: usize = 1 << 30;

pub(crate) fn run(context: &mut Context, args: &SimulateArgs) -> Result<u8, Failure> {
    if args.out == "-" && context.json {
        return Err(Failure::Usage("--json and `--out -` both need standard output: name a file with --out".into()));
    }
    let (file, words) = match (&args.expression, &args.words[..]) {
        (Some(_), words) => (None, words),
        (None, [file, words @ ..]) => (Some(file.as_str()), words),
        (None, []) => (None, &[][..]),
    };
    drawn(args.plot.as_deref())?;
    let read = [table::program(file), ("the times", "--times", args.times.as_deref()), ("the doses", "--events", args.events.as_deref())];
    table::apart("--out", &args.out, &read)?;
    args.plot.as_ref().map_or(Ok(()), |plot| table::apart("--plot", plot, &read))?;
    let format = Format::write(&args.out)?;
    let source = context.source(file, args.expression.as_deref())?;
    let model = Compiled::new(context, source)?;
    let options = Options {
        values: saved_weights(file, &model)?,
        time: args.time.clone(),
        group: args.group.clone(),
        scheme: args.method.0,
        step: args.step,
        tolerance: args.rtol,
        absolute_tolerance: args.atol,
        threads: args.threads.map_or(0, Into::into),
        ..Options::default()
    };
    options.check().map_err(bad_options)?;
    let swept = args.sweeps.iter().map(|s| sweep(s)).collect::<Result<Vec<_>, _>>()?;
    let mut given = values(words)?;
    let sets = swept.iter().map(|s| s.1.len()).try_fold(1usize, usize::checked_mul).unwrap_or(usize::MAX);
    if sets > MOST_NUMBERS {
        return Err(Failure::Usage(format!("the sweeps make {sets} sets of values, more than {MOST_NUMBERS}")));
    }
    given.extend(product(&swept, sets));
    // What the groups of the table are called, row by row.
    let mut told: Option<(String, Vec<String>)> = None;
    let bar = Bar::new();
    let tell = |stage: Stage, done: usize, of: usize, cost: f64| bar.tell(stage, done, of, cost);
    let outcome = match &args.times {
        Some(path) => {
            let reader = Reader::open(path, &args.table)?;
            let notes = reader.notes();
            let named = options.time.iter().map(String::as_str).collect();
            let roles = Roles { time: options.time.as_deref(), ..Roles::default() };
            let wanted = Wanted { model: &model, named, roles, group: options.group.as_deref(), dates: &args.dates, fitting: false };
            let whole = Whole::read(reader, &wanted);
            table::say(context, path, &notes);
            let whole = whole?;
            let start_time = args.start_time.map(|t| t.number(whole.calendar)).transpose()?;
            let group = group_column(&model.program, options.group.as_deref()).map_err(|e| blame(&model, e))?;
            let group = group.filter(|name| options.group.is_some() || whole.table.column(name).is_some());
            let doses =
                doses::read(args.events.as_deref(), &args.table, &model, (options.time.as_deref(), group.as_deref()), Some(&whole), true)?;
            told = group.as_deref().and_then(|name| Some((name.to_string(), whole.names_in(name)?)));
            let options = Options { start_time, doses, group, progress: Some(&tell), ..options.clone() };
            simulate(&model.program, &whole.table, &options, &given).map_err(|e| whole.blame(&model, e, None))
        }
        None => {
            let start_time = args.start_time.map(|t| t.number(None)).transpose()?;
            let doses = doses::read(args.events.as_deref(), &args.table, &model, (options.time.as_deref(), None), None, true)?;
            let (table, from) = until(&model, args, start_time)?;
            // Backwards, the start holds at the last of the times.
            let start_time = start_time.or((args.until < Some(from)).then_some(from));
            let options = Options { start_time, doses, progress: Some(&tell), ..options };
            simulate(&model.program, &table, &options, &given).map_err(|e| blame(&model, e))
        }
    };
    bar.clear();
    let found = outcome?;
    if !context.json {
        found.warnings.iter().for_each(|why| drop(writeln!(std::io::stderr(), "warning: {}", crate::render::shown(why))));
    }
    let names = write(args, format, &found, (&swept, told.as_ref()), context.limits.memory_bytes)?;
    if let Some(path) = &args.plot {
        let drawing = Paths { simulation: &found, sets: labels(&swept, sets), look: Look::default() };
        let bytes = match path.rsplit('.').next() {
            Some("png") => drawing.png(),
            Some("pdf") => drawing.pdf(),
            _ => drawing.svg().into_bytes(),
        };
        write_whole(path, &bytes)?;
    }
    let rows = found.times.len() * found.sets;
    if context.json {
        context.print_json(&json!({"rows": rows, "sets": found.sets, "columns": names, "warnings": found.warnings}))?;
    } else if args.out != "-" {
        context.print(&format!("{}: {rows} rows, {}\n", args.out, names.join(" ")))?;
    }
    Ok(Failure::FINE)
}

/// What is wrong, with its place in the model where it has one.
fn blame(model: &Compiled, errors: Diagnostics) -> Failure {
    let located = errors.0.iter().any(|d| d.span != Default::default());
    if located { Failure::program(&model.source, errors) } else { Failure::Wrong(Source::new("", ""), errors.0) }
}

/// `name=value` words, number by number.
fn values(words: &[String]) -> Result<Given, Failure> {
    let mut given = Given::new();
    for word in words {
        let (name, text) = word.split_once('=').ok_or_else(|| Failure::Usage(format!("`{word}` is not NAME=VALUE")))?;
        let (shape, numbers) = value::parse(text)
            .map_err(|message| Failure::plain("bad-value", format!("the value of `{}`: {message}", name.trim()), None))?;
        given.extend(element_names(name.trim(), shape).into_iter().zip(numbers.into_iter().map(|x| vec![x])));
    }
    Ok(given)
}

/// `k=0:1:11`: from, to, how many; or `k=1,2,5`.
fn sweep(text: &str) -> Result<(String, Vec<f64>), Failure> {
    let wrong = |what: &str| Failure::Usage(format!("--sweep {text}: {what}; as in k=0:1:11 (from 0 to 1, 11 values) or k=1,2,5"));
    let (name, range) = text.split_once('=').ok_or_else(|| wrong("a name and its values are missing"))?;
    let numbers =
        |parts: &mut dyn Iterator<Item = &str>| parts.map(value::given).collect::<Result<Vec<f64>, String>>().map_err(|e| wrong(&e));
    let values = if range.contains(':') {
        match numbers(&mut range.split(':'))?[..] {
            [from, to, count] if count.fract() == 0.0 && (2.0..=1e8).contains(&count) => {
                let steps = count - 1.0;
                (0..count as usize).map(|k| k as f64).map(|k| if k == steps { to } else { from + (to - from) * (k / steps) }).collect()
            }
            [_, _, _] => return Err(wrong("the number of values is a whole number from 2 on")),
            _ => return Err(wrong("a range has three parts")),
        }
    } else {
        numbers(&mut range.split(','))?
    };
    if values.iter().any(|x| !x.is_finite()) {
        return Err(wrong("a value is not finite"));
    }
    Ok((name.trim().to_string(), values))
}

/// Every combination of swept values, the last name changing fastest.
fn product(swept: &[(String, Vec<f64>)], sets: usize) -> Given {
    let mut each = sets;
    let mut one = |(name, values): &(String, Vec<f64>)| {
        each /= values.len();
        let every = each;
        (name.clone(), (0..sets).map(|set| values[set / every % values.len()]).collect())
    };
    swept.iter().map(&mut one).collect()
}

/// The sets in words, for the picture.
fn labels(swept: &[(String, Vec<f64>)], sets: usize) -> Vec<String> {
    let all = product(swept, sets);
    (0..sets).map(|set| all.iter().map(|(n, v)| format!("{n}={}", number_text(v[set]))).collect::<Vec<_>>().join(" ")).collect()
}

/// Times from the start to `--until`, evenly spaced; those of a map are its steps.
fn until(model: &Compiled, args: &SimulateArgs, start: Option<f64>) -> Result<(Table, f64), Failure> {
    let to = args.until.ok_or_else(|| Failure::Usage("say how far: --until T, or at which times: --times TABLE".into()))?;
    let declared = model.program.time();
    let from = start.or(declared.and_then(|t| t.start)).unwrap_or(0.0);
    if !(to.is_finite() && to != from) {
        return Err(Failure::Usage(format!("--until {to} leaves nothing to simulate: the start holds at {from}")));
    }
    let step = args.step.or(declared.and_then(|t| t.step)).unwrap_or(1.0);
    let times: Vec<f64> = match model.program.kind() {
        ModelKind::Map if args.points.is_none() => {
            let count = ((to - from) / step + 1e-9).floor();
            if !(0.0..=1e8).contains(&count) {
                return Err(Failure::Usage(format!("--until {to} is {count} steps of {step} away from {from}")));
            }
            (0..=count as usize).map(|k| from + k as f64 * step).collect()
        }
        _ => {
            let steps = args.points.map_or(101, usize::from).max(2) - 1;
            if steps > MOST_POINTS {
                return Err(Failure::Usage(format!("--points {} is more than {MOST_POINTS}", steps + 1)));
            }
            (0..=steps).map(|k| if k == steps { to } else { from + (to - from) * (k as f64 / steps as f64) }).collect()
        }
    };
    let name = args.time.clone().or_else(|| declared.map(|t| t.name.clone())).unwrap_or_else(|| "t".into());
    let table = Table::new([(name, times)]).map_err(|d| Failure::plain(d.code, d.message, d.help))?;
    Ok((table, from))
}

/// The column of groups and the group of each row.
type Labels = (String, Vec<String>);

/// Writes the table; gives the names of its columns.
fn write(
    args: &SimulateArgs,
    format: Format,
    found: &Simulation,
    (swept, group): (&[(String, Vec<f64>)], Option<&Labels>),
    memory: usize,
) -> Result<Vec<String>, Failure> {
    let (rows, sets) = (found.times.len(), found.sets);
    let of_states = found.names();
    // Where a state is swept its start is meant, beside its values.
    let called = |name: &String| if of_states.contains(name) { format!("{name}.start") } else { name.clone() };
    let mut names: Vec<String> = swept.iter().map(|s| called(&s.0)).collect();
    let mut columns: Vec<Vec<f64>> =
        product(swept, sets).into_iter().map(|(_, v)| v.iter().flat_map(|x| vec![*x; rows]).collect()).collect();
    names.push(found.time.clone());
    columns.push((0..sets).flat_map(|_| found.times.iter().copied()).collect());
    columns.extend((0..of_states.len()).map(|k| found.column(k)));
    names.extend(of_states);
    let texts: Vec<String> = group.map(|g| g.0.clone()).into_iter().collect();
    let all: Vec<String> = texts.iter().chain(&names).cloned().collect();
    if let Some(twice) = (1..all.len()).find(|&k| all[..k].contains(&all[k])) {
        let message = format!("two columns of the table would be called `{}`", all[twice]);
        let help = "give the state, the observable or the time another name: columns are the groups, what is swept, the time, every state \
                    and every observable; where a state is swept, `x.start` is its start";
        return Err(Failure::plain("duplicate-column", message, Some(help.into())));
    }
    let target = Target::open(&args.out)?;
    let mut writer = Writer::alone(format, &target, &texts, &names, memory).map_err(|e| target.blame(e))?;
    let mut done = 0;
    while done < rows * sets {
        let now = (rows * sets - done).min(MOST_ROWS);
        let blocks = columns.iter().map(|c| (&c[done..done + now], 1)).collect();
        let labels = group.map(|(_, of_rows)| Rows::of_texts((done..done + now).map(|k| &of_rows[k % rows][..])));
        let chunk = labels.as_ref().map_or(Chunk::Bare(now), Chunk::Text);
        writer.write(chunk, done as u64, &Results { blocks, failed: Vec::new() }).map_err(|e| target.blame(e))?;
        done += now;
    }
    writer.finish().map_err(|e| target.blame(e))?;
    target.finish()?;
    Ok(all)
}
