//! What cells of a table observe. In: what a program declares, a table, options; out: targets with their values, which of them are
//! censored, and for each distribution the cells it has.

use super::density::Density;
use super::problem::{Cells, Source};
use crate::data::table::{Side, Table};
use crate::fit::wrong;
use crate::model::layout::{Layout, element_names};
use crate::options::Options;
use crate::report::Noise;
use neural_compiler::syntax::distributions::{self, Distribution, Support};
use neural_compiler::{Diagnostic, Diagnostics, Program, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// Whether a program asks for more than least squares: it declares noise, log-likelihoods, priors or groups, or observes without states.
pub(crate) fn is_wanted(program: &Program) -> bool {
    use neural_compiler::syntax::ast::{Input, InputKind, ModelKind};
    let formula = program.kind() == ModelKind::Expression;
    let more = |i: &Input| matches!(&i.kind, InputKind::Param(info) if info.prior.is_some() || info.per.is_some());
    if program.inputs().iter().chain(program.observables().map_or(&[][..], |o| o.1.inputs())).any(more) {
        return true;
    }
    program.loglik().is_some() || program.noise().iter().any(|n| n.is_some() || formula)
}

/// A column that observes a number of the model.
pub(crate) struct Target {
    /// The column.
    pub(crate) name: String,
    /// Its values, row by row of the table, or where they were censored; NaN where there is none.
    pub(crate) values: Vec<f64>,
    /// Which of them are censored, and to which side; empty: none is.
    pub(crate) sides: Vec<Side>,
    /// Which of the numbers that are predicted is its location.
    pub(crate) location: usize,
    pub(crate) noise: Errors,
}

/// How errors are distributed.
#[derive(Clone)]
pub(crate) enum Errors {
    /// As declared, with the numbers that are the arguments.
    Declared(&'static Distribution, Vec<usize>),
    /// Normal, with a standard deviation that is estimated; the number of it among such.
    Estimated(usize),
    /// Normal, with a standard deviation that is known, row by row.
    Known(Vec<f64>),
}

impl Errors {
    pub(crate) fn distribution(&self) -> &'static Distribution {
        match self {
            Errors::Declared(d, _) => d,
            Errors::Estimated(_) | Errors::Known(_) => distributions::noise("normal").expect("it is in the table"),
        }
    }
}

/// What is wrong with options that say of errors what the model says itself.
pub(crate) fn check(program: &Program, layout: &Layout, options: &Options<'_>) -> Result<(), Diagnostics> {
    if layout.weights() > 0 {
        let message = "nets are trained by least squares, and the model says how its errors are distributed";
        return Err(Diagnostic::error("not-with-nets", Default::default(), message)
            .help("leave the noise out, or put a formula in the place of the net")
            .into());
    }
    if options.loss.is_some_and(|l| l != crate::Loss::Squares) {
        let message = "a robust loss is for a formula of one column, or for states, and this model is fitted by its likelihood";
        let help = "that is so where noise, priors, `:per` or, in a formula, `observe` are declared; heavy tails are those of \
                    (student-t nu s) or (laplace s)";
        return Err(Diagnostic::error("bad-loss", Default::default(), message).help(help).into());
    }
    let given = options.sigma.is_some() || options.sigma_column.is_some() || options.weights_column.is_some();
    if given && program.noise().iter().any(Option::is_some) {
        let message = "the model says itself how its errors are distributed";
        let help = "an error that is a column is an argument of its distribution: (normal sd)";
        return Err(Diagnostic::error("bad-sigma", Default::default(), message).help(help).into());
    }
    if options.weights_column.is_some() {
        return Err(wrong(
            "bad-sigma",
            "weights belong to least squares, and a model with noise, priors, `:per` or, as a formula, `observe` is fitted by its \
             likelihood; --sigma gives standard deviations",
        ));
    }
    Ok(())
}

/// The columns that observe what a program declares, those of the table that are there. `first`: the place of the first observable among
/// the numbers that are predicted.
/// `only`: the one that was asked for, by its name or that of an element.
pub(crate) fn declared(
    program: &Program,
    table: &Table,
    first: usize,
    only: Option<&str>,
    sigmas: &mut Sigmas<'_>,
) -> Result<Vec<Target>, Diagnostics> {
    let mut targets = Vec::new();
    let mut at = 0;
    let names = program.observables().map_or(&[][..], |o| o.0);
    for ((name, shape), noise) in names.iter().zip(program.noise()) {
        let elements = chosen(only, name, element_names(name, *shape));
        // What nobody observed has no errors to be estimated.
        let seen = elements.iter().any(|(_, e)| seen(table, e));
        let estimated = (noise.is_none() && seen).then(|| sigmas.next());
        for (k, element) in elements {
            let errors = match (noise, &estimated) {
                (Some(n), _) => {
                    let place = |(at, of): &(usize, Shape)| first + at + if *of == Shape::Scalar { 0 } else { k };
                    Errors::Declared(n.distribution, n.arguments.iter().map(place).collect())
                }
                (None, Some(errors)) => errors.clone(),
                (None, None) => continue,
            };
            targets.extend(target(table, element, first + at + k, errors)?);
        }
        at += shape.len();
    }
    Ok(targets)
}

/// The elements of a number that are wanted, with their places in it.
pub(crate) fn chosen(only: Option<&str>, name: &str, elements: Vec<String>) -> Vec<(usize, String)> {
    elements.into_iter().enumerate().filter(|(_, e)| only.is_none_or(|only| only == name || only == e)).collect()
}

/// Whether a column has a value, or cells that cannot be read, which is for others to tell.
pub(crate) fn seen(table: &Table, name: &str) -> bool {
    match (table.column(name), table.censored(name)) {
        (Some(values), _) => values.iter().any(|x| !x.is_nan()),
        (None, Some(_)) => true,
        (None, None) => table.lists(name),
    }
}

/// A column as a target, if the table has it.
pub(crate) fn target(table: &Table, name: String, location: usize, noise: Errors) -> Result<Option<Target>, Diagnostics> {
    let (values, sides) = match (table.column(&name), table.censored(&name)) {
        (Some(values), _) => (values.to_vec(), vec![]),
        (None, Some((values, sides))) => (values.to_vec(), sides.to_vec()),
        (None, None) if table.lists(&name) => return Err(table.missing(&name).into()),
        (None, None) => return Ok(None),
    };
    let target = Target { name, values, sides, location, noise };
    target.check()?;
    Ok(Some(target))
}

impl Target {
    /// Every value is one its distribution can have.
    fn check(&self) -> Result<(), Diagnostics> {
        let distribution = self.noise.distribution();
        let bad = |row: usize, message: String, help: &str| {
            let message = format!("row {}, column `{}`: {message}", row + 1, self.name);
            Diagnostics::from(Diagnostic::error("bad-value", Default::default(), message).help(help))
        };
        for (row, &y) in self.values.iter().enumerate() {
            if y.is_nan() {
                continue;
            }
            if y.is_infinite() {
                return Err(bad(row, "the value is infinite".into(), "remove the row, or fill the value in"));
            }
            let side = self.side(row);
            let tail = match side {
                Side::Seen => Some(distribution.density),
                Side::Below => distribution.below,
                Side::Above => distribution.above,
            };
            if tail.is_none() {
                let message = format!("a {} observation cannot be censored", distribution.name);
                return Err(bad(row, message, "remove the row, or declare another distribution"));
            }
            if side == Side::Seen && !distribution.support.holds(y) {
                let message = format!("{y} is no {} observation, which is {}", distribution.name, distribution.support.words());
                return Err(bad(row, message, "mend the cell, or declare another distribution"));
            }
            // Whole numbers below 0, or positive ones below it, there are none.
            let none = side == Side::Below && y <= 0.0 && distribution.support != distributions::Support::Line;
            if none || side == Side::Above && y < 0.0 && distribution.support != distributions::Support::Line {
                let message = format!("no {} observation says so: it is {}", distribution.name, distribution.support.words());
                return Err(bad(row, message, "mend the cell, or declare another distribution"));
            }
        }
        Ok(())
    }

    /// To which side the value of a row is censored.
    pub(crate) fn side(&self, row: usize) -> Side {
        self.sides.get(row).copied().unwrap_or(Side::Seen)
    }

    /// How many values are censored.
    pub(crate) fn censored(&self) -> usize {
        (0..self.values.len()).filter(|&row| !self.values[row].is_nan() && self.side(row) != Side::Seen).count()
    }

    /// The values that are seen; NaN elsewhere.
    pub(crate) fn seen(&self) -> Vec<f64> {
        (0..self.values.len()).map(|row| if self.side(row) == Side::Seen { self.values[row] } else { f64::NAN }).collect()
    }

    /// The standard deviation of the values.
    pub(crate) fn scatter(&self) -> f64 {
        let there: Vec<f64> = self.values.iter().copied().filter(|x| x.is_finite()).collect();
        let n = there.len().max(1) as f64;
        let mean = there.iter().sum::<f64>() / n;
        let root = (there.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
        if root > 0.0 { root } else { 1.0 }
    }

    /// What is assumed of its errors, in words.
    pub(crate) fn words(&self, program: &Program) -> Noise {
        let words = match &self.noise {
            Errors::Declared(d, _) => declaration(program, &self.name).unwrap_or_else(|| d.usage()),
            Errors::Estimated(_) => format!("(normal sigma[{}])", self.name),
            Errors::Known(_) => "(normal s) of known s".into(),
        };
        Noise { column: self.name.clone(), words, censored: self.censored() }
    }
}

/// The distribution of an observable as the model writes it.
fn declaration(program: &Program, name: &str) -> Option<String> {
    use neural_compiler::syntax::reader::read;
    let source = program.scheme();
    let (data, _) = read(&source, &neural_compiler::Limits { source_bytes: usize::MAX, ..Default::default() });
    let text = |d| data.symbol(d).map(|s| data.names.text(s));
    let base = name.split('[').next().unwrap_or(name);
    data.top.iter().find_map(|&d| match data.list(d)? {
        [head, of, _, options @ ..] if text(*head) == Some("observe") && (text(*of) == Some(base) || text(*of) == Some(name)) => {
            let noise = options[options.iter().position(|&o| text(o) == Some(":noise"))?..].get(1)?;
            Some(data.span(*noise).text(&source).to_string())
        }
        _ => None,
    })
}

/// Standard deviations where the model declares none: given, or to be estimated.
pub(crate) struct Sigmas<'a> {
    pub(crate) table: &'a Table,
    pub(crate) options: &'a Options<'a>,
    pub(crate) count: usize,
}

impl Sigmas<'_> {
    /// Those of the next observable.
    pub(crate) fn next(&mut self) -> Errors {
        if let Some(s) = self.options.sigma {
            return Errors::Known(vec![s; self.table.rows()]);
        }
        if let Some(column) = self.options.sigma_column.as_deref().and_then(|name| self.table.column(name)) {
            return Errors::Known(column.to_vec());
        }
        self.count += 1;
        Errors::Estimated(self.count - 1)
    }
}

/// The cells of some targets. `inner(target, number, row)`: where among the residuals of the problem inside a number that predicts a row
/// is; `None`: the row is not compared. `own`: where the standard deviations that are estimated begin among the parameters.
pub(crate) fn cells(
    targets: &[Target],
    own: usize,
    densities: &mut Densities,
    inner: impl Fn(usize, usize, usize) -> Option<usize>,
) -> Vec<Cells> {
    let mut all: Vec<((&'static str, Side), Cells)> = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let distribution = target.noise.distribution();
        for (row, &y) in target.values.iter().enumerate() {
            if y.is_nan() {
                continue;
            }
            let Some(location) = inner(number, target.location, row) else { continue };
            let key = (distribution.name, target.side(row));
            let density = densities.noise(distribution, key.1);
            let mut sources = vec![Source::Inner(location)];
            match &target.noise {
                Errors::Declared(_, arguments) => {
                    sources.extend(arguments.iter().filter_map(|&a| inner(number, a, row)).map(Source::Inner));
                }
                Errors::Estimated(k) => sources.push(Source::Own(own + k)),
                Errors::Known(s) => sources.push(Source::Number(s[row])),
            }
            let place = match all.iter().position(|(k, _)| *k == key) {
                Some(place) => place,
                None => {
                    let possible = (distribution.possible, distribution.rule);
                    let (from, places) = (vec![vec![]; density.size], vec![]);
                    let (limit, by_factors) = (distribution.limit, distribution.support == Support::Positive);
                    let of = Cells { density: density.clone(), y: vec![], from, possible, limit, by_factors, places, prior: false };
                    all.push((key, of));
                    all.len() - 1
                }
            };
            let cells = &mut all[place].1;
            // A whole number below 5 is 4 at most; one above 4.5 is above 4.
            let whole = distribution.support.is_whole();
            cells.y.push(match key.1 {
                Side::Below if whole => y.ceil() - 1.0,
                Side::Above if whole => y.floor(),
                _ => y,
            });
            cells.from.iter_mut().zip(sources).for_each(|(from, s)| from.push(s));
            cells.places.push(format!("row {}, column `{}`", row + 1, target.name));
        }
    }
    all.into_iter().map(|(_, cells)| cells).collect()
}

/// Densities that were made, by name and side.
#[derive(Default)]
pub(crate) struct Densities {
    noises: HashMap<(&'static str, Side), Arc<Density>>,
    priors: HashMap<&'static str, Arc<Density>>,
    rows: Option<Arc<Density>>,
}

impl Densities {
    fn noise(&mut self, distribution: &'static Distribution, side: Side) -> Arc<Density> {
        self.noises.entry((distribution.name, side)).or_insert_with(|| Arc::new(made(distribution, side))).clone()
    }

    pub(crate) fn prior(&mut self, distribution: &'static Distribution, make: impl FnOnce() -> Density) -> Arc<Density> {
        self.priors.entry(distribution.name).or_insert_with(|| Arc::new(make())).clone()
    }
}

/// The density of a distribution, or of its tail to a side.
pub(crate) fn made(distribution: &Distribution, side: Side) -> Density {
    let names: Vec<&str> = std::iter::once("m").chain(distribution.arguments.iter().copied()).collect();
    let text = match side {
        Side::Seen => distribution.density,
        Side::Below => distribution.below.unwrap_or(distribution.density),
        Side::Above => distribution.above.unwrap_or(distribution.density),
    };
    let kinked = distribution.kinked.filter(|_| side == Side::Seen);
    Density::new(text, &names, distribution.curvature, kinked)
}

/// What rows add by themselves: the number itself is the log-likelihood.
pub(crate) fn per_row(rows: &[usize], densities: &mut Densities, inner: impl Fn(usize) -> usize) -> Cells {
    Cells {
        density: densities.rows.get_or_insert_with(|| Arc::new(Density::new("m", &["m"], &[], None))).clone(),
        y: vec![0.0; rows.len()],
        from: vec![rows.iter().map(|&row| Source::Inner(inner(row))).collect()],
        possible: (|_, of| of[0].is_finite(), "a log-likelihood is a number"),
        limit: None,
        by_factors: false,
        places: rows.iter().map(|row| format!("row {}", row + 1)).collect(),
        prior: false,
    }
}
