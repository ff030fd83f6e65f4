//! Fits of algebraic models. In: a program, a table, options; out: a [`Fit`]. Models with nets go on to `hybrid`.

use crate::algebraic::{Algebraic, Engines};
use crate::fit::{enough, solve, split, spread, weights, wrong};
use crate::layout::Layout;
use crate::least::Residuals;
use crate::least::search::{Found, Task};
use crate::options::Options;
use crate::report::Fit;
use crate::summary::{Compared, Ended, certainty, quality, summarise};
use crate::table::Table;
use crate::{Loss, affine, bind, hybrid, profile};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// A model with its data, split into rows to fit and rows held out.
pub(crate) struct Prepared {
    pub(crate) graph: Arc<Graph>,
    pub(crate) targets: Vec<String>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// All rows.
    pub(crate) all: Algebraic,
    kept: Vec<usize>,
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
        let observed: Vec<f64> = targets.iter().flat_map(|n| table.column(n).expect("it was checked").iter().copied()).collect();
        let engines = Arc::new(Engines::new(&graph, layout)?);
        let all = Algebraic::new(engines, layout.clone(), bound.columns, observed, weights, rayon::current_num_threads());
        let (kept, held_out) = split(all.rows(), options)?;
        Ok(Prepared { graph, targets, known, all, kept, held_out })
    }

    /// The rows to fit, and those held out if there are any; for some of the numbers, the others being held where they are.
    pub(crate) fn problems(&self, layout: &Arc<Layout>) -> Result<(Algebraic, Option<Algebraic>), Diagnostics> {
        let engines = Arc::new(Engines::new(&self.graph, layout)?);
        let part = |rows: &[usize]| self.all.sample(rows).with(engines.clone(), layout.clone());
        let whole = if self.held_out.is_empty() { self.all.sample(&self.kept).with(engines.clone(), layout.clone()).threaded() } else { part(&self.kept) };
        Ok((whole, (!self.held_out.is_empty()).then(|| part(&self.held_out))))
    }

    /// Data and predictions of all rows; those held out are not compared.
    pub(crate) fn compared(&self, theta: &[f64], spent: f64) -> Result<Compared, Diagnostics> {
        let predicted = self.all.predict(theta).map_err(|e| wrong("no-prediction", e.0))?;
        let mut observed = self.all.target().to_vec();
        for part in observed.chunks_mut(self.all.rows()) {
            self.held_out.iter().for_each(|&i| part[i] = f64::NAN);
        }
        Ok(Compared { targets: self.targets.clone(), observed, predicted, known: self.known, axis: None, spent })
    }

    /// How well the rows held out are explained.
    pub(crate) fn on_held_out(&self, predicted: &[f64]) -> Option<(f64, f64)> {
        let pick = |all: &[f64]| all.chunks(self.all.rows()).flat_map(|part| self.held_out.iter().map(|&i| part[i])).collect::<Vec<f64>>();
        (!self.held_out.is_empty()).then(|| quality(self.targets.len(), &pick(self.all.target()), &pick(predicted)))
    }
}

pub(crate) fn fit(program: &Program, table: &Table, options: &Options<'_>) -> Result<Fit, Diagnostics> {
    let layout = Arc::new(Layout::new(program, &options.values)?);
    let prepared = Prepared::new(program, table, options, &layout)?;
    if layout.weights() > 0 {
        return hybrid::algebraic::fit(program, &prepared, &layout, options);
    }
    let (whole, _) = prepared.problems(&layout)?;
    enough(&layout, whole.count())?;
    let (found, loss) = search(&prepared.graph, &whole, &layout, options)?;
    let uncertainty = certainty(&layout, &found.best, loss, prepared.known);
    let compared = prepared.compared(&found.best.theta, layout.len() as f64)?;
    let mut fit = summarise(&layout, Ended::of(&found), compared, uncertainty);
    fit.holdout = prepared.on_held_out(&fit.predicted);
    if options.profile {
        let ends = profile::intervals(&whole, &found.best, &layout.bounds, loss, &fit.uncertainty);
        fit.parameters.iter_mut().zip(ends).for_each(|(p, e)| p.profile = e);
    }
    Ok(fit)
}

/// The global search over the free numbers of a layout.
pub(crate) fn search(graph: &Graph, whole: &Algebraic, layout: &Layout, options: &Options<'_>) -> Result<(Found, Loss), Diagnostics> {
    let sample = (whole.rows() > 2 * SEARCH_ROWS).then(|| whole.sample(&spread(whole.rows(), SEARCH_ROWS, options.seed)));
    let small: &dyn Residuals = sample.as_ref().map_or(whole, |s| s);
    let affine = affine::jointly_affine(graph, &layout.free_inputs());
    let linear: Vec<usize> = layout.shared.iter().filter(|s| affine.contains(&s.input)).flat_map(|s| s.at.map_or(0..0, |at| at..at + s.shape.len())).collect();
    let size: f64 = whole.target().iter().zip(whole.weights().iter().cycle().chain(std::iter::repeat(&1.0))).map(|(y, w)| (y * w) * (y * w)).sum();
    let task = Task { whole, sample: small, start: &layout.start, bounds: &layout.bounds, linear: &linear, floor: 1e-28 * size, also: &[], hints: &[] };
    let screened = (3_000_000 / (small.count() * (1 + layout.len()))).clamp(256, 2048);
    solve(&task, options, (32, 8, screened))
}
