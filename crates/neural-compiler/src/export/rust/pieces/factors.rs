/// Factors of a matrix with exchanges of rows. `lu` comes with the matrix and leaves with the factors, `order` says where its rows went;
/// `begin` and `end` say where the numbers of a row are, outside of which there are zeros that count nowhere. Whether it is singular, and
/// whether the exchanges turn the sign of the determinant.
fn factor(n: usize, lu: &mut [Real], rows: &mut [usize]) -> (bool, bool) {
    let (order, rest) = rows.split_at_mut(n);
    let (begin, end) = rest.split_at_mut(n);
    let (mut singular, mut odd) = (false, false);
    for i in 0..n {
        (order[i], begin[i], end[i]) = (i, 0, n);
        if n >= @OWN@ {
            while begin[i] < n && lu[i * n + begin[i]] == 0.0 {
                begin[i] += 1;
            }
            while end[i] > 0 && lu[i * n + end[i] - 1] == 0.0 {
                end[i] -= 1;
            }
        }
    }
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if begin[i] <= k && lu[i * n + k].abs() > lu[pivot * n + k].abs() {
                pivot = i;
            }
        }
        if pivot != k {
            for j in 0..n {
                lu.swap(k * n + j, pivot * n + j);
            }
            order.swap(k, pivot);
            begin.swap(k, pivot);
            end.swap(k, pivot);
            odd = !odd;
        }
        let d = lu[k * n + k];
        if d == 0.0 {
            singular = true;
            continue;
        }
        for i in k + 1..n {
            if begin[i] > k || (n >= @OWN@ && lu[i * n + k] == 0.0) {
                continue;
            }
            let factor = lu[i * n + k] / d;
            lu[i * n + k] = factor;
            end[i] = end[i].max(end[k]);
            for j in k + 1..n.min(end[k]) {
                lu[i * n + j] -= factor * lu[k * n + j];
            }
        }
    }
    (singular, odd)
}

/// a b - c d with the error of the second product (Kahan).
fn difference(a: Real, b: Real, c: Real, d: Real) -> Real {
    let cd = c * d;
    let error = (-c).mul_add(d, cd);
    a.mul_add(b, -cd) + error
}

/// A determinant; `work` has room for the matrix, `rows` for three numbers a row.
pub fn det(n: usize, a: &[Real], work: &mut [Real], rows: &mut [usize]) -> Real {
    match n {
        0 => return 1.0,
        1 => return a[0],
        2 => return difference(a[0], a[3], a[1], a[2]),
        3 => {
            let x = difference(a[4], a[8], a[5], a[7]);
            let y = difference(a[3], a[8], a[5], a[6]);
            let z = difference(a[3], a[7], a[4], a[6]);
            return a[0] * x - a[1] * y + a[2] * z;
        }
        _ => {}
    }
    work[..n * n].copy_from_slice(&a[..n * n]);
    let (_, odd) = factor(n, work, rows);
    let mut product: Real = 1.0;
    for i in 0..n {
        product *= work[i * n + i];
    }
    if odd { -product } else { product }
}

/// Solutions of a linear system, NaN everywhere for a singular matrix. `b` may be absent: the identity. `work` has room for the matrix,
/// `rows` for three numbers a row.
pub fn solve(n: usize, columns: usize, a: &[Real], b: Option<&[Real]>, to: &mut [Real], work: &mut [Real], rows: &mut [usize]) {
    work[..n * n].copy_from_slice(&a[..n * n]);
    let (singular, _) = factor(n, work, rows);
    if singular {
        to[..n * columns].fill(Real::NAN);
        return;
    }
    let (order, begin, end) = (&rows[..n], &rows[n..2 * n], &rows[2 * n..3 * n]);
    for i in 0..n {
        for j in 0..columns {
            to[i * columns + j] = match b {
                Some(b) => b[order[i] * columns + j],
                None => (order[i] == j) as u8 as Real,
            };
        }
        for k in begin[i]..i {
            for j in 0..columns {
                to[i * columns + j] -= work[i * n + k] * to[k * columns + j];
            }
        }
    }
    for i in (0..n).rev() {
        for k in i + 1..n.min(end[i]) {
            for j in 0..columns {
                to[i * columns + j] -= work[i * n + k] * to[k * columns + j];
            }
        }
        for j in 0..columns {
            to[i * columns + j] /= work[i * n + i];
        }
    }
}
