//! The data of a search, as logarithms and signs. In: a problem; out: rows that can be taken logarithms of, few enough to scan a hundred
//! thousand candidates, with two weightings: errors that grow with the target, and errors that do not.
//! Invariant: rows held out are not among them; the same seed, the same rows.

use crate::problem::{Kind, Problem};
use neural_compiler::units::Unit;
use neural_compiler_fit::random::Stream;

/// Rows of a scan at most.
const ROWS: usize = 160;

/// Columns of a scan.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The names of the inputs.
    pub(crate) names: Vec<String>,
    /// Their values, input by input.
    pub(crate) values: Vec<Vec<f64>>,
    /// The logarithms of their sizes.
    pub(crate) logs: Vec<Vec<f64>>,
    /// Whether an input is positive everywhere.
    pub(crate) positive: Vec<bool>,
    /// Whether an input is a pure number; all may be where no units are known.
    pub(crate) units: Option<Vec<Unit>>,
    /// The target.
    pub(crate) target: Vec<f64>,
    /// The logarithms of its sizes.
    pub(crate) log_target: Vec<f64>,
    /// The weight of each row's logarithm.
    pub(crate) weights: Vec<f64>,
    /// Whether the rows are too few for laws with more constants than a power of each input has.
    pub(crate) few: bool,
}

impl Columns {
    /// The rows of a problem; `relative`: whether errors grow with the target. Nothing where too few rows have logarithms.
    pub(crate) fn new(problem: &Problem, relative: bool) -> Option<Columns> {
        let Kind::Formula { target, inputs } = &problem.kind else { return None };
        let y = problem.column(target);
        // An input that never changes explains nothing.
        let varies = |n: &&String| problem.column(n).iter().any(|x| *x != problem.column(n)[0]);
        let names: Vec<String> = inputs.iter().filter(varies).cloned().collect();
        let columns: Vec<&[f64]> = names.iter().map(|n| problem.column(n)).collect();
        let good = |&row: &usize| y[row] != 0.0 && y[row].is_finite() && columns.iter().all(|c| c[row] != 0.0 && c[row].is_finite());
        let mut rows: Vec<usize> = problem.fitted_rows().into_iter().filter(good).collect();
        // One row more than a scale and a power of each input have constants.
        if rows.len() < names.len() + 2 || names.is_empty() {
            return None;
        }
        let few = rows.len() < 5.max(names.len() + 3);
        if !relative {
            // Only rows that stand out of the noise say anything: the largest ones.
            rows.sort_by(|&a, &b| y[b].abs().total_cmp(&y[a].abs()).then(a.cmp(&b)));
            let some = (rows.len() / 2).max(rows.len().min(2 * ROWS / 3));
            rows.truncate(some);
        }
        let mut stream = Stream::new(problem.seed, 0x5ea6);
        while rows.len() > ROWS {
            let gone = stream.below(rows.len());
            rows.swap_remove(gone);
        }
        rows.sort_unstable();
        let pick = |c: &[f64]| rows.iter().map(|&r| c[r]).collect::<Vec<f64>>();
        let values: Vec<Vec<f64>> = columns.iter().map(|c| pick(c)).collect();
        let logs = values.iter().map(|v| v.iter().map(|x| x.abs().ln()).collect()).collect();
        let positive = columns.iter().map(|c| c.iter().all(|x| *x > 0.0)).collect();
        let target = pick(y);
        let largest = target.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
        let weights = target.iter().map(|y| if relative { 1.0 } else { (y / largest).abs() }).collect();
        let log_target = target.iter().map(|y| y.abs().ln()).collect();
        let units = names.iter().map(|n| problem.units.get(n).cloned()).collect::<Option<Vec<Unit>>>();
        Some(Columns { names, values, logs, positive, units, target, log_target, weights, few })
    }

    /// How many inputs there are.
    pub(crate) fn inputs(&self) -> usize {
        self.names.len()
    }
}
