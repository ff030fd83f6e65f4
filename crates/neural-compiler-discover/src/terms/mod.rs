//! The proposer `terms`: equations of a differential equation as sums of few terms of a grammar.
//!
//! In: a problem with states; out: models. A smooth course through the data, integrated over short windows, screens which terms may stand
//! in the equation of each state (no numerical derivative); equations that look good are fitted through the solver, the other states as
//! given by their course; the best of each are put together. From then on the best model judged is changed equation by equation.
//! Invariant: what is told of a model comes from its own trajectory, never from the screen.

mod equation;
mod grammar;
mod screen;
pub(crate) mod select;

use crate::problem::{Kind, Problem};
use crate::proposer::{Proposal, Proposer, State};
use equation::{Base, Equation};
use grammar::Term;
use neural_compiler::Diagnostics;
use screen::{Library, Ranked, Screen};
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Proposals of a round at most.
const ROUND: usize = 32;

/// See the head of this file.
#[derive(Default)]
pub struct Terms {
    /// Equations that may be right, for each state, the best first.
    ranked: Vec<Vec<Ranked>>,
    library: Library,
    base: Option<Base>,
    /// The equations of a text.
    known: HashMap<String, Vec<Equation>>,
    told: HashSet<String>,
}

impl Terms {
    fn text(&mut self, problem: &Problem, starts: &[f64], equations: &[Equation]) -> Option<String> {
        let text = equation::model(problem, starts, equations, self.base.as_ref());
        self.known.entry(text.clone()).or_insert_with(|| equations.to_vec());
        self.told.insert(text.clone()).then_some(text)
    }

    /// Combinations of the best equations of all states, the most promising first.
    fn combined(&self, most: usize) -> Vec<Vec<usize>> {
        let sizes: Vec<usize> = self.ranked.iter().map(Vec::len).collect();
        if sizes.contains(&0) {
            return vec![];
        }
        let cost = |at: &[usize]| -> f64 { at.iter().enumerate().map(|(d, &k)| self.ranked[d][k].score).sum() };
        let mut open: BinaryHeap<(std::cmp::Reverse<ordered::Number>, Vec<usize>)> = BinaryHeap::new();
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let first = vec![0; sizes.len()];
        open.push((std::cmp::Reverse(ordered::Number(cost(&first))), first));
        let mut out = Vec::new();
        while let Some((_, at)) = open.pop() {
            if !seen.insert(at.clone()) {
                continue;
            }
            for d in 0..sizes.len() {
                let mut next = at.clone();
                next[d] += 1;
                if next[d] < sizes[d] {
                    open.push((std::cmp::Reverse(ordered::Number(cost(&next))), next));
                }
            }
            out.push(at);
            if out.len() == most {
                break;
            }
        }
        out
    }

    /// Changes of the equations of a model: one term less, a shorter term for another, one more, other equations for one state.
    fn changes(&self, equations: &[Equation]) -> Vec<(Vec<Equation>, String)> {
        let mut found = Vec::new();
        let with = |d: usize, e: Equation| {
            let mut all = equations.to_vec();
            all[d] = e;
            all
        };
        for (d, equation) in equations.iter().enumerate() {
            for k in (0..equation.terms.len()).filter(|_| equation.terms.len() > 1 || equation.base) {
                let why = format!("without the term {}", equation.terms[k].0.text);
                found.push((with(d, equation.without(k)), why));
            }
        }
        for (d, equation) in equations.iter().enumerate().filter(|(_, e)| !e.base) {
            let own: Vec<Term> = equation.terms.iter().map(|t| t.0.clone()).collect();
            for short in self.library.short().filter(|s| !own.iter().any(|t| t.text == s.text)) {
                for k in 0..=own.len() {
                    let mut terms = own.clone();
                    let why = match own.get(k) {
                        Some(old) if old.size < short.size => continue,
                        Some(old) => format!("{} for {}", short.text, old.text),
                        None => format!("with {}", short.text),
                    };
                    if k < own.len() {
                        terms[k] = short.clone();
                    } else if own.len() < 4 {
                        terms.push(short.clone());
                    } else {
                        continue;
                    }
                    found.extend(self.library.equation(d, &terms).map(|e| (with(d, e), why)));
                }
            }
        }
        let most = self.ranked.iter().map(Vec::len).max().unwrap_or(0);
        for k in 0..most {
            for (d, ranked) in self.ranked.iter().enumerate() {
                if let Some(r) = ranked.get(k) {
                    found.push((with(d, r.equation.clone()), format!("another equation for one state, number {}", k + 1)));
                }
            }
        }
        found
    }
}

/// Numbers in order.
mod ordered {
    #[derive(PartialEq)]
    pub(super) struct Number(pub(super) f64);
    impl Eq for Number {}
    impl PartialOrd for Number {
        fn partial_cmp(&self, other: &Number) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Number {
        fn cmp(&self, other: &Number) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0)
        }
    }
}

impl Proposer for Terms {
    fn name(&self) -> &str {
        "terms"
    }

    fn propose(&mut self, state: &State<'_>) -> Result<Vec<Proposal>, Diagnostics> {
        let Kind::Ode { states, .. } = &state.problem.kind else { return Ok(vec![]) };
        let mut proposals = Vec::new();
        if self.ranked.is_empty() {
            let first = state.judged.iter().min_by(|a, b| a.score.total_cmp(&b.score));
            self.base = first.filter(|j| j.proposer == "given").and_then(|j| Base::of(j, states));
            let screen = Screen::new(state.problem, self.base.as_ref());
            (self.ranked, self.library) = screen.ranked(state.deadline);
            let starts = screen.starts();
            for at in self.combined(ROUND) {
                let equations: Vec<Equation> = at.iter().enumerate().map(|(d, &k)| self.ranked[d][k].equation.clone()).collect();
                if let Some(text) = self.text(state.problem, &starts, &equations) {
                    proposals.push(Proposal { text, why: format!("terms that the course of the data suggests, choice {at:?}") });
                }
            }
            return Ok(proposals);
        }
        let best = state.judged.iter().filter_map(|j| Some((j, self.known.get(&j.proposed)?.clone()))).take(2).collect::<Vec<_>>();
        for (judged, equations) in best {
            let fitted = equation::fitted(&equations, judged);
            let starts = equation::starts(judged, states.len());
            for (equations, why) in self.changes(&fitted) {
                if proposals.len() >= ROUND {
                    break;
                }
                if let Some(text) = self.text(state.problem, &starts, &equations) {
                    proposals.push(Proposal { text, why });
                }
            }
        }
        Ok(proposals)
    }
}
