//! Of equal solutions, the one the user means. In: a minimum; out: the same minimum with terms exchanged, signs turned or phases
//! shifted so that it lies nearest to the start.
//! Invariant: the cost stays the same; nothing is assumed about the model, every change is tried.

use super::cost_at;
use super::loss::Loss;
use super::search::Task;
use super::separable::Separable;
use std::f64::consts::{PI, TAU};

/// How far parameters are from a start, by signs and orders of magnitude. Squares of logarithms, so that of two orders of the same
/// values the one in the order of the start is nearer.
pub(crate) fn distance(theta: &[f64], start: &[f64]) -> f64 {
    theta.iter().zip(start).map(|(&x, &s)| apart(x, s)).sum()
}

/// How far one parameter is from its start: never negative.
fn apart(x: f64, s: f64) -> f64 {
    if x == s {
        return 0.0;
    }
    let far = if x != 0.0 && s != 0.0 { (x / s).abs().ln() } else { 1.0 };
    if x * s < 0.0 { far * far + 100.0 } else { far * far }
}

/// More parameters than this are not tried in pairs.
const MOST: usize = 12;

/// The nearest equal solution. `free`: affine parameters without bounds, which follow the others.
pub(crate) fn nearest(task: &Task<'_>, free: &[usize], loss: Loss, theta: &[f64]) -> Vec<f64> {
    let others: Vec<usize> = (0..theta.len()).filter(|j| !free.contains(j)).collect();
    if others.len() > MOST {
        return theta.to_vec();
    }
    let cost = |theta: &[f64]| -> Option<f64> { cost_at(task.sample, theta, loss, &mut vec![0.0; task.sample.count()]).ok() };
    let Some(wanted) = cost(theta) else { return theta.to_vec() };
    let mut best = (distance(theta, task.start), theta.to_vec());
    // Each round takes the best of all single changes; a few rounds undo any mixture of them.
    for _ in 0..8 {
        let mut better: Option<(f64, Vec<f64>)> = None;
        for changed in changes(&best.1, &others) {
            if changed.iter().enumerate().any(|(j, x)| *x < task.bounds.min[j] || *x > task.bounds.max[j]) {
                continue;
            }
            let nearest = better.as_ref().unwrap_or(&best).0 - 1e-9;
            // Too far already, wherever the affine parameters may go.
            if others.iter().map(|&j| apart(changed[j], task.start[j])).sum::<f64>() >= nearest {
                continue;
            }
            let completed = if free.is_empty() {
                changed
            } else {
                let alpha: Vec<f64> = others.iter().map(|&j| changed[j]).collect();
                match Separable::new(task.sample, free, &changed).complete(&alpha) {
                    Ok(theta) => theta,
                    Err(_) => continue,
                }
            };
            let far = distance(&completed, task.start);
            if far < nearest && cost(&completed).is_some_and(|c| task.same(c, wanted)) {
                better = Some((far, completed));
            }
        }
        match better {
            Some(found) => best = found,
            None => break,
        }
    }
    best.1
}

fn changes(theta: &[f64], others: &[usize]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    let mut with = |edits: &[(usize, f64)]| {
        let mut changed = theta.to_vec();
        edits.iter().for_each(|&(j, x)| changed[j] = x);
        all.push(changed);
    };
    for (a, &i) in others.iter().enumerate() {
        with(&[(i, -theta[i])]);
        for shift in [PI, TAU, -PI, -TAU] {
            with(&[(i, theta[i] + shift)]);
        }
        // A phase far away, brought home in one go.
        with(&[(i, theta[i].rem_euclid(TAU))]);
        with(&[(i, theta[i].rem_euclid(TAU) - PI)]);
        for &j in &others[a + 1..] {
            with(&[(i, theta[j]), (j, theta[i])]);
            with(&[(i, -theta[i]), (j, -theta[j])]);
            // sin(x + a) = -sin(-x - a) = sin(pi - x - a): a turned frequency with a shifted phase.
            with(&[(i, -theta[i]), (j, PI - theta[j])]);
            with(&[(j, -theta[j]), (i, PI - theta[i])]);
        }
    }
    all
}
