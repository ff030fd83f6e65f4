//! The loop: propose, compile, check, fit, judge, propose again. In: a problem, models to begin with, proposers, a budget; out: everything
//! judged, the front of likelihood over complexity, the best.
//!
//! Invariants: no text is fitted twice; with time enough, the outcome depends on problem, proposers and seed alone, not on threads; what is
//! told of the best and of the front comes from fits to all rows but for the figures of the rows held out, unless somebody said stop.

use crate::canonical::canonical;
use crate::external::LOOK;
use crate::judge::{Judge, Judged};
use crate::problem::{Kind, Problem};
use crate::proposer::{Proposal, Proposer, State};
use neural_compiler::{Diagnostics, Syntax, number_text};
use neural_compiler_fit::{Options, fit, save};
use rayon::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Rounds without anything better after which proposers are not asked again.
const PATIENCE: usize = 3;

/// By how much a score must be better for the more complex hypothesis to be believed: odds of 20 to 1 (Kass and Raftery 1995).
const STRONG: f64 = 6.0;

/// What became of a proposal.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub number: usize,
    /// The round it was proposed in; 0: it was given.
    pub round: usize,
    /// Who proposed it.
    pub proposer: String,
    /// Its text.
    pub text: String,
    /// Why it was proposed.
    pub why: String,
    /// Its figures, or why there are none.
    pub outcome: Result<Box<Judged>, String>,
    /// Whether no simpler hypothesis so far is as likely.
    pub kept: bool,
    /// Why it was kept or dropped.
    pub reason: String,
}

/// How to refine.
pub struct Settings<'a> {
    /// Models to begin with: name and text, in Scheme. None: the constant model.
    pub given: Vec<(String, String)>,
    /// The time there is.
    pub budget: Duration,
    /// Texts an earlier run has judged and dropped; they are not fitted again.
    pub dropped: HashMap<String, String>,
    /// Told of every hypothesis as it is judged.
    pub tell: &'a mut dyn FnMut(&Entry),
    /// Asked now and then whether to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The best of the front.
    pub best: Judged,
    /// Hypotheses none of which is both simpler and as likely as another, the simplest first.
    pub front: Vec<Judged>,
    /// Hypotheses tried, those that could not be fitted included.
    pub tried: usize,
    /// Seconds it took.
    pub seconds: f64,
    /// What went wrong with proposers.
    pub warnings: Vec<String>,
}

/// The model that says nothing changes.
pub fn constant(problem: &Problem) -> String {
    let mean = |name: &str| problem.column(name).iter().sum::<f64>() / problem.table.rows() as f64;
    match &problem.kind {
        Kind::Formula { target, .. } => {
            let name = &problem.fresh("c", 1)[0];
            format!("(param {name} {})\n{name}", number_text(mean(target)))
        }
        Kind::Ode { states, group, .. } => {
            let per = group.as_ref().map_or(String::new(), |g| format!(" :per {g}"));
            let names = problem.fresh("c", states.len());
            let one = |(state, name): (&String, &String)| {
                let start = format!("{state}_start");
                let first = number_text(problem.column(state)[0]);
                format!("(param {name} 0)\n(param {start} {first}{per})\n(state {state} {start})\n(derive {state} {name})")
            };
            states.iter().zip(&names).map(one).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Which hypotheses form the front: the simplest first, each more likely than all before it.
fn front(judged: &[Judged]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..judged.len()).filter(|&i| judged[i].score.is_finite()).collect();
    order.sort_by(|&a, &b| judged[a].complexity.cmp(&judged[b].complexity).then(judged[b].fitness.total_cmp(&judged[a].fitness)));
    let mut best = f64::NEG_INFINITY;
    order.retain(|&i| {
        let better = judged[i].fitness > best + 1e-6 * best.abs().clamp(1.0, 1e6);
        best = best.max(judged[i].fitness);
        better
    });
    order
}

/// Runs the loop.
pub fn refine(problem: &Problem, proposers: &mut [Box<dyn Proposer>], settings: &mut Settings<'_>) -> Result<Outcome, Diagnostics> {
    let begun = Instant::now();
    let deadline = begun + settings.budget;
    let stopped = Cell::new(false);
    let ask = settings.stop;
    // Once it was said, it stays said.
    let stop = || {
        stopped.set(stopped.get() || ask());
        stopped.get()
    };
    let mut judge = Judge::new(problem);
    // What the others are compared with is fitted even where there is hardly any time.
    judge.budget = settings.budget.as_secs_f64().max(judge.budget);
    let mut run = Run { judged: Vec::new(), seen: HashMap::new(), number: 0 };
    let given: Vec<Proposal> = match &settings.given[..] {
        [] => vec![Proposal { text: constant(problem), why: "nothing changes".into() }],
        some => some.iter().map(|(name, text)| Proposal { text: text.clone(), why: format!("given: {name}") }).collect(),
    };
    let by = if settings.given.is_empty() { "constant" } else { "given" };
    let failed = run.round(&judge, (0, by), given, settings, &stop);
    if let (Some((_, e)), true) = (failed.into_iter().next(), run.judged.is_empty()) {
        return Err(e);
    }
    let mut idle = 0;
    let mut warnings: Vec<String> = Vec::new();
    let proposers_left = proposers.len();
    let mut failures: Vec<(String, String)> = Vec::new();
    for round in 1.. {
        let before = run.judged.first().map_or(f64::INFINITY, |j| j.score);
        let mut any = false;
        for proposer in proposers.iter_mut() {
            if Instant::now() > deadline || stop() {
                break;
            }
            judge.until = deadline;
            judge.budget = deadline.saturating_duration_since(Instant::now()).as_secs_f64().max(0.05);
            let state = State { problem, judged: &run.judged, failed: &failures, round: round - 1, deadline, stop: &stop };
            let name = proposer.name().to_string();
            let proposals = match proposer.propose(&state) {
                Ok(proposals) => proposals,
                // The others go on; it has said that it has nothing to add from now on.
                Err(e) if proposers_left > 1 || run.judged.len() > settings.given.len().max(1) => {
                    warnings.push(first(&e));
                    continue;
                }
                Err(e) => return Err(e),
            };
            any |= !proposals.is_empty();
            let failed = run.round(&judge, (round, &name), proposals, settings, &stop);
            failures = failed.into_iter().map(|(t, e)| (t, first(&e))).collect();
        }
        let after = run.judged.first().map_or(f64::INFINITY, |j| j.score);
        idle = if after < before - 1e-6 * before.abs().min(1e6) { 0 } else { idle + 1 };
        if !any || idle >= PATIENCE || Instant::now() > deadline || stop() {
            break;
        }
    }
    let mut chosen: Vec<Judged> = front(&run.judged).into_iter().map(|i| run.judged[i].clone()).collect();
    let stopped = AtomicBool::new(stop());
    watched(&stopped, &stop, || chosen.iter_mut().for_each(|j| whole(&judge, j, &stopped)));
    let lowest = chosen.iter().map(|j| j.score).fold(f64::INFINITY, f64::min);
    // The front begins with the simplest.
    let best = chosen.iter().find(|j| j.score <= lowest + STRONG).cloned();
    let best = best.or_else(|| run.judged.first().cloned());
    let Some(best) = best else {
        let text = "no hypothesis could be fitted";
        return Err(neural_compiler::Diagnostic::error("no-hypothesis", Default::default(), text).into());
    };
    Ok(Outcome { best, front: chosen, tried: run.number, seconds: begun.elapsed().as_secs_f64(), warnings })
}

fn first(errors: &Diagnostics) -> String {
    errors.0.first().map_or("it could not be fitted".into(), |d| format!("{}: {}", d.code, d.message))
}

/// Fits a hypothesis to all rows, from where it is, however late it is: what that may compute is bounded. It stays as it is where somebody
/// says stop.
fn whole(judge: &Judge<'_>, judged: &mut Judged, stopped: &AtomicBool) {
    if stopped.load(Ordering::Relaxed) {
        return;
    }
    let Ok(program) = judge.compile(&judged.text) else { return };
    let options = Options { holdout: None, starts: Some(1), budget: None, cancel: Some(stopped), ..judge.options(judged.relative) };
    if let Ok(found) = fit(&program, judge.table(), &options)
        && !stopped.load(Ordering::Relaxed)
        && found.parameters.iter().all(|p| p.value.is_finite())
    {
        judged.text = save::fitted(&judged.source, &found);
        judged.params = found.parameters.clone();
        judged.fit = found;
    }
}

/// Does some work and asks meanwhile whether to stop, which is then told the work.
fn watched<T: Send>(stopped: &AtomicBool, stop: &dyn Fn() -> bool, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let (done, ended) = channel();
        let worker = scope.spawn(move || {
            let found = work();
            let _ = done.send(());
            found
        });
        // An end without a word is a panic, which goes on here.
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            stopped.store(stop(), Ordering::Relaxed);
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What a run knows.
struct Run {
    /// The best first.
    judged: Vec<Judged>,
    /// Canonical forms, and the number of the hypothesis that had it first.
    seen: HashMap<String, usize>,
    number: usize,
}

impl Run {
    /// Judges proposals; gives those that could not be.
    fn round(
        &mut self,
        judge: &Judge<'_>,
        (round, by): (usize, &str),
        proposals: Vec<Proposal>,
        settings: &mut Settings<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Vec<(String, Diagnostics)> {
        let mut fresh: Vec<Proposal> = Vec::new();
        for proposal in proposals {
            let key = judge.compile(&proposal.text).map_or_else(|_| proposal.text.clone(), |p| canonical(&p));
            self.seen.entry(key).or_insert_with(|| {
                fresh.push(proposal);
                self.number + fresh.len()
            });
        }
        let dropped = &settings.dropped;
        let stopped = AtomicBool::new(false);
        // What the others are compared with is fitted to its end.
        let cancel = (round > 0).then_some(&stopped);
        let one = |p: &Proposal| match dropped.get(&p.text) {
            Some(_) => None,
            None => Some(judge.judge(&p.text, (by, &p.why), cancel)).filter(|_| !cancel.is_some_and(|stop| stop.load(Ordering::Relaxed))),
        };
        let over = || stopped.load(Ordering::Relaxed) || Instant::now() > judge.until;
        let outcomes: Vec<Option<Result<Judged, Diagnostics>>> =
            watched(&stopped, stop, || fresh.par_iter().map(|p| if over() { None } else { one(p) }).collect());
        let mut failed = Vec::new();
        for (proposal, outcome) in fresh.into_iter().zip(outcomes) {
            self.number += 1;
            let Some(outcome) = outcome else { continue };
            let number = self.number;
            let mut entry = Entry {
                number,
                round,
                proposer: by.to_string(),
                text: proposal.text.clone(),
                why: proposal.why,
                outcome: Err(String::new()),
                kept: false,
                reason: String::new(),
            };
            match outcome {
                Ok(found) => {
                    (entry.kept, entry.reason) = self.verdict(&found);
                    entry.outcome = Ok(Box::new(found.clone()));
                    let at = self.judged.partition_point(|j| j.score <= found.score);
                    self.judged.insert(at, found);
                }
                Err(e) => {
                    entry.reason = format!("dropped: {}", first(&e));
                    entry.outcome = Err(first(&e));
                    failed.push((proposal.text, e));
                }
            }
            (settings.tell)(&entry);
        }
        failed
    }

    fn verdict(&self, found: &Judged) -> (bool, String) {
        let rival = self.judged.iter().find(|j| j.complexity <= found.complexity && j.fitness >= found.fitness);
        match (rival, self.judged.first()) {
            (Some(j), _) => (false, format!("dropped: a hypothesis of complexity {} is as likely ({:.4})", j.complexity, j.fitness)),
            (None, Some(best)) if best.score <= found.score => (
                true,
                format!("kept: more likely than what is as simple; what it adds does not pay yet ({:.2} behind)", found.score - best.score),
            ),
            (None, Some(best)) => (true, format!("kept: the best so far, by {:.2}", best.score - found.score)),
            (None, None) => (true, "kept: the first".into()),
        }
    }
}

/// A model as Scheme, whatever it is written in.
pub fn as_scheme(text: &str, syntax: Syntax) -> Result<String, Diagnostics> {
    let options = neural_compiler::Options { syntax, ..Default::default() };
    neural_compiler::compile(text, &options).map(|p| p.scheme().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use neural_compiler_fit::Table;

    /// What the rows held out change is fitted at the end, unless somebody has said stop.
    #[test]
    fn a_stop_leaves_hypotheses_as_they_are() {
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let y = x.iter().map(|x| 2.0 * x + (7.0 * x).sin()).collect();
        let table = Table::new(vec![("x".to_string(), x), ("y".to_string(), y)]).expect("a table");
        let kind = Kind::Formula { target: "y".into(), inputs: vec!["x".into()] };
        let problem = Problem::new(table, kind, 0.25, 1).expect("a problem");
        let judge = Judge::new(&problem);
        let judged = judge.judge("(param b 1) (* b x)", ("test", ""), None).expect("a fit");
        let after = |stop: bool| {
            let mut all = judged.clone();
            whole(&judge, &mut all, &AtomicBool::new(stop));
            all.params[0].value
        };
        assert_eq!(after(true), judged.params[0].value);
        assert!((after(false) - judged.params[0].value).abs() > 1e-6, "{}", after(false));
    }
}
