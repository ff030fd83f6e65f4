//! The proposer `search`: formulas. In: a problem with a target; out: laws, the most likely first.
//!
//! First products of powers, then with a function, then powers of sums, then with two functions, each with every exponent by least squares;
//! and what was judged best, with constants that are nearly simple numbers made these numbers. Units, where the headers say them,
//! decide which arguments are pure numbers, and so which constants may be left out. Few rows get products of powers, and sums of two.
//! Invariant: the scan orders proposals; what is told of them comes from their fits.

mod columns;
mod factors;
mod inner;
mod monomial;
mod sums;
mod write;

use crate::problem::Kind;
use crate::proposer::{Proposal, Proposer, State};
use columns::Columns;
use factors::Law;
use inner::Inner;
use neural_compiler::Diagnostics;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// Proposals of a kind in a round.
const EACH: usize = 12;
/// Laws that get another factor.
const WIDTH: usize = 6;

/// A scan of the problem under one assumption about errors.
struct Scan {
    columns: Columns,
    inners: Vec<Inner>,
    laws: Vec<Law>,
    /// Whether errors grow with the target.
    relative: bool,
}

/// See the head of this file.
#[derive(Default)]
pub struct Search {
    scans: Vec<Scan>,
    known: HashMap<String, (usize, Law, Option<f64>)>,
    told: HashSet<String>,
    factors: usize,
}

impl Search {
    fn add(&mut self, state: &State<'_>, scan: usize, law: &Law, scale: Option<f64>, why: &str, out: &mut Vec<Proposal>) {
        let Some(text) = write::model(state.problem, &self.scans[scan].columns, law, scale) else { return };
        if self.told.insert(text.clone()) {
            self.known.insert(text.clone(), (scan, law.clone(), scale));
            out.push(Proposal { text, why: why.into() });
        }
    }

    /// Laws with one factor more than the ones there are.
    fn wider(&mut self, state: &State<'_>) -> Vec<Proposal> {
        let mut out = Vec::new();
        for k in 0..self.scans.len() {
            let scan = &self.scans[k];
            if scan.columns.few {
                continue;
            }
            let coarse = self.factors > 0;
            // By then it is known which errors the data have.
            if coarse && self.scans.len() > 1 && state.judged.first().is_some_and(|j| j.relative != scan.relative) {
                continue;
            }
            let mut laws: Vec<Law> = Vec::new();
            for law in scan.laws.iter().take(if coarse { WIDTH } else { 1 }) {
                if Instant::now() > state.deadline {
                    break;
                }
                let inners = &scan.inners[..if coarse { scan.inners.len().min(700) } else { scan.inners.len() }];
                laws.extend(factors::extended(&scan.columns, inners, law, coarse, 40));
            }
            laws.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            for law in laws.iter().take(EACH) {
                self.add(state, k, law, None, "powers and functions that the logarithms suggest", &mut out);
            }
            self.scans[k].laws = laws;
        }
        self.factors += 1;
        out
    }

    fn first(&mut self, state: &State<'_>) -> Vec<Proposal> {
        let mut out = Vec::new();
        for relative in [true, false] {
            let Some(columns) = Columns::new(state.problem, relative) else { continue };
            let inners = inner::all(&columns, 900);
            let laws: Vec<Law> = factors::powers(&columns).into_iter().collect();
            self.scans.push(Scan { columns, inners, laws, relative });
            let k = self.scans.len() - 1;
            for law in self.scans[k].laws.clone() {
                self.add(state, k, &law, None, "a product of powers", &mut out);
            }
        }
        out
    }

    fn summed(&mut self, state: &State<'_>) -> Vec<Proposal> {
        let mut out = Vec::new();
        for scan in &self.scans {
            for s in sums::sums(state.problem, &scan.columns, &scan.inners, scan.relative).into_iter().take(EACH) {
                if self.told.insert(s.text.clone()) {
                    out.push(Proposal { text: s.text, why: "a power of the target is a sum of products".into() });
                }
            }
        }
        out
    }

    /// The best laws judged, with constants that are nearly simple numbers.
    fn simpler(&mut self, state: &State<'_>) -> Vec<Proposal> {
        let mut out = Vec::new();
        for judged in state.judged.iter().take(4) {
            let Some((scan, law, scale)) = self.known.get(&judged.proposed).cloned() else { continue };
            let value =
                |name: &str| judged.params.iter().find(|p| p.name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()) == name);
            let mut inner = judged.params.iter().filter(|p| p.name.starts_with('k'));
            let mut nearer = law.clone();
            let mut changed = false;
            for f in nearer.factors.iter_mut().filter(|f| !f.fixed || f.shape == factors::Shape::Exp) {
                let Some(p) = inner.next() else { break };
                let near = simple(p.value, p.stderr);
                if f.shape == factors::Shape::Exp {
                    f.exponent = p.value;
                    continue;
                }
                f.constant = near.unwrap_or(p.value);
                f.fixed = near.is_some();
                changed |= f.fixed;
            }
            let near = scale.or_else(|| value("c").and_then(|p| simple(p.value, p.stderr)));
            if changed {
                self.add(state, scan, &nearer, scale, "constants that are nearly simple numbers", &mut out);
            }
            if near.is_some() && near != scale {
                self.add(state, scan, &law, near, "a scale that is nearly a simple number", &mut out);
                self.add(state, scan, &nearer, near, "constants and scale that are nearly simple numbers", &mut out);
            }
        }
        out
    }
}

/// A simple number near a constant with this error.
fn simple(x: f64, error: Option<f64>) -> Option<f64> {
    let numbers = (1..=4).flat_map(|n| (1..=4).map(move |m| f64::from(n) / f64::from(m))).chain([5.0, 6.0, 8.0]);
    let reach = error.unwrap_or(0.0).min(0.05 * x.abs()) * 2.0 + 1e-6 * x.abs();
    numbers.map(|r| r * x.signum()).filter(|r| (r - x).abs() <= reach).min_by(|a, b| (a - x).abs().total_cmp(&(b - x).abs()))
}

impl Proposer for Search {
    fn name(&self) -> &str {
        "search"
    }

    fn propose(&mut self, state: &State<'_>) -> Result<Vec<Proposal>, Diagnostics> {
        let Kind::Formula { .. } = &state.problem.kind else { return Ok(vec![]) };
        if state.round == 0 || self.scans.is_empty() {
            return Ok(self.first(state));
        }
        let mut out = self.simpler(state);
        let few = self.scans.iter().all(|s| s.columns.few);
        if state.round == 1 && !few {
            out.extend(self.wider(state));
            return Ok(out);
        }
        if state.round == if few { 1 } else { 2 } {
            out.extend(self.summed(state));
            return Ok(out);
        }
        // Where what is left is that of computing, nothing can be added.
        let exact = state.judged.first().is_some_and(|j| j.exact);
        if self.factors < 2 && !exact {
            out.extend(self.wider(state));
        }
        Ok(out)
    }
}
