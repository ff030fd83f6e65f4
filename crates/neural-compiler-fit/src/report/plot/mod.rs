//! A fit as a picture. In: data, predictions and the model's lines; out: an SVG, or the same as a PNG or PDF. For each target the data with
//! the model's line above and the residuals below, over the time or the only input; data of a model of several inputs are drawn over its
//! predictions. For two states also the one over the other. Known standard deviations are bars, groups have colours of their own.
//! Invariants: a cell without data has no dot and moves no other; the line breaks between trajectories.

mod lines;
mod panel;
mod paths;
mod pdf;
mod png;
mod scale;
mod shapes;
mod svg;

use crate::data::table::Table;
use crate::forecast::distribution::normal_quantile;
use crate::forecast::known::Known;
use crate::options::Options;
use crate::report::{Axis, Fit};
pub use lines::{Line, lines};
use neural_compiler::Program;
use panel::Panel;
pub use paths::Paths;
use scale::Scale;
use shapes::{Colour, Picture, Place};

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
    /// The standard deviation of each row; empty: not known.
    pub sigma: Vec<f64>,
    /// The group of each row, counted from 0; empty: there is but one.
    pub group: Vec<usize>,
    /// Residuals that are standard normal if the model is right, in the order of `observed`; empty: not known.
    pub standard: &'a [f64],
    /// How it is drawn.
    pub look: Look,
}

/// How a fit is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Across by powers of ten.
    pub log_x: bool,
    /// Upwards by powers of ten.
    pub log_y: bool,
    /// The names of the groups.
    pub groups: Vec<String>,
}

/// Groups whose names are written beside their colours.
const NAMED: usize = 12;

const WIDTH: f64 = 340.0;
const UPPER: f64 = 220.0;
const LOWER: f64 = 110.0;
const MARGIN: f64 = 58.0;
/// Between the panels of a target.
const GAP: f64 = 44.0;
const LEFT: f64 = 76.0;
/// The panels of a target with what is around them.
const HEIGHT: f64 = UPPER + GAP + LOWER + GAP + LOWER + 2.0 * MARGIN;
/// Panels side by side; more go below.
const ACROSS: usize = 4;

impl<'a> Drawing<'a> {
    /// Of a fit of this program to this table with these options.
    pub fn new(program: &Program, table: &Table, options: &Options<'_>, fit: &'a Fit, look: Look) -> Drawing<'a> {
        let fitted = Options { values: fit.values.clone(), ..options.clone() };
        let lines = fit
            .axis
            .as_ref()
            .map(|axis| lines((program, table, &fitted), axis, &fit.targets, &fit.predicted, &look, Known::of(fit).as_ref()));
        let sigma = match (options.sigma, options.sigma_column.as_ref().and_then(|c| table.column(c))) {
            (Some(sigma), _) => vec![sigma; table.rows()],
            (None, Some(column)) => column.to_vec(),
            (None, None) => vec![],
        };
        let by_trajectory = || fit.axis.as_ref().map(|a| a.trajectory.clone()).unwrap_or_default();
        let group = options.group.as_ref().and_then(|g| table.column(g)).map_or_else(by_trajectory, numbered);
        // What is positive and scatters by factors is seen by powers of ten.
        let by_factors = !fit.noise.is_empty() && fit.noise.iter().all(|n| n.words.starts_with("(lognormal"));
        let look = Look { log_y: look.log_y || by_factors, ..look };
        Drawing {
            targets: &fit.targets,
            observed: &fit.observed,
            predicted: &fit.predicted,
            axis: fit.axis.as_ref(),
            lines: lines.unwrap_or_default(),
            sigma,
            group,
            standard: &fit.standard,
            look,
        }
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        svg::text(&self.picture())
    }

    /// The picture as PNG.
    pub fn png(&self) -> Vec<u8> {
        png::bytes(&self.picture())
    }

    /// The picture as PDF.
    pub fn pdf(&self) -> Vec<u8> {
        pdf::bytes(&self.picture())
    }

    fn picture(&self) -> Picture {
        let targets = self.targets.len();
        let phase = self.axis.is_some() && targets == 2;
        let all = targets.max(1) + usize::from(phase);
        let (across, down) = (all.min(ACROSS), all.div_ceil(ACROSS));
        let mut picture = Picture::new(LEFT + across as f64 * (WIDTH + LEFT), down as f64 * HEIGHT);
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

    /// How many groups there are; 0: they are not told apart.
    fn groups(&self) -> usize {
        match self.group.iter().max() {
            Some(&last) if last > 0 => last + 1,
            _ => 0,
        }
    }

    /// Dots of data in the colours of their groups.
    fn dots(&self, picture: &mut Picture, panel: &Panel, x: &[f64], y: &[f64]) {
        if self.groups() == 0 {
            return panel.dots(picture, x, y, Colour::Data);
        }
        for group in 0..self.groups() {
            let own = |all: &'_ [f64]| all.iter().zip(&self.group).filter(|(_, g)| **g == group).map(|(x, _)| *x).collect::<Vec<f64>>();
            panel.dots(picture, &own(x), &own(y), Colour::Group(group));
        }
    }

    /// Bars of one standard deviation on both sides.
    fn bars(&self, picture: &mut Picture, panel: &Panel, x: &[f64], y: &[f64]) {
        for (i, sigma) in self.sigma.iter().enumerate().filter(|(i, s)| s.is_finite() && y[*i].is_finite()) {
            let group = (self.groups() > 0).then(|| self.group[i]);
            panel.bar(picture, x[i], (y[i] - sigma, y[i] + sigma), Colour::Bar(group));
        }
    }

    /// The model's lines of a pair of targets, or of a target along the axis.
    fn draw_lines(&self, picture: &mut Picture, panel: &Panel, of: impl Fn(&Line) -> (Vec<f64>, Vec<f64>)) {
        for line in &self.lines {
            let (x, y) = of(line);
            panel.line(picture, &x, &y, self.colour(line));
        }
    }

    /// The colour of a line: that of its group where there are several.
    fn colour(&self, line: &Line) -> Colour {
        let one = line.row.and_then(|row| self.group.get(row)).filter(|_| self.groups() > 0 && self.lines.len() > 1);
        one.map_or(Colour::Model, |g| Colour::Group(*g))
    }

    /// Standard residuals over what is expected of as many normal numbers: on the line where the model is right.
    fn quantiles(&self, picture: &mut Picture, target: usize, rows: usize) {
        let part = self.standard.get(target * rows..(target + 1) * rows).unwrap_or(&[]);
        let mut there: Vec<(f64, usize)> = part.iter().enumerate().filter(|(_, x)| x.is_finite()).map(|(row, x)| (*x, row)).collect();
        there.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let n = there.len() as f64;
        let (mut across, mut up) = (vec![f64::NAN; part.len()], vec![f64::NAN; part.len()]);
        for (k, (x, row)) in there.iter().enumerate() {
            // Blom's places.
            (across[*row], up[*row]) = (normal_quantile((k as f64 + 0.625) / (n + 0.25)), *x);
        }
        let place = Place { left: left(target), top: top(target) + UPPER + GAP + LOWER + GAP, width: WIDTH, height: LOWER };
        let (x, y) = (Scale::of(&across, false), Scale::of(up.iter().chain(&across), false));
        let panel = Panel { place, x, y };
        panel.frame(picture, "residuals by quantiles, in standard deviations", "expected of normal residuals");
        let same = [x.ends().0.max(y.ends().0), x.ends().1.min(y.ends().1)];
        panel.line(picture, &same, &same, Colour::Model);
        self.dots(picture, &panel, &across, &up);
    }

    fn target(&self, picture: &mut Picture, target: usize) {
        let (observed, predicted) = self.rows(target);
        let (name, along, title) = match self.axis {
            Some(axis) => (axis.name.as_str(), axis.values.as_slice(), "data (dots), model (line)"),
            None => ("prediction", predicted, "data (dots) over predictions"),
        };
        let ends: Vec<f64> = observed.iter().zip(&self.sigma).flat_map(|(y, s)| [y - s, y + s]).collect();
        let lined = self.lines.iter().flat_map(|l| &l.targets[target]);
        let y = Scale::of(observed.iter().chain(predicted).chain(lined).chain(&ends), self.look.log_y);
        let x = Scale::of(along, self.look.log_x);
        let upper = Panel { place: Place { left: left(target), top: top(target), width: WIDTH, height: UPPER }, x, y };
        let hidden = along.iter().zip(observed).filter(|(a, o)| a.is_finite() && o.is_finite() && !(x.shows(**a) && y.shows(**o))).count();
        let note = if hidden > 0 { format!("; {hidden} not positive") } else { String::new() };
        upper.frame(picture, &format!("{}: {title}{note}", self.targets[target]), "");
        for line in &self.lines {
            if let Some((confidence, prediction)) = &line.bands[target] {
                for ends in [prediction, confidence] {
                    upper.area(picture, &line.along, (&ends.0, &ends.1), self.colour(line));
                }
            }
        }
        self.bars(picture, &upper, along, observed);
        self.dots(picture, &upper, along, observed);
        self.draw_lines(picture, &upper, |l| (l.along.clone(), l.targets[target].clone()));
        if self.axis.is_none() {
            let same = [x.ends().0.max(y.ends().0), x.ends().1.min(y.ends().1)];
            upper.line(picture, &same, &same, Colour::Model);
        }
        let residuals: Vec<f64> = observed.iter().zip(predicted).map(|(o, p)| o - p).collect();
        let place = Place { left: left(target), top: top(target) + UPPER + GAP, width: WIDTH, height: LOWER };
        let bars: Vec<f64> = residuals.iter().zip(&self.sigma).flat_map(|(r, s)| [r - s, r + s]).collect();
        let lower = Panel { place, x, y: Scale::of(residuals.iter().chain(&[0.0]).chain(&bars), false) };
        lower.frame(picture, "residuals", name);
        lower.line(picture, &[x.ends().0, x.ends().1], &[0.0, 0.0], Colour::Model);
        self.bars(picture, &lower, along, &residuals);
        self.dots(picture, &lower, along, &residuals);
        if !self.standard.is_empty() {
            self.quantiles(picture, target, observed.len());
        }
        if target == 0 {
            self.names(picture);
        }
    }

    /// The names of the groups, in a line above everything.
    fn names(&self, picture: &mut Picture) {
        legend(picture, self.look.groups.iter().take(self.groups()));
    }

    /// The second target over the first.
    fn phase(&self, picture: &mut Picture) {
        let ((ox, px), (oy, py)) = (self.rows(0), self.rows(1));
        let lined = |k: usize| self.lines.iter().flat_map(move |l| &l.targets[k]);
        let x = Scale::of(ox.iter().chain(px).chain(lined(0)), self.look.log_y);
        let y = Scale::of(oy.iter().chain(py).chain(lined(1)), self.look.log_y);
        let panel = Panel { place: Place { left: left(2), top: MARGIN, width: WIDTH, height: UPPER + GAP + LOWER + GAP + LOWER }, x, y };
        panel.frame(picture, &format!("{} over {}", self.targets[1], self.targets[0]), &self.targets[0]);
        self.dots(picture, &panel, ox, oy);
        self.draw_lines(picture, &panel, |l| (l.targets[0].clone(), l.targets[1].clone()));
    }
}

/// Names beside the colours of groups, as many as fit into a line above everything.
fn legend<'n>(picture: &mut Picture, names: impl Iterator<Item = &'n String>) {
    let mut x = LEFT;
    for (group, name) in names.enumerate().take(NAMED) {
        let words: String = name.chars().take(16).collect();
        picture.dots(vec![(x, MARGIN - 34.0)], Colour::Group(group));
        picture.text(x + 7.0, MARGIN - 30.0, 0.0, &words);
        x += 22.0 + 7.0 * words.chars().count() as f64;
        if x > picture.width - LEFT {
            return;
        }
    }
}

/// Groups counted from 0, in the order of appearance.
fn numbered(column: &[f64]) -> Vec<usize> {
    let mut known: std::collections::HashMap<u64, usize> = std::collections::HashMap::new();
    let one = |x: &f64| {
        let next = known.len();
        *known.entry(x.to_bits()).or_insert(next)
    };
    column.iter().map(one).collect()
}

/// Where the panels with a number begin.
fn left(number: usize) -> f64 {
    LEFT + (number % ACROSS) as f64 * (WIDTH + LEFT)
}

fn top(target: usize) -> f64 {
    MARGIN + (target / ACROSS) as f64 * HEIGHT
}
