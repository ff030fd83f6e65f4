//! Equations as sums of terms, and models of them. In: terms with coefficients; out: the text of a model, and the same equations with the
//! constants of a fit. Invariant: constants are numbered in the order of the text, so that a fit finds its way back.

use super::grammar::Term;
use crate::judge::Judged;
use crate::problem::{Kind, Problem};
use crate::text::{forms, forms_but, sum};
use neural_compiler::number_text;

/// The right-hand side of one state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Equation {
    /// Whether what the user's model says of the state stands before the terms.
    pub(crate) base: bool,
    /// Terms with their coefficients and inner constants.
    pub(crate) terms: Vec<(Term, f64)>,
}

impl Equation {
    /// Without a term.
    pub(crate) fn without(&self, k: usize) -> Equation {
        let mut less = self.clone();
        less.terms.remove(k);
        less
    }
}

/// A model of the user that is built on.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// Its forms but equations, with fitted values.
    pub(crate) declared: String,
    /// What it says of each state.
    pub(crate) sides: Vec<String>,
    /// Its states begin where it says.
    pub(crate) source: String,
}

impl Base {
    /// A judged model with an equation for each state.
    pub(crate) fn of(judged: &Judged, states: &[String]) -> Option<Base> {
        let found = forms(&judged.text, "derive");
        let sides: Option<Vec<String>> = states.iter().map(|s| found.iter().find(|f| f.0 == *s).map(|f| f.1.clone())).collect();
        Some(Base { declared: forms_but(&judged.text, &["derive"]), sides: sides?, source: judged.text.clone() })
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "()[]".contains(c)).filter(|w| !w.is_empty())
}

/// The name of the constant a state starts at.
pub(crate) fn start_name(problem: &Problem, state: &str) -> String {
    let mut name = format!("{state}_start");
    while problem.table.has(&name) {
        name.push('_');
    }
    name
}

/// The equations as text, and the declarations of their constants.
pub(crate) fn sides(problem: &Problem, equations: &[Equation], base: Option<&Base>) -> (Vec<String>, Vec<String>) {
    let count = equations.iter().map(|e| e.terms.len()).sum();
    let stems = if base.is_some() { ("cn", "kn") } else { ("c", "k") };
    let (outer, inner) = (problem.fresh(stems.0, count), problem.fresh(stems.1, count));
    let (mut number, mut inners, mut declared) = (0, 0, Vec::new());
    let mut texts = Vec::new();
    for (d, equation) in equations.iter().enumerate() {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(base.filter(|_| equation.base).map(|b| b.sides[d].clone()));
        for (term, coefficient) in &equation.terms {
            let name = &outer[number];
            number += 1;
            declared.push(format!("(param {name} {})", number_text(*coefficient)));
            let text = match term.inner {
                Some(start) => {
                    let k = &inner[inners];
                    inners += 1;
                    declared.push(format!("(param {k} {} :min 0)", number_text(start)));
                    term.with(k)
                }
                None => term.text.clone(),
            };
            parts.push(match (text.as_str(), text.strip_prefix("(* ")) {
                ("1", _) => name.clone(),
                (_, Some(rest)) => format!("(* {name} {rest}"),
                _ => format!("(* {name} {text})"),
            });
        }
        texts.push(sum(&parts));
    }
    (texts, declared)
}

/// The text of a model.
pub(crate) fn model(problem: &Problem, starts: &[f64], equations: &[Equation], base: Option<&Base>) -> String {
    let Kind::Ode { states, group, .. } = &problem.kind else { return String::new() };
    let (texts, mut lines) = sides(problem, equations, base);
    match base {
        Some(base) => {
            // Constants nothing uses any more would be undetermined.
            let used = |name: &str| texts.iter().any(|t| words(t).any(|w| w == name)) || starts_with(&base.declared, name);
            let params = forms(&base.declared, "param");
            let unused: Vec<&String> = params.iter().map(|p| &p.0).filter(|n| !used(n)).collect();
            let kept = base.declared.lines().filter(|l| !unused.iter().any(|n| l.starts_with(&format!("(param {n} "))));
            lines.splice(0..0, kept.map(str::to_string));
        }
        None => {
            let per = group.as_ref().map_or(String::new(), |g| format!(" :per {g}"));
            for (state, start) in states.iter().zip(starts) {
                let name = start_name(problem, state);
                lines.push(format!("(param {name} {}{per})", number_text(*start)));
                lines.push(format!("(state {state} {name})"));
            }
        }
    }
    lines.extend(states.iter().zip(&texts).map(|(state, text)| format!("(derive {state} {text})")));
    lines.join("\n")
}

/// Whether a state starts at this constant, or something else declared needs it.
fn starts_with(declared: &str, name: &str) -> bool {
    declared.lines().any(|l| !l.starts_with(&format!("(param {name} ")) && words(l).any(|w| w == name))
}

/// The equations with the constants of a fit.
pub(crate) fn fitted(equations: &[Equation], judged: &Judged) -> Vec<Equation> {
    let found = forms(&judged.text, "param");
    let value = |stem: &str, number: usize| -> Option<f64> {
        let named = |n: &str| n.strip_prefix(stem).map(|r| r.trim_start_matches('_')) == Some(&(number + 1).to_string());
        found.iter().find(|f| named(&f.0)).and_then(|f| f.1.parse().ok())
    };
    let (mut number, mut inners) = (0, 0);
    let mut all = equations.to_vec();
    for equation in &mut all {
        for (term, coefficient) in &mut equation.terms {
            let get = |stem: &str, n: usize| value(stem, n).or_else(|| value(&format!("{stem}n"), n));
            *coefficient = get("c", number).unwrap_or(*coefficient);
            number += 1;
            if let Some(inner) = term.inner {
                term.inner = Some(get("k", inners).unwrap_or(inner));
                inners += 1;
            }
        }
    }
    all
}

/// Where states start in a fit, as far as its constants say.
pub(crate) fn starts(judged: &Judged, count: usize) -> Vec<f64> {
    let found = forms(&judged.text, "param");
    let all = found.iter().filter(|f| f.0.trim_end_matches('_').ends_with("_start"));
    let mut starts: Vec<f64> = all.filter_map(|f| f.1.parse().ok()).collect();
    starts.resize(count, 0.0);
    starts
}
