//! Where a condition on time may change: proof instead of samples. In: a condition of `switches` and a stretch of time over which it has no
//! edge of another; out: the stretches at whose ends alone it is to be looked at, one after the other.
//!
//! Stretches are halved until bounds of what is computed over all of one (interval arithmetic on the graph of the condition) prove one of
//! these: the class is one number; the level is monotone, so that the ends tell; its slope is monotone, so that it turns at most once, and
//! the ends and the turn tell.
//! Invariants: what changes over a stretch that was settled is found; what becomes different and the same again within `LEAST` of the lane,
//! or only touches a level to the last digits, is none; what is neither proved nor disproved with as many boxes as there are is told. The
//! widest stretches come first, so that boxes are spent everywhere alike.

use super::switches::{Search, forcing_at};
use neural_compiler::domain::Enclosure;
use neural_compiler::graph::{Graph, GraphInput, select};
use neural_compiler::ops::interval::Interval;
use neural_compiler::{Shape, diff};
use std::collections::VecDeque;

/// Boxes for the conditions of a lane, those of conditions whose search is repeated with every evaluation of a fit, and how many more there
/// are for each interval between rows.
pub(super) const BOXES: usize = 1 << 18;
pub(super) const BOXES_REPEATED: usize = 1 << 16;
pub(super) const BOXES_MORE: usize = 32;
/// The share of a lane below which a stretch is a point.
const LEAST: f64 = 1e-14;
/// The share of a lane below which a stretch without bounds may be that about a pole.
const POLE: f64 = 1e-6;
/// Where a stretch is looked at to see whether anything can be known: no place that halving comes to.
const ASIDE: f64 = 0.414_213_562_373_095_1;

/// Bounds of the elements of some values.
type Boxes = Vec<Vec<Interval<f64>>>;

/// The graphs a condition is bounded by.
pub(super) struct Smooth {
    /// Class and level.
    both: Graph,
    /// Slope and curvature of the level along time, of the inputs, their slopes and their slopes again.
    bends: Graph,
}

impl Smooth {
    /// Of class and level; `moving`: the inputs that change with time.
    pub(super) fn new(both: Graph, level: &Graph, moving: &[usize]) -> Smooth {
        let slope = select(&diff::jvp(level, moving), &[1]);
        Smooth { both, bends: diff::jvp(&slope, moving) }
    }
}

/// What is to be done with a stretch.
pub(super) enum Piece {
    /// The ends tell.
    Ends(f64, f64),
    /// It could not be settled.
    Open(f64, f64),
}

/// What is known of a stretch.
enum Verdict {
    Same,
    Monotone,
    /// The level turns at most once.
    Turns,
    /// Not even a point in it can be settled.
    Never,
    Unknown,
}

fn signed(x: &Interval<f64>) -> bool {
    !x.nan && (x.lo >= 0.0 || x.hi <= 0.0)
}

fn finite(x: &Interval<f64>) -> bool {
    !x.nan && !x.has_infinity()
}

fn one(x: &Interval<f64>) -> bool {
    x.is_empty() || !x.nan && x.lo == x.hi
}

/// The bounds of one condition along a lane.
struct Bounds<'a> {
    search: &'a Search<'a>,
    both: Enclosure<'a>,
    bends: Enclosure<'a>,
    boxes: usize,
}

impl Search<'_> {
    /// The pieces of a stretch that are to be looked at; `boxes`: how many there are, which becomes how many are left.
    pub(super) fn isolate(&self, condition: usize, (from, to): (f64, f64), span: f64, boxes: &mut usize) -> Vec<Piece> {
        let Some(smooth) = &self.all.conditions[condition].smooth else { return vec![Piece::Ends(from, to)] };
        let (Some(both), Some(bends)) = (Enclosure::new(&smooth.both), Enclosure::new(&smooth.bends)) else {
            return vec![Piece::Open(from, to)];
        };
        let mut bounds = Bounds { search: self, both, bends, boxes: *boxes };
        let pieces = bounds.pieces((from, to), span);
        *boxes = bounds.boxes;
        pieces
    }

    /// Bounds of the inputs over a stretch, and how they move along it.
    fn inputs_over(&self, lo: f64, hi: f64) -> (Boxes, Boxes) {
        let all = self.all;
        let point = |x: &f64| Interval::point(*x);
        let mut inputs: Boxes = self.shared[..all.shared].iter().map(|v| v.iter().map(point).collect()).collect();
        inputs.push(vec![Interval::hull([self.lane.time(lo), self.lane.time(hi)])]);
        let mut slopes = vec![vec![Interval::point(1.0)]];
        let mut at = 0;
        for shape in &all.forcing {
            let of = |time: f64| (at..at + shape.len()).map(move |k| forcing_at(self.lane, time, k, all.held[k]));
            // Linear between rows, and computed by steps that are each monotone.
            inputs.push(of(lo).zip(of(hi)).map(|(a, b)| Interval::hull([a.0, b.0])).collect());
            if !all.held[at..at + shape.len()].iter().all(|&h| h) {
                slopes.push(of(lo).map(|a| Interval::point(self.lane.direction * a.1)).collect());
            }
            at += shape.len();
        }
        (inputs, slopes)
    }
}

impl Bounds<'_> {
    fn pieces(&mut self, (from, to): (f64, f64), span: f64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut left = VecDeque::from([(from, to)]);
        while let Some((lo, hi)) = left.pop_front() {
            if self.boxes == 0 {
                pieces.push(Piece::Open(lo, hi));
                continue;
            }
            match self.verdict(lo, hi, span) {
                Verdict::Same => {}
                Verdict::Monotone => pieces.push(Piece::Ends(lo, hi)),
                Verdict::Turns => match self.turn(lo, hi) {
                    // A level that is only touched, to the last digits: what holds there and nowhere else counts for nothing.
                    Some(turn) if self.touches(lo, turn, hi) => {}
                    Some(turn) => pieces.extend([Piece::Ends(lo, turn), Piece::Ends(turn, hi)]),
                    None => pieces.push(Piece::Ends(lo, hi)),
                },
                Verdict::Never => pieces.push(Piece::Open(lo, hi)),
                Verdict::Unknown => {
                    let middle = lo + (hi - lo) / 2.0;
                    if hi - lo <= LEAST * span || middle <= lo || middle >= hi {
                        pieces.push(Piece::Ends(lo, hi));
                    } else {
                        left.extend([(lo, middle), (middle, hi)]);
                    }
                }
            }
        }
        pieces
    }

    /// Bounds of class and level.
    fn values(&mut self, lo: f64, hi: f64) -> (Interval<f64>, Interval<f64>) {
        self.boxes = self.boxes.saturating_sub(1);
        let found = self.both.of(&self.search.inputs_over(lo, hi).0);
        (found[0][0], found[1][0])
    }

    /// Bounds of slope and curvature of the level.
    fn bends(&mut self, lo: f64, hi: f64) -> (Interval<f64>, Interval<f64>) {
        self.boxes = self.boxes.saturating_sub(1);
        let (mut inputs, slopes) = self.search.inputs_over(lo, hi);
        inputs.extend(slopes.iter().chain(&slopes).cloned());
        let found = self.bends.of(&inputs);
        (found[0][0], found[1][0])
    }

    fn verdict(&mut self, lo: f64, hi: f64, span: f64) -> Verdict {
        let (class, level) = self.values(lo, hi);
        if one(&class) {
            return Verdict::Same;
        }
        if finite(&level) {
            let (slope, curvature) = self.bends(lo, hi);
            if signed(&slope) {
                return Verdict::Monotone;
            }
            if finite(&slope) && signed(&curvature) {
                return Verdict::Turns;
            }
        }
        // Narrow bounds may come; but if nothing is known of this operation anywhere, a point shows it. Beside a pole it may not.
        let aside = lo + (hi - lo) * ASIDE;
        if hi - lo > POLE * span && !one(&self.values(aside, aside).0) { Verdict::Never } else { Verdict::Unknown }
    }

    /// Where the slope changes its sign, which it does at most once.
    fn turn(&mut self, lo: f64, hi: f64) -> Option<f64> {
        let mut at = |t: f64| {
            let slope = self.bends(t, t).0;
            slope.lo + (slope.hi - slope.lo) / 2.0
        };
        let (mut a, mut b) = ((lo, at(lo)), (hi, at(hi)));
        if a.1 == 0.0 || b.1 == 0.0 || (a.1 < 0.0) == (b.1 < 0.0) {
            return None;
        }
        let mut side = 0i8;
        for tries in 0..200 {
            let (wide, share) = (b.0 - a.0, a.1 / (a.1 - b.1));
            let halved = tries > 20 && tries % 2 == 0 || !share.is_finite();
            let mut next = if halved { a.0 + wide / 2.0 } else { a.0 + wide * share };
            if next <= a.0 || next >= b.0 {
                next = a.0 + wide / 2.0;
            }
            if next <= a.0 || next >= b.0 {
                break;
            }
            let slope = at(next);
            if slope == 0.0 {
                return Some(next);
            }
            if (slope < 0.0) == (a.1 < 0.0) {
                a = (next, slope);
                b.1 *= if side > 0 { 0.5 } else { 1.0 };
                side = 1;
            } else {
                b = (next, slope);
                a.1 *= if side < 0 { 0.5 } else { 1.0 };
                side = -1;
            }
        }
        Some(b.0)
    }

    /// Whether the class is the same at both ends, and cannot be told from that at the turn.
    fn touches(&mut self, lo: f64, turn: f64, hi: f64) -> bool {
        let (first, last) = (self.values(lo, lo).0, self.values(hi, hi).0);
        let here = self.values(turn.next_down().max(lo), turn.next_up().min(hi)).0;
        one(&first) && one(&last) && first.lo == last.lo && here.contains(first.lo) && !one(&here)
    }
}

/// The inputs that change with time: time itself, and the columns that are not held from row to row.
pub(super) fn moving(shared: usize, forcing: &[Shape], held: &[bool], inputs: &[GraphInput]) -> Vec<usize> {
    let mut at = 0;
    let mut moves = |shape: &Shape| {
        at += shape.len();
        !held[at - shape.len()..at].iter().all(|&h| h)
    };
    let columns: Vec<usize> = forcing.iter().enumerate().filter(|(_, s)| moves(s)).map(|(k, _)| shared + 1 + k).collect();
    debug_assert!(inputs.len() == shared + 1 + forcing.len());
    std::iter::once(shared).chain(columns).collect()
}
