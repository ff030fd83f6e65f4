//! Where conditions become true within a step. In: levels of conditions along a step; out: the length of the step that ends where the first
//! of them is crossed.
//!
//! The very step is taken again and again, ever nearer to the crossing (false position with halved weights, and a bisection now and then),
//! so that the states there are those of a step. Within a step levels are looked at in three more places, on the cubic through
//! its ends: what dips below 0 and comes back between two of these is not seen.

use super::events::Watch;

/// Places within a step at which levels are looked at, as shares of it.
pub(super) const INNER: [f64; 3] = [0.25, 0.5, 0.75];
/// Trials after which the interval is halved at every second.
const PATIENT: usize = 12;

/// A search for a crossing.
#[derive(Clone, Debug)]
pub(super) struct Hunt {
    /// Lengths before and behind the crossing, and the least level watched there.
    lo: (f64, f64),
    hi: (f64, f64),
    /// The levels watched: those whose condition does not hold before it.
    pub(super) watched: Vec<usize>,
    /// Whether the step as it was taken ends behind the crossing.
    seen: bool,
    /// The length of the step as it was taken, and whether that ends its segment.
    pub(super) whole: f64,
    pub(super) ends: bool,
    tries: usize,
    /// Lengths that are one.
    close: f64,
    /// The side that moved last.
    side: i8,
    /// The next step is the last trial: it ends at the crossing.
    pub(super) found: bool,
}

/// What a trial shows.
pub(super) enum Trial {
    /// The search goes on.
    On,
    /// There is nothing to be found.
    Nothing,
}

impl Hunt {
    /// The first crossing along a step of this length; `inner`: the levels at the inner places, one place after the other, `end`: at its
    /// end; `blind`: inner places do not count; `close`: lengths that are one.
    pub(super) fn along(watch: &Watch, inner: &[f64], end: &[f64], (length, ends, blind): (f64, bool, bool), close: f64) -> Option<Hunt> {
        let m = end.len();
        let places: Vec<(f64, &[f64])> = std::iter::once((0.0, &watch.levels[..]))
            .chain(INNER.iter().copied().zip(inner.chunks(m.max(1))).filter(|_| !blind))
            .chain(std::iter::once((1.0, end)))
            .collect();
        let mut armed = watch.armed.clone();
        for (k, pair) in places.windows(2).enumerate() {
            let ((from, before), (to, behind)) = (pair[0], pair[1]);
            if (0..m).any(|e| armed[e] && behind[e] < 0.0) {
                let watched: Vec<usize> = (0..m).filter(|&e| armed[e]).collect();
                let least = |levels: &[f64]| watched.iter().map(|&e| levels[e]).fold(f64::INFINITY, f64::min);
                let (lo, hi) = ((from * length, least(before).max(0.0)), (to * length, least(behind)));
                let seen = k + 2 == places.len();
                return Some(Hunt { lo, hi, watched, seen, whole: length, ends, tries: 0, close, side: 0, found: false });
            }
            (0..m).for_each(|e| armed[e] = behind[e] >= 0.0);
        }
        None
    }

    /// The length to be tried next.
    pub(super) fn length(&self) -> f64 {
        if self.found || !self.seen {
            return self.hi.0;
        }
        let (lo, hi) = (self.lo.0, self.hi.0);
        if self.tries >= PATIENT && self.tries.is_multiple_of(2) {
            return lo + (hi - lo) / 2.0;
        }
        let share = self.lo.1 / (self.lo.1 - self.hi.1);
        // At least as far from the ends as the search is to come to them.
        let least = self.close.min(0.5 * (hi - lo));
        let at = if share.is_finite() { (lo + (hi - lo) * share).clamp(lo + least, hi - least) } else { lo };
        if at > lo && at < hi { at } else { lo + (hi - lo) / 2.0 }
    }

    /// Takes in what a trial of this length shows.
    pub(super) fn learn(&mut self, length: f64, levels: &[f64]) -> Trial {
        let least = self.watched.iter().map(|&e| levels[e]).fold(f64::INFINITY, f64::min);
        self.tries += 1;
        if !self.seen {
            if least >= 0.0 {
                return Trial::Nothing;
            }
            (self.seen, self.hi) = (true, (length, least));
        } else if least < 0.0 {
            self.hi = (length, least);
            self.lo.1 *= if self.side < 0 { 0.5 } else { 1.0 };
            self.side = -1;
        } else {
            self.lo = (length, least);
            self.hi.1 *= if self.side > 0 { 0.5 } else { 1.0 };
            self.side = 1;
        }
        let (lo, hi) = (self.lo.0, self.hi.0);
        self.found = hi - lo <= self.close || lo + (hi - lo) / 2.0 <= lo || lo + (hi - lo) / 2.0 >= hi;
        Trial::On
    }
}
