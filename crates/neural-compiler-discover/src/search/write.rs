//! Laws as text. In: a law of the scan; out: a model with its constants declared where the scan found them.
//! Invariant: of the ways to write a factor 1 + k a/b the shortest is chosen.

use super::columns::Columns;
use super::factors::{Factor, Law, Shape};
use super::inner::Form;
use super::monomial::{Monomial, power};
use crate::problem::Problem;
use crate::text::complexity;
use neural_compiler::number_text;

/// A law as a model.
pub(crate) fn model(problem: &Problem, columns: &Columns, law: &Law, scale: Option<f64>) -> Option<String> {
    let plain = written(problem, columns, law, scale, &[])?;
    // Every factor 1 + k a/b may also be (b + k a)/b.
    let sums: Vec<usize> = (0..law.factors.len()).filter(|&k| law.factors[k].shape == Shape::Sum).collect();
    let mut best = plain;
    for choice in 1..1usize << sums.len() {
        let spread: Vec<usize> = sums.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, k)| *k).collect();
        if let Some(text) = written(problem, columns, law, scale, &spread)
            && complexity(&text) < complexity(&best)
        {
            best = text;
        }
    }
    Some(best)
}

fn written(problem: &Problem, columns: &Columns, law: &Law, scale: Option<f64>, spread: &[usize]) -> Option<String> {
    let names = &columns.names;
    let inner = problem.fresh("k", law.factors.len());
    let mut twice: Vec<f64> = law.powers.iter().map(|p| 2.0 * p).collect();
    let mut declared = Vec::new();
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for (k, factor) in law.factors.iter().enumerate() {
        let constant = if factor.fixed {
            None
        } else {
            declared.push(format!("(param {} {})", inner[k], number_text(factor.constant)));
            Some(inner[k].clone())
        };
        if factor.shape == Shape::Exp {
            declared.push(format!("(param {} {})", inner[k], number_text(factor.exponent)));
            above.push(format!("(exp (* {} {}))", inner[k], factor.form.text(names)));
            continue;
        }
        let base = match (factor.shape, spread.contains(&k)) {
            (Shape::Sum, true) => {
                let (den, num) = split(&factor.form, names)?;
                for (t, d) in twice.iter_mut().zip(&den.0) {
                    *t -= factor.exponent * f64::from(*d);
                }
                sum(&den.text(names, &[]), &num, factor, constant.as_deref())
            }
            (Shape::Sum, false) => sum("1", &factor.form.text(names), factor, constant.as_deref()),
            (shape, _) => function(shape, &factor.form.text(names), factor, constant.as_deref()),
        };
        let place = if factor.exponent > 0.0 { &mut above } else { &mut below };
        place.extend(power(&base, (2.0 * factor.exponent.abs()).round() as i32));
    }
    if twice.iter().any(|t| t.fract() != 0.0 || t.abs() > 40.0) {
        return None;
    }
    let whole = Monomial(twice.iter().map(|t| *t as i32).collect());
    let name = &problem.fresh("c", 1)[0];
    match scale {
        None => {
            let size = law.scale.exp() * sign(columns, law);
            if !size.is_finite() || size == 0.0 {
                return None;
            }
            declared.insert(0, format!("(param {name} {})", number_text(size)));
            above.insert(0, name.clone());
        }
        Some(1.0) => {}
        Some(number) => above.insert(0, number_text(number)),
    }
    let text = match below.is_empty() {
        true => whole.text(names, &above),
        // The powers below the line belong to those of the inputs below it.
        false => over(&whole, names, &above, below),
    };
    declared.push(text);
    Some(declared.join("\n"))
}

fn over(whole: &Monomial, names: &[String], above: &[String], below: Vec<String>) -> String {
    let up = Monomial(whole.0.iter().map(|e| (*e).max(0)).collect());
    let down = Monomial(whole.0.iter().map(|e| (-*e).max(0)).collect());
    format!("(/ {} {})", up.text(names, above), down.text(names, &below))
}

/// What stands below and above the line of an argument.
fn split(form: &Form, names: &[String]) -> Option<(Monomial, String)> {
    let parts = |m: &Monomial| {
        let below = Monomial(m.0.iter().map(|e| (-*e).max(0)).collect());
        let above = Monomial(m.0.iter().map(|e| (*e).max(0)).collect());
        (below, above)
    };
    match form {
        Form::Product(m) => {
            let (below, above) = parts(m);
            Some((below, above.text(names, &[])))
        }
        Form::Times(m, wave, angle) => {
            let (below, above) = parts(m);
            Some((below, above.text(names, &[format!("({} {})", wave.name(), angle.text(names))])))
        }
        _ => None,
    }
}

fn sum(first: &str, second: &str, factor: &Factor, constant: Option<&str>) -> String {
    match (constant, factor.constant) {
        (Some(k), _) => match second.strip_prefix("(* ") {
            Some(rest) => format!("(+ {first} (* {k} {rest})"),
            None => format!("(+ {first} (* {k} {second}))"),
        },
        (None, 1.0) => format!("(+ {first} {second})"),
        (None, -1.0) => format!("(- {first} {second})"),
        (None, c) => format!("(+ {first} (* {} {second}))", number_text(c)),
    }
}

fn function(shape: Shape, text: &str, factor: &Factor, constant: Option<&str>) -> String {
    let inside = match (constant, factor.constant) {
        (Some(k), _) => match text.strip_prefix("(* ") {
            Some(rest) => format!("(* {k} {rest}"),
            None => format!("(* {k} {text})"),
        },
        (None, 1.0) => text.to_string(),
        (None, c) => format!("(* {} {text})", number_text(c)),
    };
    match shape {
        Shape::Sin => format!("(sin {inside})"),
        Shape::Cos => format!("(cos {inside})"),
        Shape::Tanh => format!("(tanh {inside})"),
        Shape::Log => format!("(log {inside})"),
        Shape::Less => format!("(- (exp {inside}) 1)"),
        Shape::More => format!("(+ (exp {inside}) 1)"),
        Shape::Sum | Shape::Exp => inside,
    }
}

/// The sign of the constant before all: that with which most rows agree.
fn sign(columns: &Columns, law: &Law) -> f64 {
    let mut votes = 0.0;
    for row in 0..columns.target.len() {
        let mut signs = columns.target[row].signum();
        for (p, v) in law.powers.iter().zip(&columns.values) {
            if p.fract() == 0.0 && p.rem_euclid(2.0) == 1.0 {
                signs *= v[row].signum();
            }
        }
        for f in &law.factors {
            signs *= f.sign(row);
        }
        votes += signs;
    }
    if votes < 0.0 { -1.0 } else { 1.0 }
}
