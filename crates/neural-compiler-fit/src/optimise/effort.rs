//! How much an evaluation may cost, and when to stop. In: evaluations that succeed at the first start; out: limits for all others, so that
//! a point at which a loop never ends, or a solution needs steps without number, is given up soon. Invariants: what is learnt depends on
//! the first start alone, never on threads or clocks; outside of a search nothing is limited but by the limits of every program; a stop is
//! asked for from outside, by a person, by a budget of time, or by one of work, which ends at the same place on every machine.

use neural_compiler::exec::lanes::LaneError;
use neural_compiler::{EvalError, Limits};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Rounds and calls of a lane, from few to as many as any program may take.
const ROUNDS: [u64; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000];
/// Where nothing was learnt because the first start has no value, this many of `ROUNDS` are enough.
const UNTOLD: usize = 3;
/// Steps of a solver beyond what the first start needed, and how many are always allowed.
const MORE_STEPS: usize = 20;
const FEWEST_STEPS: usize = 2_000;
/// How many rows of a formula a step of a solver is worth.
const STEP: usize = 16;
/// How often a watcher looks.
const LOOK: Duration = Duration::from_millis(10);

const IDLE: u8 = 0;
const LEARNING: u8 = 1;
const LEARNT: u8 = 2;

/// What a fit has learnt of the cost of its model, shared by everything that evaluates it.
#[derive(Debug, Default)]
pub struct Effort {
    phase: AtomicU8,
    /// One more than the place in `ROUNDS` that was enough so far; 0: nothing is known.
    rounds: AtomicUsize,
    /// Whether even the most rounds were too few once.
    endless: AtomicBool,
    /// The most steps of a lane so far, and since somebody asked.
    steps: AtomicUsize,
    latest: AtomicUsize,
    searching: AtomicBool,
    stop: AtomicBool,
    late: AtomicBool,
    /// Work that was done, how much there may be, and whether that was too little.
    work: AtomicUsize,
    most_work: OnceLock<usize>,
    spent: AtomicBool,
    deadline: OnceLock<Instant>,
}

/// Says that work has ended, however it did.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Whether some lane met a limit on rounds or calls.
fn too_long(outcome: &Result<Vec<LaneError>, EvalError>) -> bool {
    let limit = |code: &str| code == "limit-iterations" || code == "limit-steps";
    match outcome {
        Ok(errors) => errors.iter().any(|e| limit(e.error.code)),
        Err(e) => limit(e.code),
    }
}

impl Effort {
    /// The first start begins: what its evaluations cost is learnt.
    pub(super) fn learn(&self) {
        self.searching.store(true, Relaxed);
        let _ = self.phase.compare_exchange(IDLE, LEARNING, Relaxed, Relaxed);
    }

    /// The first start has ended: from now on what was learnt holds.
    pub(super) fn learnt(&self) {
        let _ = self.phase.compare_exchange(LEARNING, LEARNT, Relaxed, Relaxed);
    }

    /// The search has ended: the best point is evaluated even after a stop.
    pub(super) fn settle(&self) {
        self.searching.store(false, Relaxed);
    }

    /// What comes next is another model: nothing is known of it.
    pub(crate) fn forget(&self) {
        self.phase.store(IDLE, Relaxed);
        self.rounds.store(0, Relaxed);
        self.steps.store(0, Relaxed);
        self.latest.store(0, Relaxed);
        self.endless.store(false, Relaxed);
    }

    /// Whether evaluations are to end now.
    pub(crate) fn stopped(&self) -> bool {
        self.searching.load(Relaxed) && self.over()
    }

    /// Whether a person, or the time, has said stop.
    fn over(&self) -> bool {
        if !self.stop.load(Relaxed) && self.deadline.get().is_some_and(|d| Instant::now() >= *d) {
            self.late.store(true, Relaxed);
            self.stop.store(true, Relaxed);
        }
        self.stop.load(Relaxed)
    }

    /// So many rows of a formula were computed. Whoever does this work says so itself: a watcher would see it at some other moment.
    pub(crate) fn rows(&self, count: usize) {
        let Some(most) = self.most_work.get() else { return };
        if self.work.fetch_add(count, Relaxed).saturating_add(count) > *most {
            self.spent.store(true, Relaxed);
            self.stop.store(true, Relaxed);
        }
    }

    /// So many trajectories took a step.
    pub(crate) fn lanes(&self, count: usize) {
        self.rows(STEP * count);
    }

    /// At most so much work, counted in rows of a formula.
    pub(crate) fn with_most_work(self, most: Option<usize>) -> Effort {
        let most_work = most.map_or_else(OnceLock::new, OnceLock::from);
        Effort { most_work, ..self }
    }

    /// Whether the budget of work has ended.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.load(Relaxed)
    }

    /// Whether a budget of time or work has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_late() || self.is_spent()
    }

    /// Whether the budget of time has ended.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Relaxed)
    }

    /// The most steps a lane may take, of at most `most`.
    pub(crate) fn steps(&self, most: usize) -> usize {
        match (self.phase.load(Relaxed), self.steps.load(Relaxed)) {
            (LEARNT, steps) if steps > 0 && self.searching.load(Relaxed) => (MORE_STEPS * steps).max(FEWEST_STEPS).min(most),
            _ => most,
        }
    }

    /// A solution was found with so many steps of its longest lane.
    pub(crate) fn took(&self, steps: usize) {
        if self.phase.load(Relaxed) == LEARNING {
            self.steps.fetch_max(steps, Relaxed);
            self.latest.fetch_max(steps, Relaxed);
        }
    }

    /// The most steps of a lane since this was asked last, at the first start; `None` after it.
    pub(crate) fn latest(&self) -> Option<usize> {
        (self.phase.load(Relaxed) == LEARNING).then(|| self.latest.swap(0, Relaxed))
    }

    /// Runs an engine within the limits learnt: first those that were enough so far, then a tenfold.
    pub(crate) fn run(&self, mut once: impl FnMut(Limits) -> Result<Vec<LaneError>, EvalError>) -> Result<Vec<LaneError>, EvalError> {
        let phase = self.phase.load(Relaxed);
        if phase == IDLE {
            return once(Limits::default());
        }
        if self.stopped() {
            return Err(EvalError::new("stopped", Default::default(), "stopped"));
        }
        let known = self.rounds.load(Relaxed);
        let most = match known {
            0 if phase == LEARNT || self.endless.load(Relaxed) => UNTOLD,
            0 => ROUNDS.len() - 1,
            k => k.min(ROUNDS.len() - 1),
        };
        let mut place = known.saturating_sub(1);
        loop {
            let rounds = ROUNDS[place];
            let outcome = once(Limits { iterations: rounds, steps: rounds, ..Limits::default() });
            let long = too_long(&outcome);
            if long && place < most && !self.stopped() {
                place += 1;
                continue;
            }
            if phase == LEARNING && !long {
                self.rounds.fetch_max(place + 1, Relaxed);
            }
            if long && known == 0 {
                self.endless.store(true, Relaxed);
            }
            return outcome;
        }
    }

    /// Does something that a person (`cancel`) or a budget of seconds may stop. What it is given says when to end.
    pub(crate) fn watched<R>(&self, cancel: Option<&AtomicBool>, budget: Option<f64>, work: impl FnOnce(Option<&AtomicBool>) -> R) -> R {
        if cancel.is_none() && budget.is_none() {
            return work(self.most_work.get().map(|_| &self.stop));
        }
        if let Some(deadline) = budget.and_then(|b| Instant::now().checked_add(Duration::try_from_secs_f64(b).ok()?)) {
            let _ = self.deadline.set(deadline);
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watch = || {
                while !done.load(Relaxed) && !self.over() {
                    if cancel.is_some_and(|c| c.load(Relaxed)) {
                        self.stop.store(true, Relaxed);
                    }
                    std::thread::park_timeout(LOOK);
                }
            };
            let watcher = std::thread::Builder::new().spawn_scoped(scope, watch);
            // Without a thread to watch, a person can still stop it between evaluations.
            let flag = if watcher.is_ok() { Some(&self.stop) } else { cancel };
            // Whatever becomes of the work: a watcher that goes on would keep a panic from being told.
            let ended = Ended(&done);
            let outcome = work(flag);
            drop(ended);
            if let Ok(watcher) = watcher {
                watcher.thread().unpark();
            }
            outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that needs so many rounds.
    fn needs(rounds: u64, asked: &mut Vec<u64>) -> impl FnMut(Limits) -> Result<Vec<LaneError>, EvalError> + '_ {
        move |limits: Limits| {
            asked.push(limits.iterations);
            if rounds > limits.iterations { Err(EvalError::new("limit-iterations", Default::default(), "too long")) } else { Ok(vec![]) }
        }
    }

    #[test]
    fn limits_are_learnt_from_what_succeeds_first() {
        let effort = Effort::default();
        let ask = |rounds: u64| {
            let mut asked = Vec::new();
            let fine = effort.run(needs(rounds, &mut asked)).is_ok();
            (fine, asked)
        };
        assert_eq!(ask(u64::MAX), (false, vec![50_000_000]), "outside of a search the limits of every program hold");
        effort.learn();
        assert_eq!(ask(5_000), (true, vec![1_000, 10_000]));
        assert_eq!(ask(700), (true, vec![10_000]));
        assert_eq!(ask(u64::MAX), (false, vec![10_000, 100_000]), "an endless loop is given up early");
        effort.learnt();
        assert_eq!(ask(60_000), (true, vec![10_000, 100_000]));
        assert_eq!(ask(700), (true, vec![10_000]), "nothing is learnt any more");
    }

    #[test]
    fn a_first_start_without_value_costs_much_once() {
        let effort = Effort::default();
        effort.learn();
        let ask = |rounds: u64| {
            let mut asked = Vec::new();
            let _ = effort.run(needs(rounds, &mut asked));
            asked.last().copied()
        };
        assert_eq!(ask(u64::MAX), Some(50_000_000));
        assert_eq!(ask(u64::MAX), Some(1_000_000));
        effort.learnt();
        assert_eq!(ask(u64::MAX), Some(1_000_000));
    }

    #[test]
    fn a_stop_ends_searches_and_lets_the_best_be_told() {
        let effort = Effort::default();
        let cancel = AtomicBool::new(true);
        effort.learn();
        effort.watched(Some(&cancel), None, |stop| {
            while !stop.is_some_and(|s| s.load(Relaxed)) {
                std::thread::yield_now();
            }
            assert!(effort.stopped());
            effort.settle();
            assert!(!effort.stopped() && !effort.is_late());
        });
    }

    #[test]
    fn a_panic_is_told_and_nobody_watches_on() {
        let effort = Effort::default();
        let cancel = AtomicBool::new(false);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            effort.watched(Some(&cancel), None, |_| std::panic::resume_unwind(Box::new("on purpose")));
        }));
        assert!(outcome.is_err());
    }

    #[test]
    fn time_that_is_over_stops_too() {
        let effort = Effort::default();
        effort.learn();
        effort.watched(None, Some(1e-3), |stop| {
            while !stop.is_some_and(|s| s.load(Relaxed)) {
                std::thread::yield_now();
            }
            assert!(effort.stopped() && effort.is_late() && effort.run(|_| Ok(vec![])).is_err());
            effort.settle();
            assert!(effort.run(|_| Ok(vec![])).is_ok());
        });
    }

    #[test]
    fn work_that_is_done_stops_at_once() {
        let effort = Effort::default().with_most_work(Some(STEP + 100));
        effort.learn();
        effort.watched(None, None, |stop| {
            let stop = stop.expect("somebody may say stop");
            effort.rows(100);
            effort.lanes(1);
            assert!(!stop.load(Relaxed) && !effort.stopped() && !effort.is_ended());
            effort.rows(1);
            assert!(stop.load(Relaxed) && effort.stopped() && effort.is_spent() && !effort.is_late());
            effort.settle();
            assert!(effort.run(|_| Ok(vec![])).is_ok(), "the best is told");
        });
    }

    #[test]
    fn steps_are_limited_by_what_the_first_start_took() {
        let effort = Effort::default();
        effort.took(900);
        assert_eq!(effort.steps(100_000), 100_000);
        effort.learn();
        effort.took(300);
        assert_eq!(effort.steps(100_000), 100_000);
        effort.learnt();
        effort.took(50_000);
        assert_eq!((effort.steps(100_000), effort.steps(4_000)), (6_000, 4_000));
    }
}
