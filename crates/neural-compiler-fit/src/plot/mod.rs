//! A fit as a picture. In: a finished fit; out: an SVG, or the same as a PNG. For each target the data over the time (or the row) with the
//! model's line above and the residuals below; for two states also the one over the other.
//! Invariants: a cell without data has no dot and moves no other; the line breaks between trajectories.

mod png;
mod shapes;
mod svg;

use crate::report::{Axis, Fit};
use shapes::{Colour, Picture, Place};

/// What of a fit is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawing<'a> {
    /// Names of the columns explained.
    pub targets: &'a [String],
    /// Data, target by target.
    pub observed: &'a [f64],
    /// Predictions in the same order.
    pub predicted: &'a [f64],
    /// What the rows lie along; without one they are numbered.
    pub axis: Option<&'a Axis>,
}

impl<'a> From<&'a Fit> for Drawing<'a> {
    fn from(fit: &'a Fit) -> Drawing<'a> {
        Drawing { targets: &fit.targets, observed: &fit.observed, predicted: &fit.predicted, axis: fit.axis.as_ref() }
    }
}

/// The picture as SVG.
pub fn svg<'a>(drawing: impl Into<Drawing<'a>>) -> String {
    svg::text(&picture(&drawing.into()))
}

/// The picture as PNG.
pub fn png<'a>(drawing: impl Into<Drawing<'a>>) -> Vec<u8> {
    png::bytes(&picture(&drawing.into()))
}

const WIDTH: f64 = 340.0;
const UPPER: f64 = 220.0;
const LOWER: f64 = 110.0;
const MARGIN: f64 = 44.0;
const LEFT: f64 = 76.0;

/// A range of numbers with room at both ends.
fn range<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> (f64, f64) {
    let (low, high) = numbers.into_iter().filter(|x| x.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    let room = if high > low { 0.05 * (high - low) } else { high.abs().max(1.0) * 0.5 };
    (low - room, high + room)
}

/// A panel: where it is, and the ranges of numbers it shows.
struct Panel {
    place: Place,
    x: (f64, f64),
    y: (f64, f64),
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let Place { left, top, width, height } = self.place;
        (left + width * (x - self.x.0) / (self.x.1 - self.x.0), top + height * (self.y.1 - y) / (self.y.1 - self.y.0))
    }

    fn points<'a>(&'a self, x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| self.at(*x, *y))
    }

    /// Frame, title, and the numbers at the ends of both axes.
    fn frame(&self, picture: &mut Picture, title: &str, below: &str) {
        let Place { left, top, width, height } = self.place;
        picture.frame(self.place);
        picture.text(left, top - 7.0, 0.0, title);
        for (number, at) in [(self.y.1, top + 10.0), (self.y.0, top + height)] {
            picture.text(left - 5.0, at, 1.0, &short(number));
        }
        for (number, at, anchor) in [(self.x.0, left, 0.0), (self.x.1, left + width, 1.0)] {
            picture.text(at, top + height + 14.0, anchor, &short(number));
        }
        picture.text(left + width / 2.0, top + height + 14.0, 0.5, below);
    }

    /// The model's line, row after row, broken between trajectories.
    fn line(&self, picture: &mut Picture, x: &[f64], y: &[f64], lines: &[Vec<usize>]) {
        for rows in lines {
            let there = rows.iter().filter(|&&i| x[i].is_finite() && y[i].is_finite());
            picture.line(there.map(|&i| self.at(x[i], y[i])).collect(), Colour::Model);
        }
    }
}

/// The rows of each line, in the order of what they lie along.
fn lines(along: &[f64], trajectory: &[usize]) -> Vec<Vec<usize>> {
    let mut lines = vec![Vec::new(); trajectory.iter().copied().max().unwrap_or(0) + 1];
    (0..along.len()).for_each(|i| lines[trajectory.get(i).copied().unwrap_or(0)].push(i));
    lines.iter_mut().for_each(|rows| rows.sort_by(|a, b| along[*a].total_cmp(&along[*b])));
    lines
}

/// A number in few characters.
fn short(x: f64) -> String {
    let plain = format!("{:.3}", x);
    if x == 0.0 || (1e-2..1e5).contains(&x.abs()) { plain.trim_end_matches('0').trim_end_matches('.').to_string() } else { format!("{x:.2e}") }
}

fn picture(fit: &Drawing<'_>) -> Picture {
    let targets = fit.targets.len().max(1);
    let rows = fit.observed.len() / targets;
    let count: Vec<f64> = (1..=rows).map(|i| i as f64).collect();
    let (name, along, trajectory): (&str, &[f64], &[usize]) = match fit.axis {
        Some(axis) => (&axis.name, &axis.values, &axis.trajectory),
        None => ("row", &count, &[]),
    };
    let lines = lines(along, trajectory);
    let phase = fit.axis.is_some() && fit.targets.len() == 2;
    let columns = targets + usize::from(phase);
    let mut picture = Picture::new(LEFT + columns as f64 * (WIDTH + LEFT), UPPER + LOWER + 3.0 * MARGIN);
    let left = |column: usize| LEFT + column as f64 * (WIDTH + LEFT);
    let part = |t: usize| (&fit.observed[t * rows..(t + 1) * rows], &fit.predicted[t * rows..(t + 1) * rows]);
    for t in 0..fit.targets.len() {
        let (observed, predicted) = part(t);
        let upper =
            Panel { place: Place { left: left(t), top: MARGIN, width: WIDTH, height: UPPER }, x: range(along), y: range(observed.iter().chain(predicted)) };
        upper.frame(&mut picture, &format!("{}: data (dots), model (line)", fit.targets[t]), name);
        picture.dots(upper.points(along, observed).collect(), Colour::Data);
        upper.line(&mut picture, along, predicted, &lines);
        let residuals: Vec<f64> = observed.iter().zip(predicted).map(|(o, p)| o - p).collect();
        let lower = Panel {
            place: Place { left: left(t), top: UPPER + 2.0 * MARGIN, width: WIDTH, height: LOWER },
            x: upper.x,
            y: range(residuals.iter().chain(&[0.0])),
        };
        lower.frame(&mut picture, "residuals", name);
        picture.line(vec![lower.at(lower.x.0, 0.0), lower.at(lower.x.1, 0.0)], Colour::Model);
        picture.dots(lower.points(along, &residuals).collect(), Colour::Data);
    }
    if phase {
        let ((ox, px), (oy, py)) = (part(0), part(1));
        let panel = Panel {
            place: Place { left: left(2), top: MARGIN, width: WIDTH, height: UPPER + MARGIN + LOWER },
            x: range(ox.iter().chain(px)),
            y: range(oy.iter().chain(py)),
        };
        panel.frame(&mut picture, &format!("{} over {}", fit.targets[1], fit.targets[0]), &fit.targets[0]);
        picture.dots(panel.points(ox, oy).collect(), Colour::Data);
        panel.line(&mut picture, px, py, &lines);
    }
    picture
}
