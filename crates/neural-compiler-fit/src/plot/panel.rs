//! A panel: a frame with round numbers along both axes, and points put in their places. In: ranges and numbers; out: shapes.

use super::shapes::{Colour, Picture, Place};

/// A panel: where it is, and the ranges of numbers it shows.
pub(super) struct Panel {
    pub(super) place: Place,
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

/// A range of numbers with room at both ends.
pub(super) fn range<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> (f64, f64) {
    let (low, high) = numbers.into_iter().filter(|x| x.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    let room = if high > low { 0.05 * (high - low) } else { high.abs().max(1.0) * 0.5 };
    (low - room, high + room)
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let Place { left, top, width, height } = self.place;
        (left + width * (x - self.x.0) / (self.x.1 - self.x.0), top + height * (self.y.1 - y) / (self.y.1 - self.y.0))
    }

    fn points(&self, x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
        x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| self.at(*x, *y)).collect()
    }

    /// Frame, title, and round numbers along both axes.
    pub(super) fn frame(&self, picture: &mut Picture, title: &str, below: &str) {
        let Place { left, top, width, height } = self.place;
        let (ups, acrosses) = (ticks(self.y, height / 45.0), ticks(self.x, width / 75.0));
        for &y in &ups.at {
            picture.line(vec![self.at(self.x.0, y), self.at(self.x.1, y)], Colour::Grid);
            picture.text(left - 5.0, self.at(self.x.0, y).1 + 4.0, 1.0, &ups.words(y));
        }
        for &x in &acrosses.at {
            picture.line(vec![self.at(x, self.y.0), self.at(x, self.y.1)], Colour::Grid);
            picture.text(self.at(x, self.y.0).0, top + height + 14.0, 0.5, &acrosses.words(x));
        }
        picture.frame(self.place);
        picture.text(left, top - 7.0, 0.0, title);
        picture.text(left + width / 2.0, top + height + 29.0, 0.5, below);
    }

    pub(super) fn dots(&self, picture: &mut Picture, x: &[f64], y: &[f64]) {
        picture.dots(self.points(x, y), Colour::Data);
    }

    pub(super) fn line(&self, picture: &mut Picture, x: &[f64], y: &[f64]) {
        picture.line(self.points(x, y), Colour::Model);
    }
}

/// Round numbers within a range, and how many digits they need.
struct Ticks {
    at: Vec<f64>,
    step: f64,
}

/// About as many as asked for: multiples of 1, 2 or 5 times a power of ten.
fn ticks((low, high): (f64, f64), wanted: f64) -> Ticks {
    let rough = (high - low) / wanted.max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).max(0.0) as usize;
    // The place of 0 is 0, not a rounding error beside it.
    Ticks { at: (0..=count.min(20)).map(|k| (first + k as f64) * step).collect(), step }
}

impl Ticks {
    /// A number with as many decimals as the step has; large and small ones with a power of ten.
    fn words(&self, x: f64) -> String {
        let size = self.at.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
        if !(1e-2..1e5).contains(&size) {
            let digits = (size.log10().floor() - self.step.log10().floor()).clamp(0.0, 15.0) as usize;
            return if x == 0.0 { "0".into() } else { format!("{x:.digits$e}") };
        }
        let decimals = (-self.step.log10().floor()).clamp(0.0, 15.0) as usize;
        format!("{x:.decimals$}")
    }
}
