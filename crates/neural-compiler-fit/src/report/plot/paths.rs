//! Simulated trajectories as a picture. In: a simulation; out: a panel for each number of states and observables with a line for each set.
//! Invariant: lines break where the time goes back: there another trajectory begins.

use super::panel::Panel;
use super::scale::Scale;
use super::shapes::{Colour, Picture, Place};
use super::{ACROSS, LEFT, Look, MARGIN, UPPER, WIDTH, left, legend, pdf, png, svg};
use crate::dynamics::simulate::Simulation;

/// What of a simulation is drawn.
pub struct Paths<'a> {
    /// The trajectories.
    pub simulation: &'a Simulation,
    /// What the sets are called, where there are several.
    pub sets: Vec<String>,
    /// How it is drawn; groups are the sets.
    pub look: Look,
}

/// Panels at most, and lines in each.
const MOST_PANELS: usize = 24;
const MOST_LINES: usize = 500;

impl Paths<'_> {
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
        let all = self.simulation;
        let names = all.names();
        let panels = names.len().min(MOST_PANELS);
        let (across, down) = (panels.min(ACROSS), panels.div_ceil(ACROSS));
        let height = UPPER + 2.0 * MARGIN;
        let mut picture = Picture::new(LEFT + across as f64 * (WIDTH + LEFT), down as f64 * height);
        let rows = all.times.len();
        // Every set, or some of very many.
        let shown: Vec<usize> = (0..all.sets).step_by(all.sets.div_ceil(MOST_LINES)).collect();
        for (k, name) in names.iter().enumerate().take(panels) {
            let values = all.column(k);
            let of = |set: usize| &values[set * rows..(set + 1) * rows];
            let x = Scale::of(&all.times, self.look.log_x);
            let y = Scale::of(shown.iter().flat_map(|&set| of(set)), self.look.log_y);
            let top = MARGIN + (k / ACROSS) as f64 * height;
            let panel = Panel { place: Place { left: left(k), top, width: WIDTH, height: UPPER }, x, y };
            panel.frame(&mut picture, name, &all.time);
            for &set in &shown {
                let colour = if all.sets > 1 { Colour::Group(set) } else { Colour::Model };
                let mut from = 0;
                for to in (1..=rows).filter(|&i| i == rows || all.times[i] < all.times[i - 1]) {
                    panel.line(&mut picture, &all.times[from..to], &of(set)[from..to], colour);
                    from = to;
                }
            }
        }
        legend(&mut picture, self.sets.iter().filter(|_| all.sets > 1));
        picture
    }
}
