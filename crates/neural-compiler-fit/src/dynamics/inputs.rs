//! Inputs between rows, and in rows that have none. In: what the columns are at the times of a trajectory; out: what the law gets there:
//! the same, but for a cubic column the coefficients of the polynomial from that row to the next, of the time since that row.
//! Invariant: at a row the polynomial is what the column says, to the bit.

use super::solver::field::Field;
use super::trajectories::Trajectory;
use crate::data::table::Table;
use neural_compiler::Diagnostic;
use neural_compiler::syntax::ast::Interpolate;

/// Gives inputs that are missing in rows of a group what they are between those that have them. `rows`: in the
/// order of time; those behind the last that has an input, where it is not known, are left out. One unknown at the first row is an error.
pub(super) fn complete(
    field: &Field,
    forcing: &mut [(String, Vec<f64>)],
    rows: &mut Vec<usize>,
    (times, origin, table): (&[f64], f64, &Table),
) -> Result<(), Diagnostic> {
    let each = field.columns.iter().flat_map(|c| (0..c.shape.len()).map(|_| c.between));
    for ((name, values), between) in forcing.iter_mut().zip(each) {
        let known: Vec<usize> = rows.iter().copied().filter(|&r| !values[r].is_nan()).collect();
        if known.len() == rows.len() {
            continue;
        }
        let without = rows.iter().copied().filter(|&r| values[r].is_nan()).collect::<Vec<usize>>();
        let spline = (between == Interpolate::Cubic).then(|| knots(values, &known, times)).filter(|k| !k.is_empty());
        let spline = spline.map(|knots| (natural_spline(&knots), knots));
        let mut out = 0;
        for row in without {
            let next = known.partition_point(|&r| times[r] < times[row]);
            let here = known.get(next).filter(|&&r| times[r] == times[row]);
            let before = next.checked_sub(1).map(|k| known[k]);
            // A spline of each side of the start is another.
            let sides = between == Interpolate::Cubic && times[rows[0]] < origin;
            values[row] = match (here, before, known.get(next)) {
                (Some(&same), ..) => values[same],
                (None, Some(a), _) if between == Interpolate::Step => values[a],
                (None, Some(a), Some(&b)) if !sides => match &spline {
                    Some((polynomials, knots)) => {
                        let k = knots.partition_point(|knot| knot.0 <= times[row] - times[known[0]]) - 1;
                        let (by, [a, b, c, d]) = (times[row] - times[known[0]] - knots[k].0, polynomials[k]);
                        a + by * (b + by * (c + by * d))
                    }
                    None => values[a] + (values[b] - values[a]) * ((times[row] - times[a]) / (times[b] - times[a])),
                },
                (None, Some(_), None) => {
                    out += 1;
                    continue;
                }
                _ => {
                    let message =
                        format!("{}, column `{name}`: the value is missing, and no other row says what it is there", table.row(row));
                    return Err(Diagnostic::error("bad-value", Default::default(), message).help("remove the row, or fill the value in"));
                }
            };
        }
        // No known one is behind them: they are the last.
        rows.truncate(rows.len() - out);
    }
    Ok(())
}

/// The knots of a spline through rows in the order of time: time since the first and value, once for each time.
fn knots(values: &[f64], known: &[usize], times: &[f64]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = known.iter().map(|&r| (times[r] - times[known[0]], values[r])).collect();
    all.dedup_by(|b, a| a.0 == b.0);
    all
}

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
