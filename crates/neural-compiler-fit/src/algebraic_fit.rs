//! Fits of algebraic models. In: a program, a table, options; out: a [`Fit`]. Models with nets go on to `hybrid`.

use crate::algebraic::{Algebraic, Engines};
use crate::fit::{enough, solve, split, spread, weights, wrong};
use crate::layout::Layout;
use crate::least::Residuals;
use crate::least::search::{Found, Task};
use crate::options::Options;
use crate::report::{Axis, Fit};
use crate::summary::{Compared, Ended, certainty, quality, summarise};
use crate::table::Table;
use crate::{Loss, affine, bind, first_try, hybrid, memory, profile, threads};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// A model with its data, split into rows to fit and rows held out.
pub(crate) struct Prepared {
    pub(crate) graph: Arc<Graph>,
    pub(crate) targets: Vec<String>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// The only input, where there is but one: its name and place.
    only: Option<(String, usize)>,
    /// All rows.
    pub(crate) all: Algebraic,
    held_out: Vec<usize>,
}

/// Rows used by the global search; the rest join in the end.
const SEARCH_ROWS: usize = 1500;

impl Prepared {
    fn new(program: &Program, table: &Table, options: &Options<'_>, layout: &Arc<Layout>) -> Result<Prepared, Diagnostics> {
        let bound = bind::algebraic(program, table, options)?;
        let graph = program.specialise(&bound.shapes)?;
        let targets = bind::target_columns(&bound, table, options, graph.outputs()[0])?;
        let (weights, known) = weights(table, options)?;
        let observed = memory::joined(&targets.iter().map(|n| table.column(n).expect("it was checked")).collect::<Vec<_>>());
        let mut read = program.inputs().iter().zip(&bound.columns).enumerate().filter(|(_, (_, c))| !c.is_empty());
        let only = match (read.next(), read.next()) {
            (Some((place, (input, values))), None) if values.len() == table.rows() => Some((input.name.clone(), place)),
            _ => None,
        };
        let engines = Arc::new(Engines::new(&graph, layout));
        engines.check()?;
        let all = Algebraic::new(engines, layout.clone(), bound.columns, observed, weights, threads::count(options.threads));
        let held_out = split(all.rows(), options)?;
        Ok(Prepared { graph, targets, known, only, all, held_out })
    }

    /// The rows to fit, and those held out if there are any; for some of the numbers, the others being held where they are.
    pub(crate) fn problems(&self, layout: &Arc<Layout>) -> (Algebraic, Option<Algebraic>) {
        let all = self.all.with(layout);
        if self.held_out.is_empty() {
            return (all, None);
        }
        let kept: Vec<usize> = (0..all.rows()).filter(|i| self.held_out.binary_search(i).is_err()).collect();
        (all.sample(&kept), Some(all.sample(&self.held_out)))
    }

    /// Data and predictions of all rows; those held out are not compared.
    pub(crate) fn compared(&self, theta: &[f64], spent: f64) -> Result<Compared, Diagnostics> {
        let predicted = self.all.predict(theta).map_err(|e| wrong("no-prediction", e.0))?;
        let mut observed = self.all.target().to_vec();
        for part in observed.chunks_mut(self.all.rows()) {
            self.held_out.iter().for_each(|&i| part[i] = f64::NAN);
        }
        let axis = self.only.as_ref().map(|(name, place)| Axis { name: name.clone(), values: self.all.columns()[*place].clone(), trajectory: vec![] });
        Ok(Compared { targets: self.targets.clone(), observed, predicted, known: self.known, axis, spent })
    }

    /// How well the rows held out are explained.
    pub(crate) fn on_held_out(&self, predicted: &[f64]) -> Option<(f64, f64)> {
        let pick = |all: &[f64]| all.chunks(self.all.rows()).flat_map(|part| self.held_out.iter().map(|&i| part[i])).collect::<Vec<f64>>();
        (!self.held_out.is_empty()).then(|| quality(self.targets.len(), &pick(self.all.target()), &pick(predicted)))
    }
}

/// A model with its data and free numbers.
struct Posed {
    layout: Arc<Layout>,
    prepared: Prepared,
}

impl Posed {
    fn new(program: &Program, table: &Table, options: &Options<'_>) -> Result<Posed, Diagnostics> {
        let layout = Arc::new(Layout::new(program, &options.values)?);
        let prepared = Prepared::new(program, table, options, &layout)?;
        Ok(Posed { layout, prepared })
    }

    /// Everything there is to say of a minimum.
    fn finish(&self, whole: &Algebraic, found: &Found, loss: Loss, options: &Options<'_>) -> Result<Fit, Diagnostics> {
        let Posed { layout, prepared } = self;
        let uncertainty = certainty(layout, &found.best, loss, prepared.known);
        let compared = prepared.compared(&found.best.theta, layout.len() as f64)?;
        let mut fit = summarise(layout, Ended::of(found), compared, uncertainty);
        fit.holdout = prepared.on_held_out(&fit.predicted);
        if options.profile {
            let ends = profile::intervals(whole, &found.best, &layout.bounds, loss, &fit.uncertainty);
            fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
        }
        Ok(fit)
    }
}

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let posed = Posed::new(program, table, options)?;
    let Posed { layout, prepared } = &posed;
    if layout.weights() > 0 {
        return threads::on(options.threads, || hybrid::algebraic::fit(program, prepared, layout, options));
    }
    let (whole, _) = prepared.problems(layout);
    enough(layout, whole.count())?;
    if let Some(found) = first_try::follow(&whole, layout, options)
        && !options.profile
    {
        return posed.finish(&whole, &found, Loss::Squares, options);
    }
    threads::on(options.threads, || {
        let (found, loss) = search(&prepared.graph, &whole, layout, options)?;
        posed.finish(&whole, &found, loss, options)
    })
}

/// The fit, if the first try is enough.
pub(crate) fn fit_at_once(program: &Program, table: &Table, options: &Options<'_>) -> Option<Fit> {
    if options.profile || !first_try::is_short(table.rows()) {
        return None;
    }
    let posed = Posed::new(program, table, options).ok()?;
    let (whole, _) = posed.prepared.problems(&posed.layout);
    if posed.layout.weights() > 0 {
        return None;
    }
    enough(&posed.layout, whole.count()).ok()?;
    let found = first_try::follow(&whole, &posed.layout, options)?;
    posed.finish(&whole, &found, Loss::Squares, options).ok()
}

/// The global search over the free numbers of a layout.
pub(crate) fn search(graph: &Graph, whole: &Algebraic, layout: &Layout, options: &Options<'_>) -> Result<(Found, Loss), Diagnostics> {
    let brief = (options.starts == Some(1) && first_try::is_brief(whole.rows())).then(|| whole.for_a_moment());
    let whole = brief.as_ref().unwrap_or(whole);
    let sample = (whole.rows() > 2 * SEARCH_ROWS).then(|| whole.sample(&spread(whole.rows(), SEARCH_ROWS, options.seed)));
    let small: &dyn Residuals = sample.as_ref().map_or(whole, |s| s);
    let affine = affine::jointly_affine(graph, &layout.free_inputs());
    let linear: Vec<usize> = layout.shared.iter().filter(|s| affine.contains(&s.input)).flat_map(|s| s.at.map_or(0..0, |at| at..at + s.shape.len())).collect();
    let task = Task { whole, sample: small, start: &layout.start, bounds: &layout.bounds, linear: &linear, floor: whole.floor(), also: &[], hints: &[] };
    let screened = (3_000_000 / (small.count() * (1 + layout.len()))).clamp(256, 2048);
    solve(&task, options, (32, 8, screened))
}
