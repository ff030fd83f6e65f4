//! A fit as a picture. In: data, predictions and the model's lines; out: an SVG, or the same as a PNG. For each target the data with the
//! model's line above and the residuals below, over the time or the only input; data of a model of several inputs are drawn over its
//! predictions. For two states also the one over the other.
//! Invariants: a cell without data has no dot and moves no other; the line breaks between trajectories.

mod lines;
mod panel;
mod png;
mod shapes;
mod svg;

use crate::options::Options;
use crate::report::{Axis, Fit};
use crate::table::Table;
pub use lines::{Line, lines};
use neural_compiler::Program;
use panel::{Panel, range};
use shapes::{Picture, Place};

/// What of a fit is drawn.
#[derive(Clone, Debug)]
pub struct Drawing<'a> {
    /// Names of the columns explained.
    pub targets: &'a [String],
    /// Data, target by target.
    pub observed: &'a [f64],
    /// Predictions in the same order.
    pub predicted: &'a [f64],
    /// What the rows lie along; without one they are drawn over what is predicted.
    pub axis: Option<&'a Axis>,
    /// The model's lines along the axis.
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 340.0;
const UPPER: f64 = 220.0;
const LOWER: f64 = 110.0;
const MARGIN: f64 = 58.0;
/// Between the panels of a target.
const GAP: f64 = 44.0;
const LEFT: f64 = 76.0;

impl<'a> Drawing<'a> {
    /// Of a fit of this program to this table with these options.
    pub fn new(program: &Program, table: &Table, options: &Options<'_>, fit: &'a Fit) -> Drawing<'a> {
        let fitted = Options { values: fit.values.clone(), ..options.clone() };
        let lines = fit.axis.as_ref().map(|axis| lines(program, table, &fitted, axis, &fit.targets, &fit.predicted));
        Drawing { targets: &fit.targets, observed: &fit.observed, predicted: &fit.predicted, axis: fit.axis.as_ref(), lines: lines.unwrap_or_default() }
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        svg::text(&self.picture())
    }

    /// The picture as PNG.
    pub fn png(&self) -> Vec<u8> {
        png::bytes(&self.picture())
    }

    fn picture(&self) -> Picture {
        let targets = self.targets.len();
        let phase = self.axis.is_some() && targets == 2;
        let columns = targets.max(1) + usize::from(phase);
        let mut picture = Picture::new(LEFT + columns as f64 * (WIDTH + LEFT), UPPER + GAP + LOWER + 2.0 * MARGIN);
        for t in 0..targets {
            self.target(&mut picture, t);
        }
        if phase {
            self.phase(&mut picture);
        }
        picture
    }

    /// Data and predictions of a target, row by row.
    fn rows(&self, target: usize) -> (&'a [f64], &'a [f64]) {
        let rows = self.observed.len() / self.targets.len();
        let part = target * rows..(target + 1) * rows;
        (&self.observed[part.clone()], &self.predicted[part])
    }

    fn target(&self, picture: &mut Picture, target: usize) {
        let (observed, predicted) = self.rows(target);
        let (name, along, title) = match self.axis {
            Some(axis) => (axis.name.as_str(), axis.values.as_slice(), "data (dots), model (line)"),
            None => ("prediction", predicted, "data (dots) over predictions"),
        };
        let lines = self.lines.iter().map(|Line { along, targets }| (along.as_slice(), targets[target].as_slice()));
        let y = range(observed.iter().chain(predicted).chain(lines.clone().flat_map(|(_, y)| y)));
        let upper = Panel { place: Place { left: left(target), top: MARGIN, width: WIDTH, height: UPPER }, x: range(along), y };
        upper.frame(picture, &format!("{}: {title}", self.targets[target]), "");
        upper.dots(picture, along, observed);
        lines.for_each(|(x, y)| upper.line(picture, x, y));
        if self.axis.is_none() {
            let same = [upper.x.0.max(upper.y.0), upper.x.1.min(upper.y.1)];
            upper.line(picture, &same, &same);
        }
        let residuals: Vec<f64> = observed.iter().zip(predicted).map(|(o, p)| o - p).collect();
        let place = Place { left: left(target), top: MARGIN + UPPER + GAP, width: WIDTH, height: LOWER };
        let lower = Panel { place, x: upper.x, y: range(residuals.iter().chain(&[0.0])) };
        lower.frame(picture, "residuals", name);
        lower.line(picture, &[lower.x.0, lower.x.1], &[0.0, 0.0]);
        lower.dots(picture, along, &residuals);
    }

    /// The second target over the first.
    fn phase(&self, picture: &mut Picture) {
        let ((ox, px), (oy, py)) = (self.rows(0), self.rows(1));
        let lines = self.lines.iter().map(|l| (l.targets[0].as_slice(), l.targets[1].as_slice()));
        let x = range(ox.iter().chain(px).chain(lines.clone().flat_map(|(x, _)| x)));
        let y = range(oy.iter().chain(py).chain(lines.clone().flat_map(|(_, y)| y)));
        let panel = Panel { place: Place { left: left(2), top: MARGIN, width: WIDTH, height: UPPER + GAP + LOWER }, x, y };
        panel.frame(picture, &format!("{} over {}", self.targets[1], self.targets[0]), &self.targets[0]);
        panel.dots(picture, ox, oy);
        lines.for_each(|(x, y)| panel.line(picture, x, y));
    }
}

fn left(column: usize) -> f64 {
    LEFT + column as f64 * (WIDTH + LEFT)
}
