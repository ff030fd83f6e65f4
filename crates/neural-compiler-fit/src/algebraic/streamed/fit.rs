//! Fits to rows that are not in memory. In: a program, the first rows, where all of them come from, options; out: a [`Fit`].
//!
//! The first pass looks for mistakes and counts, the second takes some rows along, on which the global search is done, as it is for
//! rows in memory; every evaluation after that is a pass. What needs all rows at once is refused before anything is read.

use super::blocks::{Block, Sample};
use super::fold::{Sum, add_all};
use super::problem::{Broken, Counts, Reading, Streamed, Tables, telling};
use crate::algebraic::fit::{search_on, searched};
use crate::algebraic::prepared::{left_out, no_value};
use crate::algebraic::{Algebraic, Engines};
use crate::data::bind;
use crate::data::rows::Rows;
use crate::data::table::{Table, in_range};
use crate::fit::{enough, no_constants, timed, wrong};
use crate::likelihood;
use crate::model::layout::{Layout, element_names};
use crate::optimise::effort::Effort;
use crate::optimise::linear::Linear;
use crate::optimise::loss::Loss;
use crate::optimise::search::Found;
use crate::optimise::{Residuals, Unusable, extent, sum_of};
use crate::options::Options;
use crate::report::summary::{Ended, Figures, Minimum, Sure, told};
use crate::report::{self, Axis, Fit, exact};
use crate::statistics::likelihood::{Lengths, Target};
use crate::statistics::poor;
use crate::statistics::uncertainty::{EXACT, Variance};
use crate::support::threads;
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::{Diagnostic, Diagnostics, Program};
use std::sync::Arc;

/// Whether a fit can be done on rows that are not in memory; else what needs them there.
pub fn streams(program: &Program, options: &Options<'_>) -> Result<(), Diagnostics> {
    let nets = || Layout::new(program, &options.values).is_ok_and(|l| l.weights() > 0);
    let scaled = |loss: Loss| loss != Loss::Squares && loss.scale() == 0.0;
    let needs = [
        (program.kind() != ModelKind::Expression, "a model with states needs its rows in memory", ""),
        (likelihood::is_wanted(program), "a likelihood that the model declares needs all rows in memory", ""),
        (nets(), "the training of nets needs all rows in memory", ""),
        (options.group.is_some(), "groups need all rows in memory", "a formula has none: leave them out"),
        (options.holdout.is_some(), "rows held out need all rows in memory", "fit some tables and predict the others"),
        (options.profile, "intervals by profile likelihood need all rows in memory", ""),
        (options.bootstrap.is_some(), "a bootstrap needs all rows in memory", ""),
        (options.loss.is_some_and(scaled), "to find the scale of a robust loss all residuals are needed at once", "give it: huber:0.5"),
    ];
    let one = |(_, why, help): &(bool, &str, &str)| {
        Diagnostic::error("needs-rows", Default::default(), *why).maybe_help((!help.is_empty()).then(|| help.to_string()))
    };
    let found: Vec<Diagnostic> = needs.iter().filter(|n| n.0).map(one).collect();
    if found.is_empty() { Ok(()) } else { Err(Diagnostics(found)) }
}

/// Fits a formula to rows that are not in memory. `first`: the first of them, with all columns, by which columns are chosen.
pub fn fit_rows(program: &Program, first: &Table, rows: &dyn Rows, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    options.check()?;
    streams(program, options)?;
    options.check_purpose(&[program])?;
    no_constants(program, first, options)?;
    let mut fit = timed(options, |options, effort| threads::on(options.threads, || fitted(program, first, rows, options, effort)))?;
    fit.warnings.extend(first.remark().map(str::to_string));
    Ok(fit)
}

fn fitted(program: &Program, first: &Table, rows: &dyn Rows, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Fit, Diagnostics> {
    let layout = Arc::new(Layout::new(program, &options.values)?);
    let bound = bind::algebraic(program, first, options)?;
    let graph = program.specialise(&bound.shapes)?;
    let targets = bind::target_columns(&bound, first, options, graph.outputs()[0])?;
    let engines = Arc::new(Engines::new(&graph, &layout).with_effort(effort));
    engines.check()?;
    let is_shared = |i: usize| layout.shared.iter().any(|s| s.input == i);
    let inputs: Vec<usize> = bound.shapes.iter().enumerate().map(|(i, s)| if is_shared(i) { 0 } else { s.len() }).collect();
    let read = program.inputs().iter().zip(&bound.shapes).enumerate().filter(|(i, _)| !is_shared(*i));
    let mut columns: Vec<String> = read.flat_map(|(_, (input, &shape))| element_names(&input.name, shape)).collect();
    columns.extend(targets.iter().chain(&options.sigma_column).chain(&options.weights_column).cloned());
    let mut seen = std::collections::HashSet::new();
    columns.retain(|c| seen.insert(c.clone()));
    let model = Algebraic::new(engines, layout.clone(), inputs.iter().map(|_| vec![]).collect(), vec![], vec![], 1);
    let reading = Reading { program, rows, options, columns, targets, inputs };
    let data = Data::read(&reading, effort)?;
    enough(&layout, data.counts.counted * reading.targets.len())?;
    let (sample, variations) = sampled(&reading, &model, &data, effort)?;
    let streamed = Streamed::new(reading, model, (data.counts, data.tables.clone()), data.units(), 2);
    let whole = (&streamed as &dyn Residuals, Algebraic::floor_of(data.squares.value()));
    let found = search_on(&graph, whole, &sample, &layout, data.known(options), options);
    streamed.error()?;
    let (found, loss) = found?;
    let fit = finish(&layout, &streamed, &sample, (&data, variations), (&found, loss));
    streamed.error()?;
    fit
}

/// What the first pass finds.
#[derive(Default)]
struct Data {
    counts: Counts,
    tables: Tables,
    /// Sums of the targets, and their smallest and largest numbers.
    sums: Vec<Sum>,
    ends: Vec<(f64, f64)>,
    /// The sum of squared weighted targets, and that of the logarithms of weights.
    squares: Sum,
    logarithms: Sum,
    /// The smallest and the largest weight.
    weights: Option<(f64, f64)>,
}

/// The same of a block.
struct Told {
    sums: Vec<f64>,
    ends: Vec<(f64, f64)>,
    squares: f64,
    logarithms: f64,
    weights: Option<(f64, f64)>,
}

impl Told {
    fn of(block: &Block) -> Told {
        let each = || block.target.chunks(block.rows);
        let weighted = |y: &[f64]| match block.weights.is_empty() {
            true => sum_of(y, y, |y, _| y * y),
            false => sum_of(y, &block.weights, |y, w| (y * w) * (y * w)),
        };
        Told {
            sums: each().map(|y| sum_of(y, y, |y, _| y)).collect(),
            ends: each().map(extent).collect(),
            squares: each().map(weighted).sum(),
            logarithms: block.weights.iter().map(|w| w.ln()).sum(),
            weights: (!block.weights.is_empty()).then(|| extent(&block.weights)),
        }
    }
}

fn wider(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

impl Data {
    /// The first pass: every mistake in the rows is found here.
    fn read(reading: &Reading<'_>, effort: &Effort) -> Result<Data, Diagnostics> {
        let mut data = Data { ends: vec![(f64::INFINITY, f64::NEG_INFINITY); reading.targets.len()], ..Data::default() };
        let fold = |told: Told| {
            add_all(&mut data.sums, &told.sums);
            data.ends.iter_mut().zip(told.ends).for_each(|(a, b)| *a = wider(*a, b));
            data.squares.add(told.squares);
            data.logarithms.add(told.logarithms);
            data.weights = told.weights.map(|w| data.weights.map_or(w, |known| wider(known, w)));
        };
        let passed = reading.pass(|block| Ok(Told::of(&block)), fold, telling(reading.options, 1, 0), true);
        (data.counts, data.tables) = passed.map_err(|why| broken(why, 1, reading.options, effort))?;
        let Counts { rows, without, counted, .. } = data.counts;
        match (rows, counted) {
            (0, _) => return Err(wrong("no-rows", "the data have no rows")),
            (_, 0) if without == rows => return Err(no_value(&reading.targets)),
            (_, 0) => crate::fit::some_weight(&[0.0], reading.options)?,
            _ => {}
        }
        let heaviest = data.weights.map_or(1.0, |w| w.1);
        reading.targets.iter().zip(&data.ends).try_for_each(|(name, ends)| in_range(name, *ends, heaviest))?;
        Ok(data)
    }

    /// What the numbers of each target are multiplied by before they are squared. Where there are weights, the range of numbers is judged
    /// with them, and squares without them may leave it: the largest is brought near 1, by a power of two, which changes no digit.
    fn units(&self) -> Vec<f64> {
        let one = |(low, high): &(f64, f64)| match (self.weights, low.abs().max(high.abs())) {
            (Some(_), largest) if largest > 0.0 => 2f64.powi((-largest.log2().floor()).clamp(-1000.0, 1000.0) as i32),
            _ => 1.0,
        };
        self.ends.iter().map(one).collect()
    }

    /// Whether the weights are those of known errors.
    fn known(&self, options: &Options<'_>) -> bool {
        options.sigma.is_some() || options.sigma_column.is_some()
    }
}

/// Why one of the passes before the search ended before its time.
fn broken(why: Broken, pass: usize, options: &Options<'_>, effort: &Effort) -> Diagnostics {
    let ended = |code, what: String, help: &str| {
        let message = format!("{what} in pass {pass} over the rows, before the search began: there are no values to keep yet");
        Diagnostic::error(code, Default::default(), message).help(help).into()
    };
    match (why, options.budget.filter(|_| effort.is_late())) {
        (Broken::Wrong(e), _) => e,
        (Broken::Unusable(e), _) => wrong("no-prediction", e.0),
        (Broken::Stopped, Some(budget)) => {
            ended("budget-ended", format!("the budget of {budget} s ended"), "give it more time, or fewer rows")
        }
        (Broken::Stopped, None) => {
            ended("stopped", "the fit was stopped".into(), "all rows are read twice before the search begins; fewer are read sooner")
        }
    }
}

/// The second pass: the rows the search is done on, and how much each target varies around its mean.
fn sampled(reading: &Reading<'_>, model: &Algebraic, data: &Data, effort: &Effort) -> Result<(Algebraic, Vec<f64>), Diagnostics> {
    let counted = data.counts.counted;
    let rows = searched(counted, reading.options.seed).unwrap_or_else(|| (0..counted).collect());
    let middles: Vec<(f64, f64)> = data.sums.iter().map(|s| s.value() / counted as f64).zip(data.units()).collect();
    let work = |block: Block| {
        let own = rows.partition_point(|&r| r < block.before)..rows.partition_point(|&r| r < block.before + block.rows);
        let own: Vec<usize> = rows[own].iter().map(|r| r - block.before).collect();
        let varied = |(y, &(mean, unit)): (&[f64], &(f64, f64))| sum_of(y, y, |y, _| ((y - mean) * unit) * ((y - mean) * unit));
        let variations: Vec<f64> = block.target.chunks(block.rows).zip(&middles).map(varied).collect();
        Ok(((!own.is_empty()).then_some((block, own)), variations))
    };
    let (mut sample, mut variations) = (Sample::new(&reading.inputs, reading.targets.len()), Vec::new());
    let fold = |(own, varied): (Option<(Block, Vec<usize>)>, Vec<f64>)| {
        own.iter().for_each(|(block, rows)| sample.add(block, rows));
        add_all(&mut variations, &varied);
    };
    let passed = reading.pass(work, fold, telling(reading.options, 2, data.counts.rows), true);
    let (counts, _) = passed.map_err(|why| broken(why, 2, reading.options, effort))?;
    data.counts.again(&counts)?;
    Ok((sample.block().model(model), variations.iter().zip(&middles).map(|(v, (_, unit))| v.value().sqrt() / unit).collect()))
}

/// What rows lie along: the only input there is, if it has one number.
fn axis(program: &Program, rows: &Algebraic) -> Option<Axis> {
    let mut read = program.inputs().iter().zip(rows.columns()).filter(|(_, column)| !column.is_empty());
    match (read.next(), read.next()) {
        (Some((input, values)), None) if values.len() == rows.rows() => {
            Some(Axis { name: input.name.clone(), values: values.clone(), trajectory: vec![] })
        }
        _ => None,
    }
}

/// Everything there is to say of a minimum.
fn finish(
    layout: &Layout,
    streamed: &Streamed<'_>,
    sample: &Algebraic,
    (data, variations): (&Data, Vec<f64>),
    (found, loss): (&Found, Loss),
) -> Result<Fit, Diagnostics> {
    let failed = |e: Unusable| wrong("no-prediction", e.0);
    let (best, options) = (&found.best, streamed.reading.options);
    let known = data.known(options);
    let squares = streamed.figures(&best.theta).map_err(failed)?;
    let robust = if loss == Loss::Squares { None } else { Some(streamed.pulled(&best.theta).map_err(failed)?) };
    let plain = if known { Variance::Known } else { Variance::Squares(squares.iter().map(|s| s.0).sum()) };
    let counted = robust.as_ref().map_or((&best.linear, plain), |(linear, variance)| (linear, *variance));
    let (mut residuals, mut jacobian) = (vec![0.0; sample.count()], vec![0.0; sample.count() * best.theta.len()]);
    sample.evaluate(&best.theta, &mut residuals, Some(&mut jacobian)).map_err(failed)?;
    let linear = Linear::new(residuals, jacobian);
    let observations = streamed.observations();
    let minimum = Minimum { problem: sample, linear: &linear, best, counted, observations, precision: EXACT };
    let mut sure: Sure = minimum.certainty(layout)?;
    let size = data.squares.value();
    if !known && best.cost <= Algebraic::floor_of(size) {
        exact::idle(layout, best, size.sqrt(), &mut sure.uncertainty, &mut sure.undetermined);
    }
    let n = data.counts.counted;
    let names = &streamed.reading.targets;
    let lengths = |(k, name): (usize, &String)| Lengths {
        name: name.clone(),
        scale: 0,
        n,
        largest: data.ends[k].0.abs().max(data.ends[k].1.abs()),
        residuals: squares[k].1.sqrt() / streamed.units[k],
        weighted: squares[k].0.sqrt(),
        variation: variations[k],
        logarithms: data.logarithms.value(),
    };
    let targets = names.iter().enumerate().map(lengths).collect();
    let one_error = data.weights.filter(|w| known && w.0 == w.1).map(|w| 1.0 / w.0);
    let figures = Figures { targets, held_out: vec![], known, one_error, spent: layout.len() as f64, likely: None };
    // Neighbours, and the median that says which of the data count for a robust loss, are those of the rows the search was done on.
    let (predicted, along) = (sample.predict(&best.theta).map_err(failed)?, axis(streamed.reading.program, sample));
    let each = || names.iter().zip(sample.target().chunks(sample.rows())).zip(predicted.chunks(sample.rows()));
    let some: Vec<Target<'_>> = each().map(|((name, observed), predicted)| Target { name, observed, predicted, scale: 0 }).collect();
    let poor = |columns: &[crate::Column], how: (f64, bool)| poor::remarks(&some, columns, sample.weights(), along.as_ref(), how);
    let mut fit = told(layout, Ended::of(found, &layout.names, loss, 1.0), figures, &poor, sure);
    fit.warnings.extend(left_out(names, data.counts.without, data.counts.rows));
    fit.streamed = Some(report::Streamed { rows: data.counts.rows, passes: streamed.passes() });
    Ok(fit)
}
