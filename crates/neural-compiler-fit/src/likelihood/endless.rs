//! Likelihoods without a maximum. In: where a search ended, and the information there; out: a way along which the likelihood rises without
//! end, or stays as it is, ever further away.
//!
//! At a maximum minus twice the log-likelihood is higher by about 1 a standard error away. Where a parameter runs off (a rate whose counts
//! are all 0, the slope of a logistic curve through data that a threshold separates, the size of a negative binomial distribution whose
//! counts scatter no more than Poisson's) the information fades as fast as the slope does: the search ends because nothing is left to be
//! gained, and a standard error away, thousands of units, the likelihood is no lower. Newton's step points there.
//!
//! Where one of the data holds what runs off to a line (counts of 0, 0, 0, 1: the last is met while the others fade) no information at all
//! is left along it, as there is none of what the data do not determine. The two are told apart by the way the search came: that one is as
//! flat behind as it is ahead.

use super::maximum::{held, newton};
use crate::optimise::arrow::Blocks;
use crate::optimise::linalg::symmetric_eigen;
use crate::optimise::{Bounds, Residuals, dot, norm};

/// A rise of minus twice the log-likelihood, a standard error away and beyond, that is none.
const NO_RISE: f64 = 1e-3;
/// How far is looked, in standard errors.
const FAR: [f64; 3] = [1.0, 2.0, 4.0];
/// How many times its start, or 1, a parameter is that has run off as far as numbers tell, and how many times itself it is tried then: the
/// likelihood of a size of 10^12 is mostly rounding.
const GROWN: f64 = 100.0;
const TIMES: [f64; 3] = [2.0, 4.0, 8.0];
/// Information along a way, below this share of what the parameters of it have alone, is what rounding leaves of none.
const NONE: f64 = 1e-8;
/// How far is looked there, in parts of the way that the search came.
const ONWARDS: [f64; 3] = [0.5, 1.0, 4.0];
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
    let ahead = beyond(problem, start, (theta, cost), bounds, (&held, &size), information);
    if !ahead.is_empty() {
        return ahead;
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

/// What runs off along ways without information: the likelihood was lower where the search came from, and is the same ahead, however far.
fn beyond(
    problem: &dyn Residuals,
    start: &[f64],
    (theta, cost): (&[f64], f64),
    bounds: &Bounds,
    (held, size): (&[bool], &[f64]),
    information: &Blocks,
) -> Vec<Runaway> {
    let p = theta.len();
    if p > super::maximum::MANY {
        return vec![];
    }
    // What has no information of its own counts by its size.
    let scale: Vec<f64> = (0..p).map(|j| if size[j] > 0.0 { size[j] } else { 1.0 / theta[j].abs().max(1.0) }).collect();
    let matrix = information.dense();
    let scaled = |i: usize, j: usize| if held[i] || held[j] { 0.0 } else { matrix[i * p + j] / scale[i] / scale[j] };
    let Some(eigen) = symmetric_eigen(p, scaled) else { return vec![] };
    let largest = eigen.values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let came: Vec<f64> = (0..p).map(|j| if held[j] { 0.0 } else { (theta[j] - start[j]) * scale[j] }).collect();
    let along = |vector: &Vec<f64>| {
        let by = dot(vector, &came);
        vector.iter().map(|v| by * v).collect::<Vec<f64>>()
    };
    let flat = eigen.values.iter().zip(&eigen.vectors).filter(|(value, _)| value.abs() <= NONE * largest);
    let mut ways: Vec<Vec<f64>> = flat.map(|(_, vector)| along(vector)).collect();
    // All of them together first: which of them are the eigenvectors is chance.
    if ways.len() > 1 {
        ways.insert(0, (0..p).map(|j| ways.iter().map(|way| way[j]).sum()).collect());
    }
    let mut memory = vec![0.0; problem.count()];
    let mut at = |way: &[f64], share: f64| {
        let moved: Vec<f64> = (0..p).map(|j| theta[j] + share * way[j] / scale[j]).collect();
        let inside = (0..p).all(|j| (bounds.min[j]..=bounds.max[j]).contains(&moved[j]));
        if inside { problem.objective(&moved, &mut memory, None).ok().flatten() } else { None }
    };
    for way in ways.into_iter().filter(|way| norm(way) > 0.0) {
        // A point that cannot be computed behind is none that the data would be met at.
        let came_up = at(&way, -1.0).is_none_or(|c| c > cost + NO_RISE);
        if came_up && ONWARDS.iter().all(|&share| at(&way, share).is_some_and(|c| c <= cost + NO_RISE)) {
            let length = norm(&way);
            return (0..p).filter(|&j| way[j].abs() > TAKES_PART * length).map(|j| (j, way[j] > 0.0)).collect();
        }
    }
    vec![]
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
