//! Powers of sums. In: columns; out: laws in which a power of the target is a sum of few products of powers, coefficients exact.
//! Invariant: what is compared is the error of the target, or of its logarithm, not that of its power.

use super::columns::Columns;
use super::inner::{Form, Inner};
use super::monomial::{self, Monomial};
use crate::problem::Problem;
use crate::terms::select::{Products, select};
use crate::text::sum;
use neural_compiler::number_text;

/// Powers of the target, twice.
const POWERS: [i32; 6] = [2, -2, 4, -4, 1, -1];
/// Products of powers tried.
const PRODUCTS: usize = 700;

/// A law with what it leaves, as a mean square, and what is compared.
pub(crate) struct Summed {
    pub(crate) text: String,
    pub(crate) cost: f64,
}

/// Laws of two to four summands, of few rows of two, the best first.
pub(crate) fn sums(problem: &Problem, columns: &Columns, inners: &[Inner], relative: bool) -> Vec<Summed> {
    let n = columns.inputs();
    let positive = columns.target.iter().all(|y| *y > 0.0);
    let mut terms: Vec<(Form, Vec<f64>, f64)> = vec![(Form::Product(Monomial::one(n)), vec![1.0; columns.target.len()], 1.0)];
    for m in monomial::all(n, 6, 4, PRODUCTS).into_iter().filter(|m| !m.is_one()) {
        let (values, size) = (m.values(columns), m.degree());
        terms.push((Form::Product(m), values, size));
    }
    let waves = inners.iter().filter(|i| matches!(i.form, Form::Times(..))).take(300);
    terms.extend(waves.map(|i| (i.form.clone(), i.values.clone(), i.size)));
    terms.retain(|t| t.1.iter().all(|x| x.is_finite()));
    let mut found = Vec::new();
    for twice in POWERS.into_iter().filter(|p| p % 2 == 0 || positive) {
        let q = f64::from(twice) / 2.0;
        let power = |y: f64| if twice % 2 == 0 { y.powi(twice / 2) } else { y.powf(q) };
        // An error of the target moves its power by this much.
        let weight = |y: f64| if relative { 1.0 / (q * power(y)).abs() } else { (y / (q * power(y))).abs() / largest(columns) };
        let weights: Vec<f64> = columns.target.iter().map(|y| weight(*y)).collect();
        let weighted = |c: &[f64]| -> Vec<f64> { c.iter().zip(&weights).map(|(x, w)| x * w).collect() };
        let wanted = weighted(&columns.target.iter().map(|y| power(*y)).collect::<Vec<_>>());
        let total: f64 = wanted.iter().map(|x| x * x).sum();
        if !total.is_finite() || total == 0.0 {
            continue;
        }
        let products = Products::new(&terms.iter().map(|t| weighted(&t.1)).collect::<Vec<_>>(), &wanted);
        let rows = columns.target.len() as f64;
        let said = |c: &crate::terms::select::Chosen| -> f64 {
            c.columns.iter().map(|&k| 4.0 + 3.0 * terms[k].2 + rows.ln()).sum::<f64>() + if twice == 2 { 0.0 } else { 4.0 }
        };
        let cost = |c: &crate::terms::select::Chosen| rows * (c.left * total / rows).max(1e-19).ln() + said(c);
        let most = if columns.few { 2 } else { 4 };
        for level in select(&products, (most, 40), cost, |_, _| true).iter().skip(1) {
            for chosen in level.iter().take(4) {
                let names = problem.fresh("c", chosen.columns.len());
                let mut lines: Vec<String> =
                    names.iter().zip(&chosen.coefficients).map(|(n, x)| format!("(param {n} {})", number_text(*x))).collect();
                let part = |(name, &k): (&String, &usize)| match &terms[k].0 {
                    Form::Product(m) => m.text(&columns.names, std::slice::from_ref(name)),
                    other => format!("(* {name} {})", other.text(&columns.names)),
                };
                let inside = sum(&names.iter().zip(&chosen.columns).map(part).collect::<Vec<_>>());
                lines.push(match twice {
                    2 => inside,
                    -2 => format!("(/ 1 {inside})"),
                    4 => format!("(sqrt {inside})"),
                    -4 => format!("(/ 1 (sqrt {inside}))"),
                    1 => format!("(square {inside})"),
                    _ => format!("(/ 1 (square {inside}))"),
                });
                found.push(Summed { text: lines.join("\n"), cost: cost(chosen) });
            }
        }
    }
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    found
}

fn largest(columns: &Columns) -> f64 {
    columns.target.iter().fold(0.0, |m: f64, y| m.max(y.abs()))
}
