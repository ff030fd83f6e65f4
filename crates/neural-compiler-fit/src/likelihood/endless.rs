//! Likelihoods without a maximum. In: where a search ended, and the information there; out: a way along which the likelihood rises without
//! end, or stays as it is, ever further away.
//!
//! At a maximum minus twice the log-likelihood is higher by about 1 a standard error away. Where a parameter runs off (a rate whose counts
//! are all 0, the slope of a logistic curve through data that a threshold separates, the size of a negative binomial distribution whose
//! counts scatter no more than Poisson's) the information fades as fast as the slope does: the search ends because nothing is left to be
//! gained, and a standard error away, thousands of units, the likelihood is no lower. Newton's step points there.

use super::maximum::{held, newton};
use crate::optimise::arrow::Blocks;
use crate::optimise::{Bounds, Residuals, dot};

/// A rise of minus twice the log-likelihood, a standard error away and beyond, that is none.
const NO_RISE: f64 = 1e-3;
/// How far is looked, in standard errors.
const FAR: [f64; 3] = [1.0, 2.0, 4.0];
/// How many times its start, or 1, a parameter is that has run off as far as numbers tell, and how many times itself it is tried then: the
/// likelihood of a size of 10^12 is mostly rounding.
const GROWN: f64 = 100.0;
const TIMES: [f64; 3] = [2.0, 4.0, 8.0];
/// Information along a way, below this share of what the parameters of it have alone, is what rounding leaves of none: such parameters are
/// not determined one by one, which is no lack of a maximum.
const NONE: f64 = 1e-8;
/// The share of a way, in standard errors, below which a parameter takes no part in it.
const TAKES_PART: f64 = 0.05;

/// A parameter that runs off, and whether it grows.
pub(crate) type Runaway = (usize, bool);

/// The parameters that run off together, if any do. `slope`, `information`: half the derivatives of the cost at `theta`, which a search
/// from `start` has found.
pub(super) fn runaways(
    problem: &dyn Residuals,
    start: &[f64],
    (theta, cost): (&[f64], f64),
    bounds: &Bounds,
    slope: &[f64],
    information: &Blocks,
) -> Vec<Runaway> {
    let held = held(theta, slope, bounds);
    let size: Vec<f64> = (0..theta.len()).map(|j| if held[j] { 0.0 } else { information.diagonal(j).max(0.0).sqrt() }).collect();
    let mut ways: Vec<Vec<f64>> = newton(&held, slope, information).into_iter().collect();
    // Each alone as well: where rounding has taken the slope, nothing points anywhere.
    if theta.len() <= super::maximum::MANY {
        for j in (0..theta.len()).filter(|&j| size[j] > 0.0) {
            for sign in [1.0, -1.0] {
                ways.push((0..theta.len()).map(|i| if i == j { sign } else { 0.0 }).collect());
            }
        }
    }
    let mut memory = vec![0.0; problem.count()];
    for way in ways {
        let length = dot(&way, &information.times(&way)).sqrt();
        let alone: f64 = way.iter().zip(&size).map(|(by, size)| (by * size).powi(2)).sum();
        if !(length > 0.0 && length.is_finite() && length * length > NONE * alone) {
            continue;
        }
        let flat = FAR.iter().all(|far| {
            let moved: Vec<f64> = theta.iter().zip(&way).map(|(x, by)| x + far * by / length).collect();
            let inside = (0..moved.len()).all(|j| (bounds.min[j]..=bounds.max[j]).contains(&moved[j]));
            // As far as the numbers of parameters tell: a way so short that nothing moves leads nowhere.
            let moves = moved.iter().zip(theta).any(|(a, b)| a != b);
            inside && moves && problem.objective(&moved, &mut memory, None).ok().flatten().is_some_and(|c| c <= cost + NO_RISE)
        });
        if flat {
            let part = |j: &usize| (way[*j] * size[*j]).abs() > TAKES_PART * length;
            return (0..theta.len()).filter(part).map(|j| (j, way[j] > 0.0)).collect();
        }
    }
    let grown = |j: &usize| theta[*j].abs() > GROWN * start[*j].abs().max(1.0);
    let mut flat = |j: &usize| {
        TIMES.iter().all(|times| {
            let mut moved = theta.to_vec();
            moved[*j] *= times;
            let inside = (bounds.min[*j]..=bounds.max[*j]).contains(&moved[*j]);
            inside && problem.objective(&moved, &mut memory, None).ok().flatten().is_some_and(|c| c <= cost + NO_RISE)
        })
    };
    (0..theta.len()).filter(grown).filter(|j| flat(j)).map(|j| (j, theta[j] > 0.0)).collect()
}

/// What runs off, in words: "`b` grows and `a` falls".
pub(crate) fn words(names: &[String], all: &[Runaway]) -> String {
    let one = |(j, grows): &Runaway| format!("`{}` {}", names[*j], if *grows { "grows" } else { "falls" });
    let mut list: Vec<String> = all.iter().take(5).map(one).collect();
    if all.len() > list.len() {
        list.push(format!("{} others run off", all.len() - list.len()));
    }
    match list.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::new(),
    }
}
