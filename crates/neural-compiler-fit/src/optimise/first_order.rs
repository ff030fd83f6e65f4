//! First-order training, for models whose Jacobian does not fit into memory. In: a cost with a gradient, a penalty, a start; out: a
//! minimum.
//!
//! Adam (Kingma and Ba 2015) on minibatches with a falling rate goes most of the way, L-BFGS (Liu and Nocedal 1989) on all data the rest.
//! Invariants: the batches are the seed's; one order of sums; numbers stay within their bounds.

use crate::optimise::gradient::Gradient;
use crate::optimise::penalised::Penalty;
use crate::optimise::{Bounds, Unusable, dot};
use crate::support::random::Stream;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to train.
pub(crate) struct FirstOrder<'a> {
    pub(crate) problem: &'a dyn Gradient,
    /// What the nets say, and the weight of its square.
    pub(crate) voices: Vec<(&'a dyn Gradient, f64)>,
    pub(crate) penalty: &'a Penalty,
    pub(crate) bounds: &'a Bounds,
    /// The size of each number: steps are in these units.
    pub(crate) sizes: &'a [f64],
    pub(crate) epochs: usize,
    pub(crate) batch: usize,
    pub(crate) seed: u32,
    pub(crate) cancel: Option<&'a AtomicBool>,
    /// Told every cost; ends training by returning false.
    pub(crate) watch: &'a mut dyn FnMut(&[f64], f64) -> bool,
}

/// Adam's first rate, in units of the numbers' sizes.
const RATE: f64 = 0.01;
/// Steps of L-BFGS at most, and pairs it remembers.
const STEPS: usize = 1000;
const MEMORY: usize = 20;

impl FirstOrder<'_> {
    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }

    fn inside(&self, theta: &mut [f64]) {
        theta.iter_mut().enumerate().for_each(|(j, x)| *x = x.clamp(self.bounds.min[j], self.bounds.max[j]));
    }

    /// The cost of some parts, scaled up to all of them, with the penalty; and its derivative.
    fn cost(&self, theta: &[f64], parts: &[usize], gradient: &mut [f64]) -> Result<f64, Unusable> {
        gradient.fill(0.0);
        let cost = self.problem.gradient(theta, parts, gradient)?;
        let share = self.problem.parts() as f64 / parts.len() as f64;
        for (j, g) in gradient.iter_mut().enumerate() {
            *g = share * *g + 2.0 * self.penalty.strength[j] * (theta[j] - self.penalty.centre[j]);
        }
        let mut total = share * cost + self.penalty.cost(theta);
        for (voice, weight) in self.voices.iter().filter(|v| v.1 > 0.0) {
            let mut own = vec![0.0; gradient.len()];
            total += weight * voice.gradient(theta, &(0..voice.parts()).collect::<Vec<_>>(), &mut own)?;
            gradient.iter_mut().zip(&own).for_each(|(g, x)| *g += weight * x);
        }
        Ok(total)
    }

    /// Trains; gives the numbers, the cost there, and whether a minimum was reached.
    pub(crate) fn run(&mut self, start: &[f64]) -> Result<(Vec<f64>, bool), Unusable> {
        let (theta, go_on) = self.adam(start)?;
        if !go_on || self.cancelled() {
            return Ok((theta, false));
        }
        self.lbfgs(theta)
    }

    fn adam(&mut self, start: &[f64]) -> Result<(Vec<f64>, bool), Unusable> {
        let (n, parts) = (start.len(), self.problem.parts());
        let batch = self.batch.clamp(1, parts);
        let rounds = self.epochs * parts.div_ceil(batch);
        let mut stream = Stream::new(self.seed, 0xADA);
        let mut order: Vec<usize> = (0..parts).collect();
        let (mut theta, mut slope) = (start.to_vec(), vec![0.0; n]);
        let (mut mean, mut square) = (vec![0.0; n], vec![0.0; n]);
        let mut last_good = theta.clone();
        let (mut step, mut slower) = (0usize, 1.0);
        for _ in 0..self.epochs {
            for k in (1..parts).rev() {
                order.swap(k, stream.below(k + 1));
            }
            let mut cost = 0.0;
            for chunk in order.chunks(batch) {
                if self.cancelled() {
                    return Ok((theta, false));
                }
                let mut chosen = chunk.to_vec();
                chosen.sort_unstable();
                match self.cost(&theta, &chosen, &mut slope) {
                    Ok(c) => {
                        cost += c / parts.div_ceil(batch) as f64;
                        last_good.copy_from_slice(&theta);
                    }
                    Err(e) => {
                        // A step too far: back, and smaller ones from here.
                        slower *= 0.5;
                        if slower < 1e-6 {
                            return Err(e);
                        }
                        theta.copy_from_slice(&last_good);
                        mean.fill(0.0);
                        continue;
                    }
                }
                step += 1;
                let rate = slower * RATE * 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / rounds as f64).cos());
                let (fix_mean, fix_square) = (1.0 - 0.9f64.powi(step as i32), 1.0 - 0.999f64.powi(step as i32));
                for j in 0..n {
                    let g = slope[j] * self.sizes[j];
                    mean[j] = 0.9 * mean[j] + 0.1 * g;
                    square[j] = 0.999 * square[j] + 0.001 * g * g;
                    let root = (square[j] / fix_square).sqrt();
                    if root > 0.0 {
                        theta[j] -= rate * self.sizes[j] * (mean[j] / fix_mean) / root;
                    }
                }
                self.inside(&mut theta);
            }
            if !(self.watch)(&theta, cost) {
                return Ok((theta, false));
            }
        }
        Ok((theta, true))
    }

    fn lbfgs(&mut self, start: Vec<f64>) -> Result<(Vec<f64>, bool), Unusable> {
        let all: Vec<usize> = (0..self.problem.parts()).collect();
        let n = start.len();
        let (mut theta, mut slope) = (start, vec![0.0; n]);
        let mut cost = self.cost(&theta, &all, &mut slope)?;
        let mut pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
        let mut still = 0;
        for _ in 0..STEPS {
            if self.cancelled() {
                return Ok((theta, false));
            }
            let mut way = self.direction(&slope, &pairs);
            let mut descent = dot(&way, &slope);
            if descent >= 0.0 {
                pairs.clear();
                way = self.direction(&slope, &pairs);
                descent = dot(&way, &slope);
            }
            let mut length = 1.0;
            let mut trial = vec![0.0; n];
            let mut next = vec![0.0; n];
            let accepted = loop {
                (0..n).for_each(|j| trial[j] = theta[j] + length * way[j]);
                self.inside(&mut trial);
                match self.cost(&trial, &all, &mut next) {
                    Ok(c) if c <= cost + 1e-4 * length * descent => break Some(c),
                    _ if length < 1e-12 => break None,
                    _ => length *= 0.5,
                }
            };
            let Some(lower) = accepted else { return Ok((theta, true)) };
            let moved: Vec<f64> = trial.iter().zip(&theta).map(|(a, b)| a - b).collect();
            let bend: Vec<f64> = next.iter().zip(&slope).map(|(a, b)| a - b).collect();
            let curvature = dot(&moved, &bend);
            if curvature > 1e-12 * dot(&bend, &bend).sqrt() * dot(&moved, &moved).sqrt() {
                pairs.push_back((moved, bend, 1.0 / curvature));
                if pairs.len() > MEMORY {
                    pairs.pop_front();
                }
            }
            still = if cost - lower <= 1e-8 * cost { still + 1 } else { 0 };
            std::mem::swap(&mut theta, &mut trial);
            std::mem::swap(&mut slope, &mut next);
            cost = lower;
            if !(self.watch)(&theta, cost) {
                return Ok((theta, false));
            }
            if still >= 5 {
                return Ok((theta, true));
            }
        }
        Ok((theta, false))
    }

    /// Down, by the curvature seen so far.
    fn direction(&self, slope: &[f64], pairs: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
        let mut way: Vec<f64> = slope.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(pairs.len());
        for (moved, bend, inverse) in pairs.iter().rev() {
            let share = inverse * dot(moved, &way);
            way.iter_mut().zip(bend).for_each(|(w, b)| *w -= share * b);
            shares.push(share);
        }
        match pairs.back() {
            Some((_, bend, inverse)) => {
                let scale = 1.0 / (inverse * dot(bend, bend));
                way.iter_mut().for_each(|w| *w *= scale);
            }
            None => {
                // Nothing known of the curvature: a hundredth of every number's size, downhill.
                let most = slope.iter().zip(self.sizes).map(|(g, s)| (g * s).abs()).fold(f64::MIN_POSITIVE, f64::max);
                way.iter_mut().zip(self.sizes).for_each(|(w, s)| *w *= 0.01 * s * s / most);
            }
        }
        for ((moved, bend, inverse), share) in pairs.iter().zip(shares.iter().rev()) {
            let back = share - inverse * dot(bend, &way);
            way.iter_mut().zip(moved).for_each(|(w, m)| *w += back * m);
        }
        way
    }
}
