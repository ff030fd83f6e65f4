//! A likelihood as a problem of the search. In: numbers a model predicts, as the residuals of a problem, and cells that observe them; out:
//! minus twice the log-likelihood, with the residuals and derivatives of a linear model of it, and its exact second derivatives.
//!
//! A cell observes one number `y`, which a few numbers predict: its location and the arguments of its distribution. With `g` the slope of
//! its log-density by one of them, `c` how sharply it determines it and `J` how that number moves with the parameters, the working residual
//! `-g/sqrt(c)` and the row `sqrt(c) J` make a sum of squares with the slope of minus twice the log-likelihood and the curvature of its
//! information: so the steps of least squares are those of Fisher's scoring. Priors are cells without data.

use super::density::{Density, Slopes};
use crate::optimise::{Residuals, Unusable, all_finite};
use crate::statistics::poor::spread;
use std::sync::Arc;

/// Where a number that predicts a cell comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Source {
    /// A residual of the problem inside.
    Inner(usize),
    /// A parameter itself.
    Own(usize),
    /// It is known.
    Number(f64),
}

/// Whether an observation, its location and the arguments of its distribution go together.
pub(crate) type Possible = fn(f64, &[f64]) -> bool;

/// Cells of one distribution.
#[derive(Clone)]
pub(crate) struct Cells {
    pub(crate) density: Arc<Density>,
    /// What is observed, or where it was censored.
    pub(crate) y: Vec<f64>,
    /// For each number that predicts, where it comes from, cell by cell.
    pub(crate) from: Vec<Vec<Source>>,
    /// Whether location and arguments are possible, and the rule in words.
    pub(crate) possible: (Possible, &'static str),
    /// What the distribution becomes as its first argument grows without end.
    pub(crate) limit: Option<&'static str>,
    /// Whether the scale of the distribution is that of logarithms of what is observed.
    pub(crate) by_factors: bool,
    /// What a cell is, in words: `row 3, column `y``.
    pub(crate) places: Vec<String>,
    /// Whether these are priors rather than data.
    pub(crate) prior: bool,
}

/// An argument of a distribution, such as degrees of freedom, beyond which it is hardly told from its limit.
const RAN_OFF: f64 = 100.0;

/// The share of the largest observation below which a scale of errors is that of rounding.
const COLLAPSED: f64 = 1e-9;

/// A likelihood.
pub(crate) struct Likelihood<'a> {
    pub(crate) inner: &'a dyn Residuals,
    pub(crate) cells: Vec<Cells>,
    /// Numbers to be found: those of the problem inside, then others.
    pub(crate) parameters: usize,
    /// See [`Residuals::blur`].
    pub(crate) blur: f64,
}

impl Cells {
    fn len(&self) -> usize {
        self.y.len()
    }

    /// The numbers that predict, for each its numbers cell by cell; an error where they are none a distribution can have.
    fn predictors(&self, eta: &[f64], theta: &[f64]) -> Result<Vec<Vec<f64>>, Unusable> {
        let value = |s: &Source| match *s {
            Source::Inner(i) => eta[i],
            Source::Own(j) => theta[j],
            Source::Number(x) => x,
        };
        let of: Vec<Vec<f64>> = self.from.iter().map(|from| from.iter().map(value).collect()).collect();
        let mut one = vec![0.0; of.len()];
        for cell in 0..self.len() {
            one.iter_mut().zip(&of).for_each(|(x, of)| *x = of[cell]);
            if !(self.possible.0)(self.y[cell], &one) {
                let numbers = one.iter().map(|x| format!("{x:.4}")).collect::<Vec<_>>().join(", ");
                return Err(Unusable(format!("{}: {}, and there are {numbers}", self.places[cell], self.possible.1)));
            }
        }
        Ok(of)
    }

    fn finite(&self, values: &[f64]) -> Result<(), Unusable> {
        match values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(cell) => Err(Unusable(format!("{}: the log-likelihood is not finite", self.places[cell]))),
        }
    }
}

/// The locations of all cells at a point.
pub(crate) struct Locations(Vec<Vec<f64>>);

/// What is known of all cells at a point.
struct Known {
    /// Numbers that predict, with how they move, column by column of the parameters inside.
    jacobian: Vec<f64>,
    slopes: Vec<Slopes>,
    /// The numbers that predict, of each distribution.
    of: Vec<Vec<Vec<f64>>>,
}

impl<'a> Likelihood<'a> {
    pub(crate) fn new(inner: &'a dyn Residuals, cells: Vec<Cells>, parameters: usize) -> Likelihood<'a> {
        let cells = cells.into_iter().filter(|c| c.len() > 0).collect();
        Likelihood { inner, cells, parameters, blur: 0.0 }
    }

    /// The numbers compared.
    pub(crate) fn observations(&self) -> usize {
        self.cells.iter().filter(|c| !c.prior).map(Cells::len).sum()
    }

    /// Says that numbers of the problem inside have errors of this share of themselves.
    pub(crate) fn blur_of(&mut self, theta: &[f64], share: f64) {
        let Ok(known) = self.known(theta, false) else { return };
        let mut sum = 0.0;
        for ((cells, slopes), of) in self.cells.iter().zip(&known.slopes).zip(&known.of) {
            let Ok(sharp) = cells.density.curvature(&cells.y, of, slopes) else { return };
            for ((sharp, of), from) in sharp.iter().zip(of).zip(&cells.from) {
                let inner = sharp.iter().zip(of).zip(from).filter(|(_, s)| matches!(s, Source::Inner(_)));
                sum += inner.map(|((c, x), _)| c * (share * x).powi(2)).sum::<f64>();
            }
        }
        self.blur = if sum.is_finite() { sum } else { 0.0 };
    }

    /// What distributions have become whose first argument has run off.
    pub(crate) fn limits(&self, theta: &[f64]) -> Vec<&'static str> {
        let mut eta = vec![0.0; self.inner.count()];
        if self.inner.evaluate(self.inside(theta), &mut eta, None).is_err() {
            return vec![];
        }
        let off = |c: &Cells| c.predictors(&eta, theta).is_ok_and(|of| of.get(1).is_some_and(|x| x.iter().all(|x| *x > RAN_OFF)));
        self.cells.iter().filter(|c| off(c)).filter_map(|c| c.limit).collect()
    }

    /// Whether the errors of some data are estimated to be nothing: the last argument of a distribution on the line is its scale.
    pub(crate) fn collapsed(&self, theta: &[f64]) -> bool {
        let mut eta = vec![0.0; self.inner.count()];
        if self.inner.evaluate(self.inside(theta), &mut eta, None).is_err() {
            return false;
        }
        let none = |c: &Cells| {
            let size = if c.by_factors { spread(&c.y.iter().map(|y| y.ln()).collect::<Vec<f64>>()) } else { spread(&c.y) };
            c.predictors(&eta, theta).is_ok_and(|of| of.len() > 1 && of[of.len() - 1].iter().all(|s| *s < COLLAPSED * size))
        };
        self.cells.iter().any(|c| !c.prior && none(c))
    }

    fn inside<'t>(&self, theta: &'t [f64]) -> &'t [f64] {
        &theta[..self.inner.parameters()]
    }

    /// The log-likelihood of the data, and the logarithm of the priors.
    pub(crate) fn parts(&self, theta: &[f64]) -> Result<(f64, f64), Unusable> {
        let mut eta = vec![0.0; self.inner.count()];
        self.inner.evaluate(self.inside(theta), &mut eta, None)?;
        let (mut data, mut priors) = (0.0, 0.0);
        for cells in &self.cells {
            let values = cells.density.values(&cells.y, &cells.predictors(&eta, theta)?)?;
            cells.finite(&values)?;
            *if cells.prior { &mut priors } else { &mut data } += values.iter().sum::<f64>();
        }
        Ok((data, priors))
    }

    fn known(&self, theta: &[f64], second: bool) -> Result<Known, Unusable> {
        self.known_beside(theta, second, None)
    }

    /// The same; `locations`: those of another point, for cells whose density has a kink there.
    fn known_beside(&self, theta: &[f64], second: bool, locations: Option<&Locations>) -> Result<Known, Unusable> {
        let (m, p) = (self.inner.count(), self.inner.parameters());
        let (mut eta, mut jacobian) = (vec![0.0; m], vec![0.0; m * p]);
        self.inner.evaluate(self.inside(theta), &mut eta, Some(&mut jacobian))?;
        let (mut slopes, mut of) = (Vec::new(), Vec::new());
        for (k, cells) in self.cells.iter().enumerate() {
            let mut predictors = cells.predictors(&eta, theta)?;
            if let (true, Some(held)) = (cells.density.is_kinked(0), locations) {
                predictors[0].clone_from(&held.0[k]);
            }
            let found = cells.density.slopes(&cells.y, &predictors, second)?;
            cells.finite(&found.values)?;
            found.first.iter().chain(&found.second).try_for_each(|part| cells.finite(part))?;
            slopes.push(found);
            of.push(predictors);
        }
        Ok(Known { jacobian, slopes, of })
    }

    /// How a number that predicts moves with the parameters that move it: shown one by one.
    fn moves(&self, jacobian: &[f64], source: Source, mut show: impl FnMut(usize, f64)) {
        let m = self.inner.count();
        match source {
            Source::Inner(i) => (0..self.inner.parameters()).for_each(|j| show(j, jacobian[j * m + i])),
            Source::Own(j) => show(j, 1.0),
            Source::Number(_) => {}
        }
    }

    /// Half the slope of minus twice the log-likelihood, and half its second derivatives, row by row: the observed information, about
    /// locations where densities have a kink the expected one. Exact where the problem inside has second derivatives; `None`: it has none.
    pub(crate) fn information(&self, theta: &[f64]) -> Result<(Vec<f64>, Option<Vec<f64>>), Unusable> {
        let p = self.parameters;
        let known = self.known(theta, true)?;
        let (mut slope, mut matrix) = (vec![0.0; p], vec![0.0; p * p]);
        let mut times = vec![0.0; self.inner.count()];
        for (cells, slopes) in self.cells.iter().zip(&known.slopes) {
            let d = cells.density.size;
            for cell in 0..cells.len() {
                let rows: Vec<Vec<(usize, f64)>> = (0..d)
                    .map(|a| {
                        let mut row = Vec::new();
                        self.moves(&known.jacobian, cells.from[a][cell], |j, x| row.push((j, x)));
                        row
                    })
                    .collect();
                for a in 0..d {
                    let first = slopes.first[a][cell];
                    rows[a].iter().for_each(|&(j, x)| slope[j] -= first * x);
                    // The slope of a kink is 0 on average: which side of it a cell lies on says nothing of how the prediction bends.
                    if let (false, Source::Inner(i)) = (cells.density.is_kinked(a), cells.from[a][cell]) {
                        times[i] += first;
                    }
                    for b in 0..d {
                        let second = slopes.second[a * d + b][cell];
                        for &(i, x) in &rows[a] {
                            rows[b].iter().for_each(|&(j, y)| matrix[i * p + j] -= second * x * y);
                        }
                    }
                }
            }
        }
        let Some(inner) = self.inner.second(self.inside(theta), &times) else { return Ok((slope, None)) };
        let (inner, q) = (inner?, self.inner.parameters());
        (0..q).for_each(|i| (0..q).for_each(|j| matrix[i * p + j] -= inner[i * q + j]));
        Ok((slope, Some(matrix)))
    }

    /// Where densities have a kink: the locations at a point, and half the second derivatives that come of these.
    pub(crate) fn kinks(&self, theta: &[f64]) -> Result<(Locations, Vec<f64>), Unusable> {
        let p = self.parameters;
        let kinked = |c: &Cells| c.density.is_kinked(0);
        let mut matrix = vec![0.0; p * p];
        if !self.cells.iter().any(kinked) {
            return Ok((Locations(vec![vec![]; self.cells.len()]), matrix));
        }
        let known = self.known(theta, true)?;
        for (cells, slopes) in self.cells.iter().zip(&known.slopes).filter(|(c, _)| kinked(c)) {
            for (second, source) in slopes.second[0].iter().zip(&cells.from[0]) {
                let mut row = Vec::new();
                self.moves(&known.jacobian, *source, |j, x| row.push((j, x)));
                for &(i, x) in &row {
                    row.iter().for_each(|&(j, y)| matrix[i * p + j] -= second * x * y);
                }
            }
        }
        Ok((Locations(known.of.iter().map(|of| of[0].clone()).collect()), matrix))
    }

    /// Half the slope of minus twice the log-likelihood, but for that by locations where densities have a kink, which are held.
    pub(crate) fn smooth_slope(&self, theta: &[f64], locations: &Locations) -> Result<Vec<f64>, Unusable> {
        let known = self.known_beside(theta, false, Some(locations))?;
        let mut slope = vec![0.0; self.parameters];
        for (cells, slopes) in self.cells.iter().zip(&known.slopes) {
            for (a, (first, from)) in slopes.first.iter().zip(&cells.from).enumerate() {
                if cells.density.is_kinked(a) {
                    continue;
                }
                for (g, source) in first.iter().zip(from) {
                    self.moves(&known.jacobian, *source, |j, x| slope[j] -= g * x);
                }
            }
        }
        Ok(slope)
    }
}

impl Residuals for Likelihood<'_> {
    fn parameters(&self) -> usize {
        self.parameters
    }

    fn count(&self) -> usize {
        self.cells.iter().map(|c| c.len() * c.density.size).sum()
    }

    fn blur(&self) -> f64 {
        self.blur
    }

    fn is_likelihood(&self) -> bool {
        true
    }

    fn evaluate(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<(), Unusable> {
        self.objective(theta, residuals, jacobian).map(|_| ())
    }

    fn objective(&self, theta: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>) -> Result<Option<f64>, Unusable> {
        let Some(jacobian) = jacobian else {
            residuals.fill(0.0);
            let (data, priors) = self.parts(theta)?;
            return Ok(Some(-2.0 * (data + priors)));
        };
        let known = self.known(theta, false)?;
        let m = residuals.len();
        jacobian.fill(0.0);
        let (mut at, mut sum) = (0, 0.0);
        for ((cells, slopes), of) in self.cells.iter().zip(&known.slopes).zip(&known.of) {
            let sharp = cells.density.curvature(&cells.y, of, slopes)?;
            sum += slopes.values.iter().sum::<f64>();
            for ((first, sharp), from) in slopes.first.iter().zip(&sharp).zip(&cells.from) {
                for ((g, c), source) in first.iter().zip(sharp).zip(from) {
                    let root = c.sqrt();
                    residuals[at] = if root > 0.0 { -g / root } else { 0.0 };
                    self.moves(&known.jacobian, *source, |j, x| jacobian[j * m + at] = root * x);
                    at += 1;
                }
            }
        }
        if !all_finite(residuals) || !all_finite(jacobian) {
            return Err(Unusable("a derivative of the likelihood is not finite".into()));
        }
        Ok(Some(-2.0 * sum))
    }
}
