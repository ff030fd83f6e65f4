//! Inputs between rows. In: what the columns are at the times of a trajectory; out: what the law gets there: the same, but for a cubic
//! column the coefficients of the polynomial from that row to the next, of the time since that row.
//! Invariant: at a row the polynomial is what the column says, to the bit.

use super::solver::field::Field;
use super::trajectories::Trajectory;
use neural_compiler::syntax::ast::Interpolate;

/// The forcing of a law at the times of a trajectory whose forcing still is that of the columns.
pub(super) fn between_rows(field: &Field, t: &Trajectory) -> Vec<Vec<f64>> {
    if field.columns.iter().all(|c| c.between != Interpolate::Cubic) {
        return t.forcing.clone();
    }
    // In the order of time, whichever way the trajectory runs.
    let real: Vec<f64> = t.times.iter().map(|since| t.origin + t.direction * since).collect();
    let mut order: Vec<usize> = (0..real.len()).collect();
    if t.direction < 0.0 {
        order.reverse();
    }
    let mut rows = vec![Vec::new(); real.len()];
    let mut at = 0;
    for column in &field.columns {
        let range = at..at + column.shape.len();
        at += column.shape.len();
        if column.between != Interpolate::Cubic {
            rows.iter_mut().zip(&t.forcing).for_each(|(row, given)| row.extend_from_slice(&given[range.clone()]));
            continue;
        }
        let splines: Vec<Vec<[f64; 4]>> = range
            .map(|k| {
                // Times since the start are exact, however large the times are.
                let knots: Vec<(f64, f64)> = order.iter().map(|&i| (t.direction * t.times[i], t.forcing[i][k])).collect();
                natural_spline(&knots)
            })
            .collect();
        for (place, &i) in order.iter().enumerate() {
            (0..4).for_each(|power| rows[i].extend(splines.iter().map(|s| s[place][power])));
            rows[i].push(real[i]);
        }
    }
    rows
}

/// The natural cubic spline through some knots: for each the coefficients of the polynomial that begins there.
fn natural_spline(knots: &[(f64, f64)]) -> Vec<[f64; 4]> {
    let n = knots.len();
    let width = |i: usize| knots[i + 1].0 - knots[i].0;
    let slope = |i: usize| (knots[i + 1].1 - knots[i].1) / width(i);
    // Second derivatives, 0 at the ends, by elimination in their tridiagonal equations.
    let mut second = vec![0.0; n];
    let (mut over, mut right) = (vec![0.0; n], vec![0.0; n]);
    for i in 1..n.saturating_sub(1) {
        let pivot = 2.0 * (width(i - 1) + width(i)) - width(i - 1) * over[i - 1];
        over[i] = width(i) / pivot;
        right[i] = (6.0 * (slope(i) - slope(i - 1)) - width(i - 1) * right[i - 1]) / pivot;
    }
    for i in (1..n.saturating_sub(1)).rev() {
        second[i] = right[i] - over[i] * second[i + 1];
    }
    let polynomial = |i: usize| {
        if i + 1 == n {
            return [knots[i].1, 0.0, 0.0, 0.0];
        }
        let h = width(i);
        let first = slope(i) - h * (2.0 * second[i] + second[i + 1]) / 6.0;
        [knots[i].1, first, second[i] / 2.0, (second[i + 1] - second[i]) / (6.0 * h)]
    };
    (0..n).map(polynomial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_natural_spline_is_that_of_the_textbook() {
        // Burden and Faires, Numerical Analysis, section 3.5: through (1, 2), (2, 3), (3, 5) the natural spline is
        // 2 + 3/4 (x - 1) + 1/4 (x - 1)^3, then 3 + 3/2 (x - 2) + 3/4 (x - 2)^2 - 1/4 (x - 2)^3.
        let found = natural_spline(&[(1.0, 2.0), (2.0, 3.0), (3.0, 5.0)]);
        assert_eq!(found, [[2.0, 0.75, 0.0, 0.25], [3.0, 1.5, 0.75, -0.25], [5.0, 0.0, 0.0, 0.0]]);
        assert_eq!(natural_spline(&[(0.0, 1.0), (2.0, 5.0)])[0], [1.0, 2.0, 0.0, 0.0]);
    }
}
