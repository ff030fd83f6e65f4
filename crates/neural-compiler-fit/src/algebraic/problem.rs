//! Algebraic models as residuals. In: a program's graph, its parameters, columns of data; out: weighted differences between
//! prediction and data with exact derivatives, a row of the data per lane of the batch engine.

use super::engines::{Engines, Scratch};
use crate::model::layout::Layout;
use crate::optimise::effort::Effort;
use crate::optimise::{Residuals, Unusable, all_finite, dot, weigh, weighted_difference};
use crate::support::memory;
use neural_compiler::exec::interp::RunOptions;
use neural_compiler::exec::lanes::{BatchOptions, Column, Engine, LaneError, Workspace};
use std::sync::{Arc, Mutex};

/// Predictions, lane by lane, and the parameters they belong to; none: to no parameters.
#[derive(Default)]
struct Predictions {
    values: Vec<f64>,
    at: Vec<f64>,
}

impl Predictions {
    /// Memory for so many.
    fn resize(&mut self, length: usize) {
        if self.values.len() != length {
            memory::give(std::mem::replace(&mut self.values, memory::take(length)));
        }
    }

    /// Whether they are those for these very parameters.
    fn are_for(&self, theta: &[f64]) -> bool {
        self.at.len() == theta.len() && !theta.is_empty() && self.at.iter().zip(theta).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

impl Drop for Predictions {
    fn drop(&mut self) {
        memory::give(std::mem::take(&mut self.values));
    }
}

/// The square of the relative error of a prediction that is right.
const ROUNDING: f64 = 1e-28;

/// Rows of data.
struct Data {
    /// Per input of the program: numbers per row, number by number; empty for parameters.
    columns: Vec<Vec<f64>>,
    /// What to explain, number by number.
    target: Vec<f64>,
    /// One per row; empty: all 1.
    weights: Vec<f64>,
    rows: usize,
    /// What rows are called; empty: as they are counted here.
    numbers: Numbers,
}

/// The numbers of rows in the table they come from, counted from 0: from a row on they run on from a number.
pub(super) type Numbers = Vec<(usize, usize)>;

/// The numbers of some rows that are known one by one.
fn numbered(rows: impl Iterator<Item = usize>) -> Numbers {
    let mut numbers: Numbers = Vec::new();
    rows.enumerate().for_each(|(row, number)| call(&mut numbers, row, number));
    numbers
}

/// Gives a row, behind all that have one, its number.
pub(super) fn call(numbers: &mut Numbers, row: usize, number: usize) {
    if numbers.last().is_none_or(|(from, first)| first + (row - from) != number) {
        numbers.push((row, number));
    }
}

/// The number of a row.
pub(super) fn called(numbers: &Numbers, row: usize) -> usize {
    let run = numbers.partition_point(|n| n.0 <= row);
    numbers[..run].last().map_or(row, |(from, first)| first + (row - from))
}

impl Data {
    /// The number of a row in the table it comes from, counted from 0.
    fn number(&self, row: usize) -> usize {
        called(&self.numbers, row)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        self.columns.drain(..).for_each(memory::give);
        memory::give(std::mem::take(&mut self.target));
    }
}

/// What was predicted last, one for each thread that predicts: the end of a fit is asked for again.
type Pool = Arc<Mutex<Vec<Predictions>>>;

/// Prediction minus data, weighted.
pub struct Algebraic {
    pub(super) engines: Arc<Engines>,
    pub(super) layout: Arc<Layout>,
    data: Arc<Data>,
    threads: usize,
    /// Whether code may be generated: worth it for many evaluations.
    generate: bool,
    pool: Pool,
}

impl Algebraic {
    /// A model with data. `columns[i]` are the numbers of input `i`: all rows of its first number, then of its second.
    pub fn new(
        engines: Arc<Engines>,
        layout: Arc<Layout>,
        columns: Vec<Vec<f64>>,
        target: Vec<f64>,
        weights: Vec<f64>,
        threads: usize,
    ) -> Algebraic {
        let rows = target.len() / engines.outputs();
        Algebraic {
            engines,
            layout,
            data: Arc::new(Data { columns, target, weights, rows, numbers: vec![] }),
            threads,
            generate: true,
            pool: Arc::default(),
        }
    }

    /// The same model on other rows, on one thread; `numbers`: what they are called where a mistake is told.
    pub(super) fn on(&self, columns: Vec<Vec<f64>>, target: Vec<f64>, weights: Vec<f64>, numbers: Numbers) -> Algebraic {
        let rows = target.len() / self.engines.outputs();
        Algebraic { data: Arc::new(Data { columns, target, weights, rows, numbers }), threads: 1, pool: Arc::default(), ..self.view() }
    }

    /// The same model on some of the rows, on one thread.
    pub fn sample(&self, rows: &[usize]) -> Algebraic {
        let pick = |all: &Vec<f64>| -> Vec<f64> {
            if all.is_empty() {
                return Vec::new();
            }
            all.chunks(self.data.rows).flat_map(|part| rows.iter().map(|&i| part[i])).collect()
        };
        let Data { columns, target, weights, .. } = &*self.data;
        let numbers = numbered(rows.iter().map(|&i| self.data.number(i)));
        self.on(columns.iter().map(pick).collect(), pick(target), pick(weights), numbers)
    }

    /// The same model on most of the rows, on as many threads.
    pub fn part(&self, rows: &[usize]) -> Algebraic {
        Algebraic { threads: self.threads, ..self.sample(rows) }
    }

    /// The same model on the same rows.
    fn view(&self) -> Algebraic {
        let Algebraic { engines, layout, data, threads, generate, pool } = self;
        Algebraic {
            engines: engines.clone(),
            layout: layout.clone(),
            data: data.clone(),
            threads: *threads,
            generate: *generate,
            pool: pool.clone(),
        }
    }

    /// The same data with the free numbers of another layout.
    pub fn with(&self, layout: &Arc<Layout>) -> Algebraic {
        if Arc::ptr_eq(&self.layout, layout) {
            return self.view();
        }
        Algebraic { engines: Arc::new(self.engines.of(layout)), layout: layout.clone(), pool: Arc::default(), ..self.view() }
    }

    /// The same for a few evaluations: without generating code for them.
    pub fn for_a_moment(&self) -> Algebraic {
        Algebraic { generate: false, ..self.view() }
    }

    /// The numbers of each input of the program, number by number; empty for parameters and weights.
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.data.columns
    }

    /// Rows of data.
    pub fn rows(&self) -> usize {
        self.data.rows
    }

    /// The data, number by number.
    pub fn target(&self) -> &[f64] {
        &self.data.target
    }

    /// The weight of each row; empty: all 1.
    pub fn weights(&self) -> &[f64] {
        &self.data.weights
    }

    /// How many numbers are compared.
    pub fn observations(&self) -> usize {
        self.data.target.len()
    }

    /// The cost of a perfect fit: what rounding errors of the data come to.
    pub fn floor(&self) -> f64 {
        Algebraic::floor_of(self.squares())
    }

    /// The size of the data, weighted as the residuals are.
    pub(crate) fn size(&self) -> f64 {
        self.squares().sqrt()
    }

    fn squares(&self) -> f64 {
        let Data { target, weights, .. } = &*self.data;
        if weights.is_empty() {
            return dot(target, target);
        }
        let mut weighted = target.clone();
        weigh(&mut weighted, weights);
        dot(&weighted, &weighted)
    }

    /// The same of data whose weighted squares have this sum.
    pub(super) fn floor_of(squares: f64) -> f64 {
        ROUNDING * squares
    }

    /// The cost of the best constant in place of the model.
    pub fn of_the_mean(&self) -> f64 {
        let Data { target, weights, .. } = &*self.data;
        let mut parts = vec![(0.0f64, 0.0f64, 0.0f64); target.len() / self.data.rows.max(1)];
        for (i, y) in target.iter().enumerate() {
            let w = weights.get(i % self.data.rows).map_or(1.0, |w| w * w);
            let (sum, first, second) = &mut parts[i / self.data.rows];
            (*sum, *first, *second) = (*sum + w, *first + w * y, *second + w * y * y);
        }
        parts.iter().map(|(sum, first, second)| if *sum > 0.0 { (second - first * first / sum).max(0.0) } else { 0.0 }).sum()
    }

    pub(super) fn inputs<'a>(&'a self, theta: &'a [f64]) -> Vec<Column<'a, f64>> {
        let mut inputs: Vec<Column<'a, f64>> =
            self.data.columns.iter().map(|data| Column { data, lane_stride: 1, element_stride: self.data.rows }).collect();
        for shared in &self.layout.shared {
            inputs[shared.input] = Column::shared(self.layout.values(shared, theta));
        }
        inputs
    }

    /// What its evaluations may cost.
    pub(crate) fn effort(&self) -> &Effort {
        &self.engines.effort
    }

    /// Runs an engine on all rows.
    pub(super) fn run(
        &self,
        engine: &Engine,
        workspace: &mut Workspace<f64>,
        inputs: &[Column<'_, f64>],
        outputs: &mut [&mut [f64]],
    ) -> Result<(), Unusable> {
        let options = BatchOptions { threads: self.threads, jit: self.generate, ..BatchOptions::default() };
        let once = |limits| {
            engine.run(workspace, inputs, self.data.rows, outputs, &BatchOptions { run: RunOptions { limits, ..options.run }, ..options })
        };
        self.effort().rows(self.data.rows);
        check(self.effort().run(once), &self.data)
    }

    /// Predictions, number by number.
    pub fn predict(&self, theta: &[f64]) -> Result<Vec<f64>, Unusable> {
        let mut known = self.take(Some(theta));
        let outcome = self.values(&mut known, theta);
        let (rows, d) = (self.data.rows, self.engines.outputs());
        let flat = &known.values;
        let found = outcome.map(|()| if d == 1 { flat.clone() } else { (0..d * rows).map(|k| flat[(k % rows) * d + k / rows]).collect() });
        self.give(known);
        found
    }

    /// Predictions, lane by lane, unless they are there.
    fn values(&self, known: &mut Predictions, theta: &[f64]) -> Result<(), Unusable> {
        if known.are_for(theta) {
            return Ok(());
        }
        known.at.clear();
        known.resize(self.data.target.len());
        let mut scratch = self.engines.scratch();
        self.run(self.engines.value(), &mut scratch.workspace, &self.inputs(theta), &mut [&mut known.values])?;
        known.at.extend(theta);
        Ok(())
    }

    /// Predictions for these parameters if there are any; else memory for some.
    fn take(&self, theta: Option<&[f64]>) -> Predictions {
        let mut pool = self.pool.lock().expect("no panic holds it");
        match theta.and_then(|theta| pool.iter().position(|s| s.are_for(theta))) {
            Some(k) => pool.swap_remove(k),
            None => pool.pop().unwrap_or_default(),
        }
    }

    fn give(&self, known: Predictions) {
        self.pool.lock().expect("no panic holds it").push(known);
    }

    /// Turns predictions, lane by lane, into residuals.
    fn compare(&self, values: &[f64], residuals: &mut [f64]) -> Result<(), Unusable> {
        let Data { target, weights, rows, .. } = &*self.data;
        let d = self.engines.outputs();
        if d == 1 {
            weighted_difference(values, target, weights, residuals);
        } else {
            residuals.iter_mut().enumerate().for_each(|(k, r)| *r = values[(k % rows) * d + k / rows] - target[k]);
            weigh(residuals, weights);
        }
        if all_finite(residuals) {
            return Ok(());
        }
        let row = residuals.iter().position(|r| !r.is_finite()).map_or(0, |i| self.data.number(i % rows) + 1);
        Err(Unusable(format!("the prediction for row {row} is not finite")))
    }

    /// Predictions and their derivatives.
    fn derivatives(&self, known: &mut Predictions, theta: &[f64], jacobian: &mut [f64]) -> Result<(), Unusable> {
        let Data { target, rows, .. } = &*self.data;
        let (rows, d, all) = (*rows, self.engines.outputs(), target.len());
        let engine = self.engines.derivative()?;
        let mut scratch = self.engines.scratch();
        let Scratch { workspace, blocks } = &mut *scratch;
        known.at.clear();
        known.resize(all);
        let sizes: Vec<usize> = self.layout.shared.iter().filter(|s| s.at.is_some()).map(|s| s.shape.len()).collect();
        if !self.engines.seeded() && sizes.iter().all(|&s| s == 1) {
            let mut outputs: Vec<&mut [f64]> = vec![&mut known.values];
            outputs.extend(jacobian.chunks_mut(rows));
            self.run(engine, workspace, &self.inputs(theta), &mut outputs)?;
            known.at.extend(theta);
            return Ok(());
        }
        blocks.resize(rows * theta.len(), 0.0);
        for k in 0..d {
            let mut seed = vec![0.0; d];
            seed[k] = 1.0;
            let mut inputs = self.inputs(theta);
            if self.engines.seeded() {
                inputs.push(Column::shared(&seed));
            }
            let mut outputs: Vec<&mut [f64]> = vec![&mut known.values];
            let mut rest: &mut [f64] = blocks;
            for size in &sizes {
                let (block, behind) = rest.split_at_mut(rows * size);
                outputs.push(block);
                rest = behind;
            }
            self.run(engine, workspace, &inputs, &mut outputs)?;
            let (mut column, mut from) = (0, 0);
            for size in &sizes {
                for e in 0..*size {
                    let out = &mut jacobian[column * all + k * rows..][..rows];
                    out.iter_mut().enumerate().for_each(|(i, x)| *x = blocks[from + i * size + e]);
                    column += 1;
                }
                from += rows * size;
            }
        }
        known.at.extend(theta);
        Ok(())
    }
}

fn check(outcome: Result<Vec<LaneError>, neural_compiler::EvalError>, data: &Data) -> Result<(), Unusable> {
    match outcome {
        Ok(errors) => match errors.first() {
            None => Ok(()),
            Some(e) => Err(Unusable(format!("row {}: {}", data.number(e.lane) + 1, e.error.message))),
        },
        Err(e) => Err(Unusable(e.message)),
    }
}

impl Residuals for Algebraic {
    fn parameters(&self) -> usize {
        self.layout.len()
    }

    fn count(&self) -> usize {
        self.data.target.len()
    }

    fn stopped(&self) -> bool {
        self.effort().stopped()
    }

    fn second(&self, theta: &[f64], times: &[f64]) -> Option<Result<Vec<f64>, Unusable>> {
        Some(self.second_derivatives(theta, times))
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        let mut known = self.take(None);
        let with = jacobian.is_some();
        let jacobian = jacobian.unwrap_or_default();
        let outcome = if with { self.derivatives(&mut known, theta, jacobian) } else { self.values(&mut known, theta) };
        let outcome = outcome.and_then(|()| self.compare(&known.values, residuals));
        self.give(known);
        outcome?;
        weigh(jacobian, &self.data.weights);
        if all_finite(jacobian) {
            return Ok(());
        }
        let count = self.data.target.len();
        let at = jacobian.iter().position(|x| !x.is_finite()).unwrap_or(0);
        let (row, name) = (self.data.number(at % count % self.data.rows) + 1, &self.layout.names[at / count]);
        let help = "leave that row out, or say with (if …) what holds there";
        Err(Unusable(format!("the derivative of the prediction for row {row} by `{name}` is not finite; {help}")))
    }
}
