//! `neuralc bench`: how long a program takes. In: a program, and a table or ranges for its inputs; out: the time to compile it, and
//! per call and per lane for batches of several sizes.
//!
//! Invariants: what is timed is the engine `neuralc eval` uses, on memory that is there already; the best round counts; a batch that
//! does not fit the memory limit is an error before anything is allocated.

use crate::args::BenchArgs;
use crate::context::{Context, Failure};
use crate::core::Compiled;
use crate::feeds::{self, Feed};
use crate::inputs;
use crate::table::{self, Reader};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, Workspace};
use neural_compiler::graph::Graph;
use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::syntax::ast::InputKind;
use neural_compiler::{Diagnostic, Shape};
use serde_json::json;
use std::time::{Duration, Instant};

/// Values are spread over this range when nobody gives one: no zero to divide by, nothing negative under a root.
const RANGE: (f64, f64) = (0.5, 2.0);
/// Rounds for each size of batch, unless they take longer than `PATIENCE`.
const ROUNDS: usize = 50;
const PATIENCE: Duration = Duration::from_millis(400);
/// A round repeats the call until it has taken about this long, so that the clock can tell.
const ROUND: Duration = Duration::from_micros(500);

pub(crate) fn run(context: &mut Context, args: &BenchArgs) -> Result<u8, Failure> {
    if args.data.as_deref() == Some("-") && args.source.file.as_deref() == Some("-") {
        return Err(Failure::Usage("the program and the table cannot both come from standard input".into()));
    }
    let source = context.source(args.source.file.as_deref(), args.source.expression.as_deref())?;
    let program = Compiled::new(context, source)?;
    let values = match &args.data {
        Some(path) => from_table(&program, args, path)?,
        None => from_ranges(&program, args)?,
    };
    let report = match args.dtype.0 {
        Dtype::F32 => measure::<f32>(context, args, &program, &values)?,
        Dtype::F64 => measure::<f64>(context, args, &program, &values)?,
    };
    report.print(context, args, &program, &values)?;
    Ok(Failure::FINE)
}

/// The values of one input.
enum Values {
    /// The same for all lanes.
    Shared(Shape, Vec<f64>),
    /// For each number of the input a list of values, repeated until the batch is full.
    Listed(Shape, Vec<Vec<f64>>),
    /// Spread evenly over a range.
    Spread(Shape, (f64, f64)),
}

impl Values {
    fn shape(&self) -> Shape {
        match self {
            Values::Shared(shape, _) | Values::Listed(shape, _) | Values::Spread(shape, _) => *shape,
        }
    }

    fn shared(&self) -> bool {
        matches!(self, Values::Shared(..))
    }

    /// Numbers for a batch: of an input's first number for all lanes, then of its second, …
    fn fill<T: Real>(&self, input: usize, lanes: usize) -> Vec<T> {
        match self {
            Values::Shared(_, numbers) => numbers.iter().map(|&x| T::from_f64(x)).collect(),
            Values::Listed(_, lists) => lists.iter().flat_map(|list| list.iter().cycle().take(lanes).map(|&x| T::from_f64(x))).collect(),
            Values::Spread(shape, (low, high)) => {
                // Multiples of an irrational number, without their integer part, fill a range evenly whatever their number.
                let golden = 0.618_033_988_749_894_8;
                let at = |k: usize| {
                    move |i: usize| ((i + 1) as f64 * golden + (input * 31 + k) as f64 * std::f64::consts::FRAC_1_SQRT_2).fract()
                };
                (0..shape.len()).flat_map(|k| (0..lanes).map(at(k)).map(|x| T::from_f64(low + (high - low) * x))).collect()
            }
        }
    }
}

/// The rows of a table, all of them.
fn from_table(program: &Compiled, args: &BenchArgs, path: &str) -> Result<Vec<Values>, Failure> {
    let mut reader = Reader::open(path, &args.table)?;
    let names = reader.columns().to_vec();
    let feeds = feeds::feeds(program, &names, feeds::sets(program, &args.sets)?)?;
    let most = table::rows_for(names.len());
    let mut lists: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    let mut buffer = vec![0.0; most];
    let used: Vec<usize> =
        feeds.iter().flat_map(|f| if let Feed::Columns { columns, .. } = f { columns.clone() } else { Vec::new() }).collect();
    let largest = args.batches.iter().max().map_or(0, |b| b.get());
    let mut rows = 0;
    // Rows beyond the largest batch would not be used.
    while let Some(chunk) = if rows < largest { reader.next(most)? } else { None } {
        for &column in &used {
            let out = &mut buffer[..chunk.rows()];
            if let Some(e) = chunk.numbers(column, out, 1).first() {
                return Err(e.failure(&chunk.place(rows as u64, e.row), &names[column]));
            }
            lists[column].extend_from_slice(out);
        }
        rows += chunk.rows();
    }
    if rows == 0 && !used.is_empty() {
        return Err(Failure::plain("empty-table", format!("`{path}` has no rows"), None));
    }
    Ok(feeds
        .into_iter()
        .map(|feed| match feed {
            Feed::Shared((shape, numbers)) => Values::Shared(shape, numbers),
            Feed::Columns { shape, columns, .. } => Values::Listed(shape, columns.iter().map(|&c| lists[c].clone()).collect()),
        })
        .collect())
}

/// What --set and declarations say; for the other inputs, a range.
fn from_ranges(program: &Compiled, args: &BenchArgs) -> Result<Vec<Values>, Failure> {
    let mut sets = feeds::sets(program, &args.sets)?;
    let shapes: Vec<(String, Shape)> = sets.iter().map(|(n, v)| (n.clone(), v.0)).chain(args.shapes.iter().cloned()).collect();
    let inputs = program.program.inputs();
    let Some(shapes) = inputs::shapes(program, &shapes)? else {
        let open: Vec<_> = inputs
            .iter()
            .zip(program.program.input_shapes())
            .filter(|(i, s)| s.known().is_none() && !shapes.iter().any(|(n, _)| *n == i.name))
            .collect();
        let mistake = |name: &str, span| {
            Diagnostic::error("shape-unknown", span, format!("the program leaves the size of `{name}` open"))
                .help(format!("give it one: --shape {name}=SIZE"))
        };
        return Err(Failure::Wrong(program.source.clone(), open.iter().map(|(i, _)| mistake(&i.name, i.span)).collect()));
    };
    let ranges = inputs::ranges(program, &args.ranges)?;
    let given = |name: &str| args.ranges.iter().any(|(n, _)| n == name);
    if let Some((name, _)) = args.ranges.iter().find(|(_, (low, high))| !low.is_finite() || !high.is_finite()) {
        return Err(Failure::Usage(format!("values cannot be spread over an infinite range: `{name}`")));
    }
    Ok(inputs
        .iter()
        .zip(shapes)
        .zip(ranges)
        .map(|((input, shape), range)| match (&input.kind, sets.remove(&input.name)) {
            (_, Some((shape, numbers))) => Values::Shared(shape, numbers),
            (InputKind::Param(info), None) if !given(&input.name) => Values::Shared(shape, info.initial.clone()),
            (InputKind::Param(_) | InputKind::State(_) | InputKind::Free | InputKind::Declared, None) => {
                Values::Spread(shape, range.filter(|_| given(&input.name)).unwrap_or(RANGE))
            }
            (InputKind::Weight { .. }, None) => Values::Shared(shape, (0..shape.len()).map(|k| (k as f64).sin()).collect()),
        })
        .collect())
}

/// What was measured.
struct Report {
    compile: Duration,
    prepare: Duration,
    batches: Vec<Batch>,
}

struct Batch {
    lanes: usize,
    call: Duration,
    failed: usize,
}

fn measure<T: Real>(context: &Context, args: &BenchArgs, program: &Compiled, values: &[Values]) -> Result<Report, Failure> {
    let shapes: Vec<Shape> = values.iter().map(Values::shape).collect();
    let uniform: Vec<bool> = values.iter().map(Values::shared).collect();
    let wrt: Vec<usize> = (0..values.len()).filter(|&i| !uniform[i]).collect();
    let graph = |program: &Compiled| -> Result<Graph, Failure> {
        let graph = program.specialise(&shapes)?;
        if args.grad { program.gradient(&graph, &wrt) } else { Ok((*graph).clone()) }
    };
    let whole = graph(program)?;
    let engine = Engine::new(&whole, &uniform);
    let (outputs, options) = (
        whole.outputs(),
        BatchOptions { run: RunOptions { limits: context.limits, trap: false }, threads: args.threads.get(), ..BatchOptions::default() },
    );
    let bar = ProgressBar::new(1 + args.batches.len() as u64)
        .with_style(ProgressStyle::with_template("{wide_bar} {pos} of {len}").expect("the template is right"))
        .with_finish(ProgressFinish::AndClear);
    let compile = best(|| Compiled::new(context, program.source.clone()).and_then(|p| graph(&p)).map(drop))?;
    let prepare = best(|| {
        std::hint::black_box(Engine::new(&whole, &uniform));
        Ok(())
    })?;
    bar.inc(1);
    let mut batches = Vec::new();
    for lanes in args.batches.iter().map(|b| b.get()) {
        let varying: usize = values.iter().filter(|v| !v.shared()).map(|v| v.shape().len()).sum();
        let numbers = varying + outputs.iter().map(|s| s.len()).sum::<usize>();
        if numbers.saturating_mul(lanes).saturating_mul(size_of::<T>()) > context.limits.memory_bytes {
            let message = format!("{lanes} lanes of {numbers} numbers take more than {} bytes", context.limits.memory_bytes);
            return Err(Failure::program(&program.source, Diagnostic::error("limit-memory", Default::default(), message).into()));
        }
        let data: Vec<Vec<T>> = values.iter().enumerate().map(|(i, v)| v.fill(i, lanes)).collect();
        let column = |(data, &shared)| if shared { Column::shared(data) } else { Column { data, lane_stride: 1, element_stride: lanes } };
        let columns: Vec<Column<'_, T>> = data.iter().map(|d| &d[..]).zip(&uniform).map(column).collect();
        let mut results: Vec<Vec<T>> = outputs.iter().map(|s| vec![T::ZERO; s.len() * lanes]).collect();
        let mut buffers: Vec<&mut [T]> = results.iter_mut().map(|r| &mut r[..]).collect();
        let mut workspace = Workspace::new();
        let mut failed = 0;
        let call = best(|| {
            failed =
                engine.run(&mut workspace, &columns, lanes, &mut buffers, &options).map_err(|e| Failure::run(&program.source, e))?.len();
            Ok(())
        })?;
        batches.push(Batch { lanes, call, failed });
        bar.inc(1);
    }
    Ok(Report { compile, prepare, batches })
}

/// The time of one call: the best of several rounds.
fn best(mut call: impl FnMut() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let mut round = |times: u32| -> Result<Duration, Failure> {
        let start = Instant::now();
        (0..times).try_for_each(|_| call())?;
        Ok(start.elapsed())
    };
    let (mut times, mut spent) = (1, round(1)?);
    while spent < ROUND / 2 {
        times = (times * 10).min((ROUND.as_nanos() / spent.div_f64(times.into()).as_nanos().max(1)) as u32).max(times + 1);
        spent = round(times)?;
    }
    let (start, mut shortest) = (Instant::now(), spent);
    for _ in 0..ROUNDS {
        if start.elapsed() > PATIENCE {
            break;
        }
        shortest = shortest.min(round(times)?);
    }
    Ok(shortest.div_f64(times.into()))
}

impl Report {
    fn print(&self, context: &mut Context, args: &BenchArgs, program: &Compiled, values: &[Values]) -> Result<(), Failure> {
        let varying = values.iter().filter(|v| !v.shared()).count();
        if context.json {
            let batches: Vec<_> = self
                .batches
                .iter()
                .map(|b| (b, b.call.as_secs_f64()))
                .map(|(b, call)| json!({"lanes": b.lanes, "call_seconds": call, "lane_seconds": call / b.lanes as f64, "failed": b.failed}))
                .collect();
            return context.print_json(&json!({
                "program": program.source.name,
                "inputs": {"varying": varying, "shared": values.len() - varying},
                "gradient": args.grad,
                "dtype": args.dtype.0.name(),
                "threads": args.threads,
                "compile_seconds": self.compile.as_secs_f64(),
                "prepare_seconds": self.prepare.as_secs_f64(),
                "batches": batches,
            }));
        }
        let what = if args.grad { "value and gradient" } else { "value" };
        let threads = if args.threads.get() == 1 { "1 thread".into() } else { format!("{} threads", args.threads) };
        let mut text = format!("{}: {what}, {}, {threads}\n", program.source.name, args.dtype.0.name());
        text += &format!("inputs   {varying} varying, {} shared\n", values.len() - varying);
        text += &format!("compile  {}\nprepare  {}\n\n", duration(self.compile.as_secs_f64()), duration(self.prepare.as_secs_f64()));
        text += &format!("{:>10}  {:>10}  {:>10}  {:>12}\n", "batch", "per call", "per lane", "lanes per s");
        for b in &self.batches {
            let (call, lanes) = (b.call.as_secs_f64(), b.lanes as f64);
            let failed = if b.failed == 0 { String::new() } else { format!("  {} lanes failed", b.failed) };
            text +=
                &format!("{:>10}  {:>10}  {:>10}  {:>12}{failed}\n", b.lanes, duration(call), duration(call / lanes), rate(lanes / call));
        }
        context.print(&text)
    }
}

/// Three digits and a unit.
fn duration(seconds: f64) -> String {
    scaled(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps")])
}

fn rate(per_second: f64) -> String {
    scaled(per_second, &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")])
}

fn scaled(x: f64, units: &[(f64, &str)]) -> String {
    let (unit, name) = units.iter().copied().find(|(unit, _)| x >= 0.9995 * unit).unwrap_or(units[units.len() - 1]);
    let digits = x / unit;
    let places = if digits < 9.995 { 2 } else { usize::from(digits < 99.95) };
    format!("{digits:.places$} {name}").trim_end().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(duration(1.234e-6), "1.23 µs");
        assert_eq!(duration(12.34e-9), "12.3 ns");
        assert_eq!(duration(0.9999e-3), "1.00 ms");
        assert_eq!(duration(123.4), "123 s");
        assert_eq!(duration(0.0), "0.00 ps");
        assert_eq!((rate(2.5e9), rate(999.0), rate(1e3)), ("2.50 G".into(), "999".into(), "1.00 k".into()));
    }

    #[test]
    fn values_are_spread_evenly_over_their_range() {
        let column: Vec<f64> = Values::Spread(Shape::Scalar, (-1.0, 3.0)).fill(0, 1000);
        assert!(column.iter().all(|x| (-1.0..=3.0).contains(x)));
        let quarter = |q: f64| column.iter().filter(|&&x| x >= q && x < q + 1.0).count();
        assert!([-1.0, 0.0, 1.0, 2.0].iter().all(|&q| quarter(q).abs_diff(250) <= 5));
        assert_ne!(
            Values::Spread(Shape::Scalar, (0.0, 1.0)).fill::<f64>(0, 9),
            Values::Spread(Shape::Scalar, (0.0, 1.0)).fill::<f64>(1, 9)
        );
    }

    #[test]
    fn rows_are_repeated() {
        let two = Values::Listed(Shape::Vector(2), vec![vec![1.0, 2.0], vec![3.0, 4.0]]);
        assert_eq!(two.fill::<f32>(0, 3), [1.0, 2.0, 1.0, 3.0, 4.0, 3.0]);
    }
}
