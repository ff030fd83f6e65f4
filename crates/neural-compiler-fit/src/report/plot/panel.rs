//! A panel: a frame with round numbers along both axes, and points put in their places. In: axes and numbers; out: shapes.

use super::scale::Scale;
use super::shapes::{Colour, Picture, Place};

/// A panel: where it is, and the numbers it shows.
pub(super) struct Panel {
    pub(super) place: Place,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let Place { left, top, width, height } = self.place;
        (left + width * self.x.at(x), top + height * (1.0 - self.y.at(y)))
    }

    fn points<'a>(&self, x: impl IntoIterator<Item = &'a f64>, y: impl IntoIterator<Item = &'a f64>) -> Vec<(f64, f64)> {
        x.into_iter().zip(y).filter(|(x, y)| self.x.shows(**x) && self.y.shows(**y)).map(|(x, y)| self.at(*x, *y)).collect()
    }

    /// Frame, title, and round numbers along both axes.
    pub(super) fn frame(&self, picture: &mut Picture, title: &str, below: &str) {
        let Place { left, top, width, height } = self.place;
        let (ups, acrosses) = (self.y.ticks(height / 45.0), self.x.ticks(width / 75.0));
        let (x_ends, y_ends) = (self.x.ends(), self.y.ends());
        for &y in &ups.at {
            picture.line(vec![self.at(x_ends.0, y), self.at(x_ends.1, y)], Colour::Grid);
            picture.text(left - 5.0, self.at(x_ends.0, y).1 + 4.0, 1.0, &ups.words(y));
        }
        for &x in &acrosses.at {
            picture.line(vec![self.at(x, y_ends.0), self.at(x, y_ends.1)], Colour::Grid);
            picture.text(self.at(x, y_ends.0).0, top + height + 14.0, 0.5, &acrosses.words(x));
        }
        picture.frame(self.place);
        picture.text(left, top - 7.0, 0.0, title);
        picture.text(left + width / 2.0, top + height + 29.0, 0.5, below);
    }

    pub(super) fn dots<'a>(
        &self,
        picture: &mut Picture,
        x: impl IntoIterator<Item = &'a f64>,
        y: impl IntoIterator<Item = &'a f64>,
        colour: Colour,
    ) {
        let points = self.points(x, y);
        if !points.is_empty() {
            picture.dots(points, colour);
        }
    }

    pub(super) fn line(&self, picture: &mut Picture, x: &[f64], y: &[f64], colour: Colour) {
        picture.line(self.points(x, y), colour);
    }

    /// The area between two lines, as far as the panel goes, wherever both are known.
    pub(super) fn area(&self, picture: &mut Picture, x: &[f64], (low, high): (&[f64], &[f64]), colour: Colour) {
        let end = self.y.ends();
        let shown = |i: &usize| self.x.shows(x[*i]) && low[*i].is_finite() && high[*i].is_finite() && high[*i] >= end.0 && low[*i] <= end.1;
        let places: Vec<usize> = (0..x.len()).filter(shown).collect();
        // Where it breaks, another begins.
        for part in places.chunk_by(|a, b| *b == a + 1) {
            let upper = part.iter().map(|&i| self.at(x[i], high[i].min(end.1)));
            let lower = part.iter().rev().map(|&i| self.at(x[i], low[i].max(end.0)));
            picture.area(upper.chain(lower).collect(), colour);
        }
    }

    /// A bar from `low` to `high`, as far as the panel goes.
    pub(super) fn bar(&self, picture: &mut Picture, x: f64, (low, high): (f64, f64), colour: Colour) {
        let end = self.y.ends();
        let (low, high) = (low.max(end.0), high.min(end.1));
        if self.x.shows(x) && low <= high && self.y.shows(high) {
            picture.line(vec![self.at(x, low), self.at(x, high)], colour);
        }
    }
}
