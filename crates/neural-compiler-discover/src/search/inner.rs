//! What stands inside of functions. In: columns; out: arguments with values, units and text, the simplest first.
//! Invariant: an argument is finite in every row of the scan.

use super::columns::Columns;
use super::monomial::{self, Monomial};

/// A function of an angle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wave {
    Sin,
    Cos,
}

impl Wave {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Wave::Sin => "sin",
            Wave::Cos => "cos",
        }
    }

    fn at(self, x: f64) -> f64 {
        match self {
            Wave::Sin => x.sin(),
            Wave::Cos => x.cos(),
        }
    }
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// A product of powers.
    Product(Monomial),
    /// A product of powers times a function of an angle.
    Times(Monomial, Wave, Box<Form>),
    /// The difference of two inputs.
    Difference(usize, usize),
    /// The square of a difference of two inputs, times a product of powers.
    Square(usize, usize, Monomial),
}

/// An argument with its values.
#[derive(Clone, Debug)]
pub(crate) struct Inner {
    pub(crate) form: Form,
    pub(crate) values: Vec<f64>,
    /// Whether it is a pure number; `None`: units are not known.
    pub(crate) pure: Option<bool>,
    /// Roughly how much there is to read.
    pub(crate) size: f64,
}

impl Form {
    pub(crate) fn text(&self, names: &[String]) -> String {
        match self {
            Form::Product(m) => m.text(names, &[]),
            Form::Times(m, wave, angle) => m.text(names, &[format!("({} {})", wave.name(), angle.text(names))]),
            Form::Difference(i, j) => format!("(- {} {})", names[*i], names[*j]),
            Form::Square(i, j, m) => m.text(names, &[format!("(square (- {} {}))", names[*i], names[*j])]),
        }
    }

    fn values(&self, columns: &Columns) -> Vec<f64> {
        let times = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> { a.iter().zip(&b).map(|(a, b)| a * b).collect() };
        let difference = |i: usize, j: usize| columns.values[i].iter().zip(&columns.values[j]).map(|(a, b)| a - b);
        match self {
            Form::Product(m) => m.values(columns),
            Form::Times(m, wave, angle) => times(m.values(columns), angle.values(columns).iter().map(|x| wave.at(*x)).collect()),
            Form::Difference(i, j) => difference(*i, *j).collect(),
            Form::Square(i, j, m) => times(difference(*i, *j).map(|d| d * d).collect(), m.values(columns)),
        }
    }
}

/// Whether two inputs may be added: of one unit, or of none that is known.
fn alike(columns: &Columns, i: usize, j: usize) -> bool {
    columns.units.as_ref().is_none_or(|u| u[i] == u[j])
}

/// Whether a form is surely no pure number.
fn pure(columns: &Columns, m: &Monomial) -> Option<bool> {
    m.pure(columns)
}

/// Arguments of angles: pure numbers, as far as is known.
fn angles(columns: &Columns) -> Vec<Form> {
    let n = columns.inputs();
    let angle = |m: &Monomial| pure(columns, m) != Some(false);
    let span = |k: usize| columns.values[k].iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    let mut out: Vec<Form> =
        (0..n).map(|k| Monomial::input(n, k)).filter(angle).filter(|m| span_of(m, columns) > 0.3).map(Form::Product).collect();
    for i in 0..n {
        for j in i + 1..n {
            let mut both = Monomial::input(n, i);
            both.0[j] = 2;
            if angle(&both) && span(i) * span(j) < 200.0 {
                out.push(Form::Product(both));
            }
            if alike(columns, i, j) && angle(&Monomial::input(n, i)) && span(i).max(span(j)) < 200.0 {
                out.push(Form::Difference(i, j));
            }
        }
    }
    out
}

fn span_of(m: &Monomial, columns: &Columns) -> f64 {
    m.values(columns).iter().fold(0.0, |a: f64, x| a.max(x.abs()))
}

/// All arguments, at most so many products.
pub(crate) fn all(columns: &Columns, products: usize) -> Vec<Inner> {
    let n = columns.inputs();
    let mut forms: Vec<(Form, Option<bool>, f64)> = Vec::new();
    for m in monomial::all(n, 4, 3, products).into_iter().filter(|m| !m.is_one()) {
        let (pure, size) = (pure(columns, &m), m.degree());
        forms.push((Form::Product(m), pure, size));
    }
    let waves = angles(columns);
    for angle in &waves {
        for wave in [Wave::Cos, Wave::Sin] {
            for m in monomial::all(n, 4, 2, 250) {
                let (pure, size) = (pure(columns, &m), m.degree() + 3.0);
                forms.push((Form::Times(m, wave, Box::new(angle.clone())), pure, size));
            }
        }
        if let Form::Difference(..) = angle {
            forms.push((angle.clone(), Some(true), 3.0));
        }
    }
    for i in 0..n {
        for j in i + 1..n {
            if alike(columns, i, j) {
                for m in monomial::all(n, 2, 2, 100) {
                    let whole = {
                        let mut w = m.clone();
                        w.0[i] += 4;
                        w
                    };
                    let (pure, size) = (pure(columns, &whole), m.degree() + 4.0);
                    forms.push((Form::Square(i, j, m), pure, size));
                }
            }
        }
    }
    let finished = forms.into_iter().map(|(form, pure, size)| Inner { values: form.values(columns), form, pure, size });
    finished.filter(|i| i.values.iter().all(|x| x.is_finite()) && i.values.iter().any(|x| *x != i.values[0])).collect()
}
