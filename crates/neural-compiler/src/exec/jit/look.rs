//! How generated code learns whether it is still wanted. In: the rounds its loops may take, and a watch; out: rounds to take before the
//! next look, or none.
//!
//! Code counts the rounds of all loops of the lanes it works on down, and asks when the count is at its end; so a loop is never run twice
//! to be looked after. Invariants: the lanes of a vector get no more rounds than the limit, over all looks together; the work between two
//! looks is bounded, as far as it is known from the length of the code.

use crate::exec::EvalError;
use crate::exec::watch::Watch;
use crate::source::Span;

/// What a look counts as, for a look at the clock.
const LOOK: u64 = 4096;

/// Bytes of code run between two looks, about: a millisecond or so.
const BYTES: usize = 1 << 22;

/// Rounds between two looks, at least and at most.
const FEWEST: usize = 16;
const MOST: usize = 1 << 16;

/// Whom the loops of a run ask.
pub(super) struct Look<'w, 'a> {
    /// `None`: nobody can end the run.
    watch: Option<&'w mut Watch<'a>>,
    /// Rounds between two looks.
    piece: u64,
    /// Rounds the lanes of a vector may take.
    limit: u64,
    /// Which lanes asked last, and how many more rounds they may take.
    at: u64,
    left: u64,
    /// The run is not wanted any more.
    ended: Option<EvalError>,
}

impl<'w, 'a> Look<'w, 'a> {
    /// For code of so many bytes.
    pub(super) fn new(watch: Option<&'w mut Watch<'a>>, length: usize) -> Look<'w, 'a> {
        Look { watch, piece: (BYTES / length.max(1)).clamp(FEWEST, MOST) as u64, limit: 0, at: u64::MAX, left: 0, ended: None }
    }

    /// A fused loop begins, whose lanes may take so many rounds; how many before the first look.
    pub(super) fn start(&mut self, limit: u64) -> u64 {
        (self.limit, self.at) = (limit, u64::MAX);
        self.piece.min(limit)
    }

    /// The lanes `at` have taken the rounds they were given; how many more.
    fn more(&mut self, at: u64) -> u64 {
        if at != self.at {
            (self.at, self.left) = (at, self.limit - self.piece.min(self.limit));
        }
        self.pass();
        let given = if self.ended.is_some() { 0 } else { self.piece.min(self.left) };
        self.left -= given;
        given
    }

    /// Work between two looks is done.
    pub(super) fn pass(&mut self) {
        if let (Some(watch), None) = (&mut self.watch, &self.ended) {
            self.ended = watch.pass(LOOK, Span::default()).err();
        }
    }

    /// The error of a run that is not wanted any more.
    pub(super) fn ended(&mut self) -> Option<EvalError> {
        self.ended.take()
    }
}

/// The address of what generated code calls.
pub(super) fn more_rounds() -> i64 {
    called as *const () as i64
}

/// How many rounds more the lanes `at` may take; 0: none.
///
/// # Safety
/// `look` must be the address of a pointer to a look that nobody else uses meanwhile.
#[cfg(target_arch = "x86_64")]
unsafe extern "sysv64" fn called(_: u64, look: *const *mut Look<'_, '_>, _: *const u8, _: *const u8, at: u64) -> u64 {
    // SAFETY: by the caller's word.
    unsafe { (**look).more(at) }
}

/// No generated code runs on other machines.
#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn called(_: u64, _: *const *mut Look<'_, '_>, _: *const u8, _: *const u8, _: u64) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn lanes_get_the_limit_in_bounded_pieces() {
        let mut look = Look::new(None, 1 << 12);
        for limit in [1, 1023, 1024, 1025, 5000] {
            let first = look.start(limit);
            // Every vector of lanes anew, whoever asked before.
            for at in [0, 64] {
                let given: Vec<u64> = std::iter::once(first).chain(std::iter::from_fn(|| Some(look.more(at)).filter(|n| *n > 0))).collect();
                assert_eq!(given.iter().sum::<u64>(), limit);
                assert!(given.iter().all(|n| *n <= 1024), "{given:?}");
            }
        }
        assert_eq!(Look::new(None, 1 << 30).start(1000), FEWEST as u64);
    }

    #[test]
    fn a_run_that_is_not_wanted_gets_no_more() {
        let ended = AtomicBool::new(true);
        let mut watch = Watch::shared(&ended, false);
        let mut look = Look::new(Some(&mut watch), 1 << 12);
        look.start(u64::MAX);
        let looks = (0..100).take_while(|_| look.more(0) > 0).count();
        assert!(looks < 8, "{looks}");
        assert_eq!(look.ended().map(|e| e.code), Some("run-interrupted"));
    }
}
