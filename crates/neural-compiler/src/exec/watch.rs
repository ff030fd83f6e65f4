//! Whether a run is still wanted. In: a question the caller's program can ask (Python: was Ctrl-C pressed?); out: its answer, asked for now
//! and then by the threads that run programs. Invariants: the question is asked only by the thread that called, never by the engine's own
//! threads, which learn the answer from it; a run that is not wanted ends with the code `run-interrupted`.

use crate::exec::EvalError;
use crate::source::Span;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static QUESTION: OnceLock<fn() -> bool> = OnceLock::new();

/// Lets runs be ended: every run of this process asks `question` some ten times a second, on the thread that called it, and ends with the
/// code `run-interrupted` when the answer is yes. The first question told stays.
pub fn end_runs_when(question: fn() -> bool) {
    QUESTION.get_or_init(|| question);
}

/// Whether the caller wants no more of its run.
pub(crate) fn is_unwanted() -> bool {
    QUESTION.get().is_some_and(|question| question())
}

/// How often the question is asked at most.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Steps between looks at the clock; what takes longer than a microsecond or so counts as several.
const STEPS: u64 = 16 * 1024;

/// What a run keeps to know when to ask.
pub(crate) struct Watch<'a> {
    /// Told to all threads of a run; `None`: the run has but one.
    ended: Option<&'a AtomicBool>,
    /// This thread is the caller's.
    asks: bool,
    left: u64,
    last: Option<Instant>,
}

impl<'a> Watch<'a> {
    /// For a run on the caller's thread alone.
    pub(crate) fn alone() -> Watch<'a> {
        Watch { ended: None, asks: true, left: STEPS, last: None }
    }

    /// For one of several threads.
    pub(crate) fn shared(ended: &'a AtomicBool, asks: bool) -> Watch<'a> {
        Watch { ended: Some(ended), asks, left: STEPS, last: None }
    }

    /// Takes note of some steps; an error when the run is not wanted any more.
    #[inline]
    pub(crate) fn pass(&mut self, steps: u64, span: Span) -> Result<(), EvalError> {
        self.left = self.left.saturating_sub(steps);
        if self.left > 0 { Ok(()) } else { self.look(span) }
    }

    #[cold]
    fn look(&mut self, span: Span) -> Result<(), EvalError> {
        self.left = STEPS;
        let mut ended = self.ended.is_some_and(|e| e.load(Ordering::Relaxed));
        let now = Instant::now();
        if self.asks && !ended && now.duration_since(*self.last.get_or_insert(now)) >= PAUSE {
            self.last = Some(now);
            ended = is_unwanted();
            if let (true, Some(all)) = (ended, self.ended) {
                all.store(true, Ordering::Relaxed);
            }
        }
        if ended { Err(interrupted(span)) } else { Ok(()) }
    }
}

/// The error of a run that was ended.
fn interrupted(span: Span) -> EvalError {
    EvalError::new("run-interrupted", span, "the run was ended from outside")
}

/// Whether an error is that of a run that was ended.
pub(crate) fn is_interrupted(error: &EvalError) -> bool {
    error.code == "run-interrupted"
}
