//! A formula and its data, ready to be fitted. In: a program, a table, options; out: its graph, its columns, its free numbers, and which
//! rows are held out.

use crate::algebraic::{Algebraic, Engines};
use crate::data::bind::{self, Bound};
use crate::data::table::Table;
use crate::fit::{some_weight, split, weights_of_part, wrong};
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::options::Options;
use crate::report::summary::Compared;
use crate::report::{Axis, Fit};
use crate::support::{memory, threads};
use neural_compiler::graph::Graph;
use neural_compiler::{Diagnostics, Program};
use std::sync::Arc;

/// A model with its data, split into rows to fit and rows held out.
pub(crate) struct Prepared {
    /// Its free numbers.
    pub(crate) layout: Arc<Layout>,
    pub(crate) graph: Arc<Graph>,
    pub(crate) targets: Vec<String>,
    /// Whether the weights are those of known errors.
    pub(crate) known: bool,
    /// The only input, where there is but one: its name and place.
    only: Option<(String, usize)>,
    /// The column of groups with the group of each row and how many there are.
    groups: Option<(String, Vec<usize>, usize)>,
    /// All rows.
    pub(crate) all: Algebraic,
    held_out: Vec<usize>,
    /// Rows that have no value to explain, in order.
    without: Vec<usize>,
}

/// What rows are compared with, and how strongly they count.
pub(super) struct Compare {
    /// Target by target.
    pub(super) observed: Vec<f64>,
    /// Rows that have no value to explain, in order.
    pub(super) without: Vec<usize>,
    pub(super) weights: Vec<f64>,
    /// Whether these are those of known errors.
    pub(super) known: bool,
}

impl Compare {
    /// Of a table, or a part of one; an error for every number that is needed and not there.
    pub(super) fn read(
        program: &Program,
        bound: &Bound,
        targets: &[String],
        table: &Table,
        options: &Options<'_>,
    ) -> Result<Compare, Diagnostics> {
        let without = table.rows_without(targets)?;
        bind::complete(program, bound, table, &without)?;
        let (weights, known) = weights_of_part(table, options, &without)?;
        let observed = memory::joined(&targets.iter().map(|n| table.column(n).expect("it was checked")).collect::<Vec<_>>());
        Ok(Compare { observed, without, weights, known })
    }
}

pub(super) fn no_value(targets: &[String]) -> Diagnostics {
    wrong("no-target", format!("the column `{}` has no value at all", targets[0]))
}

/// Says how many rows have nothing to explain.
pub(super) fn left_out(targets: &[String], without: usize, rows: usize) -> Option<String> {
    let names = targets.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
    (without > 0).then(|| format!("{without} of {rows} rows have no value of {names} and were left out"))
}

impl Prepared {
    pub(crate) fn new(program: &Program, table: &Table, options: &Options<'_>, effort: &Arc<Effort>) -> Result<Prepared, Diagnostics> {
        let layout = Arc::new(Layout::new(program, &options.values)?);
        let bound = bind::algebraic(program, table, options)?;
        let graph = program.specialise(&bound.shapes)?;
        let targets = bind::target_columns(&bound, table, options, graph.outputs()[0])?;
        let Compare { observed, without, weights, known } = Compare::read(program, &bound, &targets, table, options)?;
        if without.len() == table.rows() {
            return Err(no_value(&targets));
        }
        some_weight(&weights, options)?;
        let heaviest = weights.iter().copied().reduce(f64::max).unwrap_or(1.0);
        targets.iter().try_for_each(|t| table.squares(t, heaviest))?;
        let mut read = program.inputs().iter().zip(&bound.columns).enumerate().filter(|(_, (_, c))| !c.is_empty());
        let only = match (read.next(), read.next()) {
            (Some((place, (input, values))), None) if values.len() == table.rows() => Some((input.name.clone(), place)),
            _ => None,
        };
        let engines = Arc::new(Engines::new(&graph, &layout).with_effort(effort));
        engines.check()?;
        let all = Algebraic::new(engines, layout.clone(), bound.columns, observed, weights, threads::count(options.threads));
        let held_out = split(all.rows(), options);
        let groups = options.group.as_ref().map(|name| {
            let (of, count) = table.groups(name);
            (name.clone(), of, count)
        });
        Ok(Prepared { layout, graph, targets, known, only, groups, all, held_out, without })
    }

    /// The rows to fit, and those held out if there are any; for some of the numbers, the others being held where they are. Rows of weight
    /// 0 are in neither: as residuals of 0 they would count among those that tell how large most residuals are.
    pub(crate) fn problems(&self, layout: &Arc<Layout>) -> (Algebraic, Option<Algebraic>) {
        let all = self.all.with(layout);
        if self.held_out.is_empty() && self.without.is_empty() && !all.weights().contains(&0.0) {
            return (all, None);
        }
        let there = |i: &usize| self.without.binary_search(i).is_err() && all.weights().get(*i) != Some(&0.0);
        let kept: Vec<usize> = (0..all.rows()).filter(|i| self.held_out.binary_search(i).is_err() && there(i)).collect();
        let held_out: Vec<usize> = self.held_out.iter().copied().filter(there).collect();
        let rest = (!held_out.is_empty()).then(|| all.sample(&held_out));
        (all.part(&kept), rest)
    }

    /// Says how many rows have nothing to explain.
    pub(crate) fn tell(&self, fit: &mut Fit) {
        fit.warnings.extend(left_out(&self.targets, self.without.len(), self.all.rows()));
    }

    /// What groups mean to a formula, in words.
    pub(crate) fn about_groups(&self) -> Option<String> {
        let (name, _, count) = self.groups.as_ref()?;
        Some(format!("a formula has no trajectories: the {count} groups of `{name}` share every parameter, as they would without --group"))
    }

    /// Data and predictions of all rows; those held out are not compared.
    pub(crate) fn compared(&self, theta: &[f64], spent: f64) -> Result<Compared, Diagnostics> {
        let predicted = self.predicted(theta)?;
        let mut observed = self.all.target().to_vec();
        let mut held_out = if self.held_out.is_empty() { vec![] } else { vec![f64::NAN; observed.len()] };
        for (part, out) in observed.chunks_mut(self.all.rows()).zip(held_out.chunks_mut(self.all.rows())) {
            self.held_out.iter().for_each(|&i| std::mem::swap(&mut part[i], &mut out[i]));
        }
        let trajectory = self.groups.as_ref().map_or(vec![], |g| g.1.clone());
        let axis =
            self.only.as_ref().map(|(name, place)| Axis { name: name.clone(), values: self.all.columns()[*place].clone(), trajectory });
        let (targets, weights, scales) = (self.targets.clone(), self.all.weights().to_vec(), vec![0; self.targets.len()]);
        Ok(Compared { targets, observed, predicted, known: self.known, weights, scales, axis, held_out, spent, likely: None })
    }

    /// Predictions for all rows; NaN for rows that have nothing to explain and lack an input besides.
    fn predicted(&self, theta: &[f64]) -> Result<Vec<f64>, Diagnostics> {
        let failed = |e: crate::optimise::Unusable| wrong("no-prediction", e.0);
        let rows = self.all.rows();
        let lacks = |row: &usize| self.all.columns().iter().flat_map(|c| c.chunks(rows)).any(|part| !part[*row].is_finite());
        let lacking: Vec<usize> = self.without.iter().copied().filter(lacks).collect();
        if lacking.is_empty() {
            return self.all.predict(theta).map_err(failed);
        }
        let kept: Vec<usize> = (0..rows).filter(|i| lacking.binary_search(i).is_err()).collect();
        let some = self.all.part(&kept).predict(theta).map_err(failed)?;
        let mut predicted = vec![f64::NAN; self.all.target().len()];
        for (part, found) in predicted.chunks_mut(rows).zip(some.chunks(kept.len())) {
            kept.iter().zip(found).for_each(|(&row, x)| part[row] = *x);
        }
        Ok(predicted)
    }
}
