//! A fit as a picture. In: a finished fit; out: an SVG with data and predictions, and the residuals under them, a column per target.
//! Rows stand in the order of the table.

use crate::report::Fit;
use std::fmt::Write;

const WIDTH: f64 = 420.0;
const UPPER: f64 = 240.0;
const LOWER: f64 = 120.0;
const MARGIN: f64 = 50.0;

/// A rectangle and the range of numbers it shows.
struct Panel {
    left: f64,
    top: f64,
    height: f64,
    range: (f64, f64),
    count: usize,
}

impl Panel {
    fn new(left: f64, top: f64, height: f64, numbers: &[f64]) -> Panel {
        let finite = || numbers.iter().copied().filter(|x| x.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { 0.05 * (high - low) } else { 1.0 };
        Panel { left, top, height, range: (low - room, high + room), count: 1 }
    }

    fn x(&self, k: usize) -> f64 {
        self.left + WIDTH * (k as f64 + 0.5) / self.count.max(1) as f64
    }

    fn y(&self, number: f64) -> f64 {
        self.top + self.height * (self.range.1 - number) / (self.range.1 - self.range.0)
    }

    fn frame(&self, svg: &mut String, title: &str) {
        let (left, top, height) = (self.left, self.top, self.height);
        let _ = write!(svg, r##"<rect x="{left}" y="{top}" width="{WIDTH}" height="{height}" fill="none" stroke="#999"/>"##);
        let _ = write!(svg, r##"<text x="{left}" y="{}">{}</text>"##, top - 6.0, escape(title));
        for (number, at) in [(self.range.1, top + 10.0), (self.range.0, top + height)] {
            let _ = write!(svg, r##"<text x="{}" y="{at}" text-anchor="end" font-size="10">{number:.3e}</text>"##, left - 4.0);
        }
    }

    fn dots(&self, svg: &mut String, numbers: &[f64]) {
        for (k, &n) in numbers.iter().enumerate().filter(|(_, n)| n.is_finite()) {
            let _ = write!(svg, r##"<circle cx="{:.2}" cy="{:.2}" r="2" fill="#1f6fb4" fill-opacity="0.6"/>"##, self.x(k), self.y(n));
        }
    }

    fn line(&self, svg: &mut String, numbers: &[f64]) {
        let points: Vec<String> =
            numbers.iter().enumerate().filter(|(_, n)| n.is_finite()).map(|(k, &n)| format!("{:.2},{:.2}", self.x(k), self.y(n))).collect();
        let _ = write!(svg, r##"<polyline points="{}" fill="none" stroke="#d1495b" stroke-width="1.5"/>"##, points.join(" "));
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The picture.
pub fn svg(fit: &Fit) -> String {
    let targets = fit.targets.len().max(1);
    let rows = fit.observed.len() / targets;
    let (width, height) = (MARGIN + targets as f64 * (WIDTH + 2.0 * MARGIN), UPPER + LOWER + 3.0 * MARGIN);
    let mut out = format!(r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">"##);
    out.push_str(r##"<rect width="100%" height="100%" fill="white"/>"##);
    for t in 0..targets {
        let name = fit.targets.get(t).map_or("", String::as_str);
        let part = t * rows..(t + 1) * rows;
        let (observed, predicted) = (&fit.observed[part.clone()], &fit.predicted[part]);
        let left = 1.5 * MARGIN + t as f64 * (WIDTH + 2.0 * MARGIN);
        let both: Vec<f64> = observed.iter().chain(predicted).copied().collect();
        let upper = Panel { count: rows, ..Panel::new(left, MARGIN, UPPER, &both) };
        upper.frame(&mut out, &format!("{name}: data (dots), model (line)"));
        upper.dots(&mut out, observed);
        upper.line(&mut out, predicted);
        let residuals: Vec<f64> = observed.iter().zip(predicted).map(|(o, p)| o - p).collect();
        let scale: Vec<f64> = residuals.iter().copied().chain([0.0]).collect();
        let lower = Panel { count: rows, ..Panel::new(left, UPPER + 2.0 * MARGIN, LOWER, &scale) };
        lower.frame(&mut out, "residuals");
        lower.line(&mut out, &vec![0.0; rows]);
        lower.dots(&mut out, &residuals);
    }
    out.push_str("</svg>\n");
    out
}
