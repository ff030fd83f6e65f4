//! Whether a model fitted by its likelihood describes the data. In: a fit with what it predicts of every cell; out: what is poor, in
//! sentences, and the sum of squares in units of errors that were given.
//!
//! Errors that nobody declared are judged as those of least squares: by the share of what varies that is explained, by neighbours that are
//! alike, and by given errors. A declared distribution says itself how much is left unexplained, so that share says nothing; what is judged
//! is whether the data scatter further than it allows, and neighbours. Of `(loglik …)` nothing is known but the likelihood: no judgement.

use crate::report::{Axis, Fit};
use crate::statistics::likelihood::{Column, Target};
use crate::statistics::{poor, scatter};
use neural_compiler::syntax::distributions::Distribution;

/// What was found so far.
pub(crate) struct Judged<'a> {
    fit: &'a Fit,
    /// One over the standard deviation of each row, where these were given.
    scales: &'a [f64],
    known: bool,
    poor: Vec<String>,
    /// What is said and is no flaw.
    told: Vec<String>,
    any: bool,
    chi_square: f64,
    /// Numbers compared with errors that were given.
    given: usize,
}

/// What a fit is told.
pub(crate) struct Verdict {
    poor: Vec<String>,
    told: Vec<String>,
    any: bool,
    chi_square: Option<f64>,
}

impl<'a> Judged<'a> {
    pub(crate) fn new(fit: &'a Fit, scales: &'a [f64], known: bool) -> Judged<'a> {
        Judged { fit, scales, known, poor: vec![], told: vec![], any: false, chi_square: 0.0, given: 0 }
    }

    /// The data of a target and what the fit says of it.
    fn of(&self, target: usize) -> (&'a [f64], &'a Column, Option<&'a Axis>) {
        let rows = self.fit.observed.len() / self.fit.targets.len();
        (&self.fit.observed[target * rows..(target + 1) * rows], &self.fit.columns[target], self.fit.axis.as_ref())
    }

    /// Judges a column whose distribution is declared: location and arguments of all rows, and standard residuals
    /// (NaN where there are none).
    pub(crate) fn declared(&mut self, target: usize, of: &'static Distribution, numbers: &[&[f64]], standard: &[f64]) {
        let (observed, column, axis) = self.of(target);
        // Bits have no quantile residuals; those of Pearson have mean 0 and variance 1 as well.
        let pearson = |(row, y): (usize, &f64)| {
            let [mean, variance, _] = of.moments?(&numbers.iter().map(|all| all[row]).collect::<Vec<f64>>());
            Some((y - mean) / variance.sqrt()).filter(|x| x.is_finite())
        };
        let none = standard.iter().all(|x| x.is_nan());
        let own: Vec<f64> = match none {
            true => observed.iter().enumerate().map(|cell| pearson(cell).unwrap_or(f64::NAN)).collect(),
            false => standard.to_vec(),
        };
        if own.iter().all(|x| x.is_nan()) {
            return;
        }
        self.any = true;
        if poor::is_negligible(column, observed) {
            return;
        }
        let words = self.fit.noise.get(target).map_or("", |n| &n.words);
        self.poor.extend(scatter::too_far((&column.name, words), of, (observed, numbers), standard, self.fit.likelihood.k));
        self.poor.extend(poor::alike_standard(&column.name, &own, axis));
    }

    /// Judges a column of normal errors that nobody declared; `residuals`: in units of errors that were given.
    pub(crate) fn normal(&mut self, target: usize, residuals: &[f64]) {
        let (observed, column, axis) = self.of(target);
        let rows = observed.len();
        let predicted = &self.fit.predicted[target * rows..(target + 1) * rows];
        self.any |= !column.r2.is_nan();
        let target = Target { name: &column.name, observed, predicted, scale: 0 };
        let said = poor::remarks(&[target], std::slice::from_ref(column), self.scales, axis, (self.fit.likelihood.k, false));
        // Errors that were given say themselves how much is left unexplained.
        if self.known { &mut self.told } else { &mut self.poor }.extend(said.little);
        self.poor.extend(said.alike);
        let there = || residuals.iter().filter(|x| x.is_finite());
        (self.chi_square, self.given) = (self.chi_square + there().map(|x| x * x).sum::<f64>(), self.given + there().count());
    }

    /// All there is to say.
    pub(crate) fn verdict(mut self) -> Verdict {
        // Cells that are known from one side only have no square.
        let whole = self.known && self.given == self.fit.likelihood.n;
        if whole {
            self.poor.extend(poor::given_errors(self.chi_square, self.given, self.fit.likelihood.k));
        }
        Verdict { poor: self.poor, told: self.told, any: self.any, chi_square: whole.then_some(self.chi_square) }
    }
}

impl Verdict {
    /// Puts it into the fit.
    pub(crate) fn tell(self, fit: &mut Fit) {
        fit.chi_square = self.chi_square;
        fit.describes_data = self.any.then_some(self.poor.is_empty());
        if !self.poor.is_empty() && fit.converged {
            fit.message.push_str(", but the model does not describe the data well");
        }
        fit.warnings.extend(self.poor.into_iter().chain(self.told));
    }
}
