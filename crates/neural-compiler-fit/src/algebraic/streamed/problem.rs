//! A formula as residuals of rows that are not in memory. In: where the rows come from, parameters; out: a few residuals with derivatives
//! whose least squares are those of all rows, and the cost of all; one pass over the rows for each.
//! Invariants: the same bits however rows are read and on however many threads; what is wrong with the rows is kept, and ends every later
//! pass before it begins.

use super::blocks::{Block, Cutter, Part};
use super::fold::{Folded, Sum, Total, add_all};
use crate::algebraic::Algebraic;
use crate::algebraic::prepared::Compare;
use crate::data::bind;
use crate::data::rows::{Rows, each_part};
use crate::data::table::Table;
use crate::fit::wrong;
use crate::optimise::linear::Linear;
use crate::optimise::loss::Loss;
use crate::optimise::{Residuals, Unusable, dot};
use crate::options::{Options, Stage};
use crate::statistics::uncertainty::Variance;
use crate::support::{memory, threads};
use neural_compiler::{Diagnostics, Program};
use rayon::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is read of the rows, and how.
pub(super) struct Reading<'a> {
    pub(super) program: &'a Program,
    pub(super) rows: &'a dyn Rows,
    pub(super) options: &'a Options<'a>,
    /// The columns that are needed, and those of them that are explained.
    pub(super) columns: Vec<String>,
    pub(super) targets: Vec<String>,
    /// Numbers of each input; 0: a parameter.
    pub(super) inputs: Vec<usize>,
}

/// Why a pass ended before its time.
pub(super) enum Broken {
    Unusable(Unusable),
    Wrong(Diagnostics),
}

/// The tables rows are in, where there are many: the first row of each, counted from 0, and its name.
pub(super) type Tables = Vec<(usize, String)>;

/// How a pass went: rows, those among them that have nothing to explain, those that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) rows: usize,
    pub(super) without: usize,
    pub(super) counted: usize,
}

impl Reading<'_> {
    fn part(&self, table: &Table) -> Result<Part, Diagnostics> {
        let bound = bind::algebraic(self.program, table, self.options)?;
        let compare = Compare::read(self.program, &bound, &self.targets, table, self.options)?;
        Ok(Part { columns: bound.columns, compare, rows: table.rows() })
    }

    /// Whether a person, or the time, has said stop.
    fn stopped(&self) -> bool {
        self.options.cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }

    /// Goes over all rows: `work` on every block, on all threads; `fold` of what comes out, in the order of the rows. `tell`: of how many
    /// rows are read; `gentle`: a stop ends it.
    pub(super) fn pass<R: Send>(
        &self,
        work: impl Fn(Block) -> Result<R, Unusable> + Sync,
        mut fold: impl FnMut(R),
        tell: impl Fn(usize),
        gentle: bool,
    ) -> Result<(Counts, Tables), Broken> {
        let at_once = threads::count(self.options.threads);
        let mut cutter = Cutter::new(&self.inputs, self.targets.len());
        let mut waiting: Vec<Block> = Vec::new();
        let (mut broken, mut tables) = (None, Tables::new());
        let mut go = |blocks: Vec<Block>| -> Option<Broken> {
            let done: Vec<Result<R, Unusable>> = blocks.into_par_iter().map(&work).collect();
            for one in done {
                match one {
                    Ok(one) => fold(one),
                    Err(e) => return Some(Broken::Unusable(e)),
                }
            }
            None
        };
        let outcome = each_part(self.rows, &self.columns, &mut |table| {
            if gentle && self.stopped() {
                broken = Some(Broken::Unusable(Unusable("it was stopped".into())));
                return false;
            }
            if let Some(name) = table.of_table().filter(|name| tables.last().is_none_or(|t| t.1 != *name)) {
                tables.push((cutter.rows, name.to_string()));
            }
            match self.part(&table) {
                Ok(part) => cutter.add(&part, &mut |block| waiting.push(block)),
                Err(e) => broken = Some(Broken::Wrong(e)),
            }
            if broken.is_none() && waiting.len() >= at_once {
                broken = go(std::mem::take(&mut waiting));
            }
            tell(cutter.rows);
            broken.is_none()
        });
        if let Some(broken) = broken {
            return Err(broken);
        }
        outcome.map_err(Broken::Wrong)?;
        let counts = Counts { rows: cutter.rows, without: cutter.without, counted: cutter.counted() };
        waiting.extend(cutter.rest());
        match go(waiting) {
            None => Ok((counts, tables)),
            Some(broken) => Err(broken),
        }
    }
}

/// Squared lengths of the residuals of a target: weighted, and as they are.
pub(super) type Squares = (f64, f64);

/// What a block comes to.
struct Evaluated {
    cost: f64,
    /// The sum of squared residuals as the loss counts them.
    squares: f64,
    /// Weighted, then plain, target by target.
    lengths: Vec<f64>,
    folded: Option<Folded>,
}

#[derive(Default)]
struct State {
    /// Whether the products of columns have failed to tell them apart.
    sharp: bool,
    passes: usize,
    /// Whether a pass has come to its end: from then on there is something to keep.
    complete: bool,
    error: Option<Diagnostics>,
    /// The figures of every point so far.
    figures: Vec<(Vec<f64>, Vec<Squares>)>,
}

/// All rows, as the search sees them.
pub(super) struct Streamed<'a> {
    pub(super) reading: Reading<'a>,
    /// The model, without rows.
    pub(super) model: Algebraic,
    pub(super) loss: Loss,
    pub(super) counts: Counts,
    tables: Tables,
    state: Mutex<State>,
}

impl<'a> Streamed<'a> {
    /// `passes`: how often the rows were read so far.
    pub(super) fn new(reading: Reading<'a>, model: Algebraic, counts: Counts, tables: Tables, passes: usize) -> Streamed<'a> {
        let loss = reading.options.loss.unwrap_or(Loss::Squares);
        Streamed { reading, model, loss, counts, tables, state: Mutex::new(State { passes, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the rows were read.
    pub(super) fn passes(&self) -> usize {
        self.state().passes
    }

    /// What is wrong with the rows, if anything.
    pub(super) fn error(&self) -> Result<(), Diagnostics> {
        self.state().error.take().map_or(Ok(()), Err)
    }

    /// One pass over the rows, which must be those of the passes before.
    fn pass<R: Send>(
        &self,
        work: impl Fn(Algebraic) -> Result<R, Unusable> + Sync,
        fold: impl FnMut(R),
        cost: f64,
    ) -> Result<(), Unusable> {
        let (number, gentle) = {
            let mut state = self.state();
            if state.error.is_some() {
                return Err(Unusable("the rows cannot be read".into()));
            }
            state.passes += 1;
            (state.passes, state.complete)
        };
        let tell = telling(self.reading.options, number, self.counts.rows, cost);
        let found = self.reading.pass(|block| work(block.model(&self.model)), fold, tell, gentle);
        let mut state = self.state();
        match found {
            Ok((counts, _)) if counts == self.counts => {
                state.complete = true;
                Ok(())
            }
            Ok((counts, _)) => {
                let message = format!("the table changed while it was read: it had {} rows, and now {}", self.counts.rows, counts.rows);
                state.error = Some(wrong("table-changed", message));
                Err(Unusable("the table changed".into()))
            }
            Err(Broken::Unusable(e)) => Err(self.located(e)),
            Err(Broken::Wrong(e)) => {
                state.error = Some(e);
                Err(Unusable("the rows cannot be read".into()))
            }
        }
    }

    /// A message about a row, with the table it is in.
    fn located(&self, e: Unusable) -> Unusable {
        let Some((front, rest)) = e.0.split_once("row ").filter(|_| !self.tables.is_empty()) else { return e };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(row) = rest[..digits].parse::<usize>() else { return e };
        let table = self.tables.partition_point(|t| t.0 < row);
        match self.tables[..table].last() {
            Some((first, name)) => Unusable(format!("{front}row {} of `{name}`{}", row - first, &rest[digits..])),
            None => e,
        }
    }

    fn evaluated(&self, rows: &Algebraic, theta: &[f64], derivatives: bool, sharp: bool) -> Result<Evaluated, Unusable> {
        let (m, targets) = (rows.count(), self.reading.targets.len());
        let (mut residuals, mut jacobian) = (memory::take(m), memory::take(if derivatives { m * theta.len() } else { 0 }));
        let outcome = rows.evaluate(theta, &mut residuals, derivatives.then_some(&mut jacobian[..]));
        let weights = rows.weights();
        let found = outcome.map(|()| {
            let each = || residuals.chunks(m / targets);
            let mut lengths: Vec<f64> = each().map(|r| dot(r, r)).collect();
            if weights.is_empty() {
                lengths.extend_from_within(..);
            } else {
                let plain = |r: &[f64]| r.iter().zip(weights).map(|(r, w)| r / w).collect::<Vec<f64>>();
                lengths.extend(each().map(plain).map(|r| dot(&r, &r)).collect::<Vec<_>>());
            }
            let cost = self.loss.cost(&residuals);
            self.loss.rescale(&mut residuals, &mut jacobian);
            let squares = dot(&residuals, &residuals);
            Evaluated { cost, squares, lengths, folded: derivatives.then(|| Folded::new(&jacobian, &residuals, sharp)) }
        });
        memory::give(residuals);
        memory::give(jacobian);
        found
    }

    /// The cost of all rows; with it, where wanted, the few residuals and derivatives that say all.
    fn at(&self, theta: &[f64], few: Option<(&mut [f64], &mut [f64])>) -> Result<f64, Unusable> {
        let mut few = few;
        loop {
            let sharp = self.state().sharp;
            let (mut cost, mut squares, mut lengths, mut total) = (Sum::default(), Sum::default(), Vec::new(), Total::new(sharp));
            let fold = |block: Evaluated| {
                cost.add(block.cost);
                squares.add(block.squares);
                add_all(&mut lengths, &block.lengths);
                block.folded.into_iter().for_each(|folded| total.add(folded));
            };
            self.pass(|rows| self.evaluated(&rows, theta, few.is_some(), sharp), fold, f64::NAN)?;
            let lengths: Vec<f64> = lengths.iter().map(Sum::value).collect();
            let (weighted, plain) = lengths.split_at(lengths.len() / 2);
            let figures = weighted.iter().copied().zip(plain.iter().copied()).collect();
            self.state().figures.push((theta.to_vec(), figures));
            if !cost.value().is_finite() {
                return Err(Unusable("the sum of squares is not finite".into()));
            }
            let Some((residuals, jacobian)) = &mut few else { return Ok(cost.value()) };
            match total.few(squares.value()) {
                Some((r, j)) => {
                    residuals.copy_from_slice(&r);
                    jacobian.copy_from_slice(&j);
                    return Ok(cost.value());
                }
                None if sharp => return Err(Unusable("the derivatives of the residuals are not finite".into())),
                // Once and for all: what products do not tell here they hardly tell elsewhere.
                None => self.state().sharp = true,
            }
        }
    }

    /// The squared lengths of residuals at a point, target by target; one more pass where it is a new one.
    pub(super) fn figures(&self, theta: &[f64]) -> Result<Vec<Squares>, Unusable> {
        let known = |state: &State| state.figures.iter().rev().find(|f| f.0 == theta).map(|f| f.1.clone());
        if let Some(found) = known(&self.state()) {
            return Ok(found);
        }
        self.at(theta, None)?;
        Ok(known(&self.state()).unwrap_or_default())
    }

    /// The linear model of residuals as a robust loss counts them, and the variance that belongs to it.
    pub(super) fn pulled(&self, theta: &[f64]) -> Result<(Linear, Variance), Unusable> {
        loop {
            let sharp = self.state().sharp;
            let (mut sums, mut total) = (Vec::new(), Total::new(sharp));
            let work = |rows: Algebraic| {
                let m = rows.count();
                let (mut residuals, mut jacobian) = (vec![0.0; m], vec![0.0; m * theta.len()]);
                rows.evaluate(theta, &mut residuals, Some(&mut jacobian))?;
                let (pulls, changes): (Vec<f64>, Vec<f64>) = residuals.iter().map(|r| self.loss.pull(*r)).unzip();
                let sums = [dot(&pulls, &pulls), changes.iter().sum(), dot(&changes, &changes)];
                Ok((sums, Folded::new(&jacobian, &pulls, sharp)))
            };
            let fold = |(block, folded): ([f64; 3], Folded)| {
                add_all(&mut sums, &block);
                total.add(folded);
            };
            self.pass(work, fold, f64::NAN)?;
            let [squares, changes, second] = [0, 1, 2].map(|k| sums[k].value());
            let Some((residuals, jacobian)) = total.few(squares) else {
                if sharp {
                    return Err(Unusable("the derivatives of the residuals are not finite".into()));
                }
                self.state().sharp = true;
                continue;
            };
            let n = self.observations() as f64;
            let mean = changes / n;
            let variance = Variance::Robust { squares, mean, spread: (second / n - mean * mean).max(0.0) };
            return Ok((Linear::new(residuals, jacobian), variance));
        }
    }
}

/// What tells how far a pass is.
pub(super) fn telling<'a>(options: &'a Options<'_>, pass: usize, of: usize, cost: f64) -> impl Fn(usize) + 'a {
    move |rows| options.progress.iter().for_each(|progress| progress(Stage::Pass(pass), rows, of, cost))
}

impl Residuals for Streamed<'_> {
    fn parameters(&self) -> usize {
        self.model.parameters()
    }

    fn count(&self) -> usize {
        self.parameters() + 1
    }

    fn observations(&self) -> usize {
        self.counts.counted * self.reading.targets.len()
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        self.objective(theta, residuals, jacobian).map(|_| ())
    }

    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        self.at(theta, jacobian.map(|jacobian| (residuals, jacobian))).map(Some)
    }
}
