//! An axis: a range of numbers, evenly or by powers of ten, and round numbers along it.
//! Invariants: there are at least two round numbers on every axis; on an axis by powers of ten only positive numbers have a place.

/// An axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

/// Round numbers, and how they are written.
pub(super) struct Ticks {
    pub(super) at: Vec<f64>,
    step: f64,
    log: bool,
}

impl Scale {
    /// The range of some numbers with room at both ends; by powers of ten if that is asked for and any number is positive.
    pub(super) fn of<'a>(numbers: impl IntoIterator<Item = &'a f64>, log: bool) -> Scale {
        let there: Vec<f64> = numbers.into_iter().copied().filter(|x| x.is_finite()).collect();
        let log = log && there.iter().any(|x| *x > 0.0);
        let ends = there.iter().filter(|x| !log || **x > 0.0).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        let (low, high) = if ends.0 <= ends.1 { ends } else { (0.0, 1.0) };
        let (low, high) = if log { (low.log10(), high.log10()) } else { (low, high) };
        let room = match (high > low, log) {
            (true, _) => 0.05 * (high - low),
            (false, true) => 0.5,
            (false, false) => 0.5 * high.abs(),
        };
        // Of nothing but 0, or numbers too small to be halved: wide enough for its ends to differ.
        let room = if room > 0.0 && low + room > low { room } else { 0.5 };
        Scale { low: low - room, high: high + room, log }
    }

    /// Whether a number has a place.
    pub(super) fn shows(&self, x: f64) -> bool {
        x.is_finite() && (!self.log || x > 0.0)
    }

    /// Where a number is: 0 at the lower end, 1 at the upper.
    pub(super) fn at(&self, x: f64) -> f64 {
        let x = if self.log { x.log10() } else { x };
        // Halves first: the ends may be as far apart as numbers can be.
        (0.5 * x - 0.5 * self.low) / (0.5 * self.high - 0.5 * self.low)
    }

    /// The lower and the upper end.
    pub(super) fn ends(&self) -> (f64, f64) {
        if self.log { (10f64.powf(self.low), 10f64.powf(self.high)) } else { (self.low, self.high) }
    }

    /// About as many round numbers as asked for, at least two.
    pub(super) fn ticks(&self, wanted: f64) -> Ticks {
        if self.log {
            let decades = (self.high - self.low).max(1e-9);
            if decades >= 1.0 {
                return self.decades(wanted, decades);
            }
            // Less than a power of ten: evenly, as far as the eye can tell.
            let (low, high) = self.ends();
            return Ticks { log: true, ..even(low, high, wanted) };
        }
        even(self.low, self.high, wanted)
    }

    /// Powers of ten, their multiples by 2 and 5 where there are few, every second or third where there are many.
    fn decades(&self, wanted: f64, decades: f64) -> Ticks {
        let every = (decades / wanted.max(2.0)).round().max(1.0);
        let parts: &[f64] = if decades <= 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = (self.low.floor() as i32..=self.high.ceil() as i32).filter(|p| f64::from(*p).rem_euclid(every) == 0.0);
        let all = powers.flat_map(|p| parts.iter().map(move |m| m * 10f64.powi(p)));
        let at: Vec<f64> = all.filter(|x| (self.low..=self.high).contains(&x.log10())).collect();
        if at.len() >= 2 { Ticks { at, step: 1.0, log: true } } else { Ticks { log: true, ..even(self.ends().0, self.ends().1, wanted) } }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn even(low: f64, high: f64, wanted: f64) -> Ticks {
    let rough = (0.5 * high - 0.5 * low) / (0.5 * wanted.max(2.0));
    let power = 10f64.powf(rough.log10().floor());
    let mut steps: Vec<f64> = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1].iter().map(|m| m * power).collect();
    steps.retain(|s| s.is_finite() && *s > 0.0);
    let fits = |step: f64| {
        let first = (low / step).ceil();
        (first, ((high / step).floor() - first + 1.0).max(0.0) as usize)
    };
    // The widest step that is no wider than wished for, and narrower ones until two fit.
    let chosen = steps.iter().copied().filter(|s| *s <= rough * 2.0).find(|s| fits(*s).1 >= 2).unwrap_or(rough);
    let (first, count) = fits(chosen);
    // The place of 0 is 0, not a rounding error beside it.
    Ticks { at: (0..count.min(20)).map(|k| (first + k as f64) * chosen).collect(), step: chosen, log: false }
}

impl Ticks {
    /// A number with as many decimals as the step has; large and small ones with a power of ten.
    pub(super) fn words(&self, x: f64) -> String {
        if self.log {
            return if (1e-3..1e5).contains(&x) { format!("{}", (x * 1e12).round() / 1e12) } else { format!("{x:e}") };
        }
        let size = self.at.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
        if !(1e-2..1e5).contains(&size) {
            let digits = (size.log10().floor() - self.step.log10().floor()).clamp(0.0, 15.0) as usize;
            return if x == 0.0 { "0".into() } else { format!("{x:.digits$e}") };
        }
        let decimals = (-self.step.log10().floor()).clamp(0.0, 15.0) as usize;
        format!("{x:.decimals$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_two_round_numbers() {
        for wanted in [1.0, 2.4, 4.8, 7.5] {
            for (low, high) in [
                (0.0, 1.0),
                (0.97, 1.02),
                (-3.0, 7e5),
                (1e-9, 1.3e-9),
                (5.0, 5.0),
                (0.0, 0.0),
                (1e15, 1e15 + 8.0),
                (-1e300, 1e300),
                (1e-300, 2e-300),
            ] {
                for log in [false, true] {
                    let scale = Scale::of(&[low, high], log);
                    let ticks = scale.ticks(wanted);
                    assert!((2..=24).contains(&ticks.at.len()), "{low} {high} {log} {wanted}: {:?}", ticks.at);
                    assert!(ticks.at.iter().all(|x| (-1e-9..=1.0 + 1e-9).contains(&scale.at(*x))), "{low} {high} {log}: {:?}", ticks.at);
                    let mut words: Vec<String> = ticks.at.iter().map(|x| ticks.words(*x)).collect();
                    words.dedup();
                    assert_eq!(words.len(), ticks.at.len(), "{low} {high} {log}: {words:?}");
                }
            }
        }
        assert_eq!(Scale::of(&[0.01, 100.0], true).ticks(4.0).at, [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert_eq!(Scale::of(&[1.0, 3.0], false).ticks(4.0).at, [1.0, 2.0, 3.0]);
    }
}
