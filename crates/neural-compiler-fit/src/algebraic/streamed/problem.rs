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
use crate::optimise::linear::Linear;
use crate::optimise::loss::Loss;
use crate::optimise::{Residuals, Unusable, dot};
use crate::options::{Options, Stage};
use crate::statistics::uncertainty::Variance;
use crate::support::{memory, threads};
use neural_compiler::{Diagnostic, Diagnostics, Program};
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
    /// A person, or the time, has said stop.
    Stopped,
}

/// The tables rows are in, where there are many: the first row of each, counted from 0, and its name.
pub(super) type Tables = Vec<(usize, String)>;

/// What a pass has seen: rows, those among them that have nothing to explain, those that count, and what changes with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) rows: usize,
    pub(super) without: usize,
    pub(super) counted: usize,
    mark: u64,
}

impl Counts {
    /// An error unless a later pass has seen the same.
    pub(super) fn again(&self, now: &Counts) -> Result<(), Diagnostics> {
        if self == now {
            return Ok(());
        }
        let how = match self.rows == now.rows {
            true => format!("it has {} rows as before, but other numbers in them", now.rows),
            false => format!("it had {} rows, and now {}", self.rows, now.rows),
        };
        let message = format!("the table changed while it was read: {how}");
        Err(Diagnostic::error("table-changed", Default::default(), message).help("fit it when nothing writes to it any more").into())
    }
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
        let (mut broken, mut tables, mut mark) = (None, Tables::new(), 0u64);
        let marked = |block: Block| {
            let mark = block.mark();
            work(block).map(|found| (mark, found))
        };
        let mut go = |blocks: Vec<Block>| -> Option<Broken> {
            let done: Vec<Result<(u64, R), Unusable>> = blocks.into_par_iter().map(&marked).collect();
            for one in done {
                match one {
                    Ok((own, found)) => {
                        mark = mark.rotate_left(1) ^ own;
                        fold(found);
                    }
                    Err(e) => return Some(Broken::Unusable(e)),
                }
            }
            None
        };
        let outcome = each_part(self.rows, &self.columns, &mut |table| {
            if gentle && self.stopped() {
                broken = Some(Broken::Stopped);
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
        let (rows, without, counted) = (cutter.rows, cutter.without, cutter.counted());
        waiting.extend(cutter.rest());
        match go(waiting) {
            None => Ok((Counts { rows, without, counted, mark }, tables)),
            Some(broken) => Err(broken),
        }
    }
}

/// Squared lengths of the residuals of a target: weighted, and as they are times the unit of the target.
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
    /// Whether a point is known with all that belongs to it: from then on there is something to keep.
    complete: bool,
    /// Whether a pass was ended by a stop.
    stopped: bool,
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
    /// What the numbers of each target are multiplied by before they are squared, where they have weights.
    pub(super) units: Vec<f64>,
    state: Mutex<State>,
}

impl<'a> Streamed<'a> {
    /// `passes`: how often the rows were read so far.
    pub(super) fn new(
        reading: Reading<'a>,
        model: Algebraic,
        (counts, tables): (Counts, Tables),
        units: Vec<f64>,
        passes: usize,
    ) -> Streamed<'a> {
        let loss = reading.options.loss.unwrap_or(Loss::Squares);
        Streamed { reading, model, loss, counts, tables, units, state: Mutex::new(State { passes, ..State::default() }) }
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

    /// One pass over the rows, which must be those of the passes before. `gentle`: a stop ends it.
    fn pass<R: Send>(
        &self,
        work: impl Fn(Algebraic) -> Result<R, Unusable> + Sync,
        fold: impl FnMut(R),
        gentle: bool,
    ) -> Result<(), Unusable> {
        let number = {
            let mut state = self.state();
            if state.error.is_some() {
                return Err(Unusable("the rows cannot be read".into()));
            }
            state.passes += 1;
            state.passes
        };
        let tell = telling(self.reading.options, number, self.counts.rows);
        let found = self.reading.pass(|block| work(block.model(&self.model)), fold, tell, gentle);
        let found = found.and_then(|(counts, _)| self.counts.again(&counts).map_err(Broken::Wrong));
        let mut state = self.state();
        match found {
            Ok(()) => Ok(()),
            Err(Broken::Unusable(e)) => Err(self.located(e)),
            Err(Broken::Stopped) => {
                state.stopped = true;
                Err(Unusable("it was stopped".into()))
            }
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
                let plain = |(r, unit): (&[f64], &f64)| r.iter().zip(weights).map(|(r, w)| r / w * unit).collect::<Vec<f64>>();
                lengths.extend(each().zip(&self.units).map(plain).map(|r| dot(&r, &r)).collect::<Vec<_>>());
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

    /// The cost of all rows; with it, where wanted, the few residuals and derivatives that say all. `gentle`: a stop ends it.
    fn at(&self, theta: &[f64], few: Option<(&mut [f64], &mut [f64])>, gentle: bool) -> Result<f64, Unusable> {
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
            self.pass(|rows| self.evaluated(&rows, theta, few.is_some(), sharp), fold, gentle)?;
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
                    self.state().complete = true;
                    return Ok(cost.value());
                }
                None if sharp => return Err(Unusable("the derivatives of the residuals are not finite".into())),
                // Once and for all: what products do not tell here they hardly tell elsewhere.
                None => self.state().sharp = true,
            }
        }
    }

    /// The squared lengths of residuals at a point, target by target; one more pass where it is a new one. It is about the values that are
    /// kept, so that a stop does not end it.
    pub(super) fn figures(&self, theta: &[f64]) -> Result<Vec<Squares>, Unusable> {
        let known = |state: &State| state.figures.iter().rev().find(|f| f.0 == theta).map(|f| f.1.clone());
        if let Some(found) = known(&self.state()) {
            return Ok(found);
        }
        self.at(theta, None, false)?;
        Ok(self.state().figures.last().map(|f| f.1.clone()).unwrap_or_default())
    }

    /// The linear model of residuals as a robust loss counts them, and the variance that belongs to it; a stop does not end it either.
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
            self.pass(work, fold, false)?;
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
pub(super) fn telling<'a>(options: &'a Options<'_>, pass: usize, of: usize) -> impl Fn(usize) + 'a {
    move |rows| options.progress.iter().for_each(|progress| progress(Stage::Pass(pass), rows, of, f64::NAN))
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

    fn stopped(&self) -> bool {
        self.state().stopped
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        // What is left of many residuals when they are folded into few is known with their derivatives only.
        let mut own = vec![0.0; if jacobian.is_some() { 0 } else { self.count() * theta.len() }];
        self.objective(theta, residuals, Some(jacobian.unwrap_or(&mut own))).map(|_| ())
    }

    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        // A stop waits for the first values there are to keep.
        let gentle = self.state().complete;
        self.at(theta, jacobian.map(|jacobian| (residuals, jacobian)), gentle).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebraic::Engines;
    use crate::model::layout::Layout;
    use std::sync::Arc;

    /// One part.
    struct One(Vec<f64>, Vec<f64>);

    impl Rows for One {
        fn pass(&self, _: &[String], take: &mut dyn FnMut(Table) -> bool) -> Result<(), Diagnostics> {
            take(Table::new([("x".to_string(), self.0.clone()), ("y".to_string(), self.1.clone())])?);
            Ok(())
        }
    }

    #[test]
    fn residuals_are_written_with_and_without_derivatives() {
        let program = neural_compiler::compile("(param a 1) (param b 1) (+ a (* b x))", &Default::default()).unwrap();
        let rows = One((0..100).map(f64::from).collect(), (0..100).map(|i| f64::from(i * i % 17)).collect());
        let options = Options { target: Some("y".into()), ..Options::default() };
        let layout = Arc::new(Layout::new(&program, &options.values).unwrap());
        let table = Table::new([("x".to_string(), vec![1.0]), ("y".to_string(), vec![1.0])]).unwrap();
        let graph = program.specialise(&bind::algebraic(&program, &table, &options).unwrap().shapes).unwrap();
        let inputs: Vec<usize> = program.inputs().iter().map(|i| usize::from(i.name == "x")).collect();
        let empty = inputs.iter().map(|_| vec![]).collect();
        let model = Algebraic::new(Arc::new(Engines::new(&graph, &layout)), layout, empty, vec![], vec![], 1);
        let reading = Reading {
            program: &program,
            rows: &rows,
            options: &options,
            columns: vec!["x".into(), "y".into()],
            targets: vec!["y".into()],
            inputs,
        };
        let Ok((counts, tables)) = reading.pass(|_| Ok(()), |()| {}, |_| {}, false) else { panic!("a pass") };
        let streamed = Streamed::new(reading, model, (counts, tables), vec![1.0], 1);
        let theta = [2.0, 0.5];
        let (mut with, mut without, mut jacobian) = ([f64::NAN; 3], [f64::NAN; 3], [f64::NAN; 6]);
        streamed.evaluate(&theta, &mut with, Some(&mut jacobian)).unwrap();
        streamed.evaluate(&theta, &mut without, None).unwrap();
        assert_eq!(with, without);
        let squares: f64 = rows.0.iter().zip(&rows.1).map(|(x, y)| (2.0 + 0.5 * x - y).powi(2)).sum();
        assert!((dot(&without, &without) / squares - 1.0).abs() < 1e-12, "{without:?} {squares}");
    }
}
