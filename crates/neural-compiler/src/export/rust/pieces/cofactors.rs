/// The determinant of a matrix without row i and column j and, if there are such, row k and column l.
fn minor(n: usize, a: &[Real], (i, j): (usize, usize), other: Option<(usize, usize)>) -> Real {
    let (mut kept, mut work, mut rows, mut count) = ([0.0; 25], [0.0; 25], [0; 15], 0);
    for r in 0..n {
        for c in 0..n {
            if r != i && c != j && other.is_none_or(|(k, l)| r != k && c != l) {
                kept[count] = a[r * n + c];
                count += 1;
            }
        }
    }
    det(if other.is_none() { n - 1 } else { n - 2 }, &kept, &mut work, &mut rows)
}

/// The matrix of cofactors; beyond @MINORS@ rows the determinant times the transposed inverse. `work` has room for two matrices.
pub fn cofactor(n: usize, a: &[Real], to: &mut [Real], work: &mut [Real], rows: &mut [usize]) {
    let (work, inverse) = work.split_at_mut(n * n);
    let mut d = 0.0;
    if n > @MINORS@ {
        d = det(n, a, work, rows);
        solve(n, n, a, None, inverse, work, rows);
    }
    for i in 0..n {
        for j in 0..n {
            to[i * n + j] = if n > @MINORS@ {
                d * inverse[j * n + i]
            } else {
                let x = minor(n, a, (i, j), None);
                if (i + j) % 2 == 1 { -x } else { x }
            };
        }
    }
}

/// The derivative of the cofactors of `a` along `t`. `work` has room for four matrices.
pub fn cofactor_along(n: usize, a: &[Real], t: &[Real], to: &mut [Real], work: &mut [Real], rows: &mut [usize]) {
    if n <= @MINORS@ {
        for i in 0..n {
            for j in 0..n {
                let mut total: Option<Real> = None;
                for k in (0..n).filter(|&k| k != i) {
                    for l in (0..n).filter(|&l| l != j) {
                        let x = minor(n, a, (i, j), Some((k, l)));
                        let odd = (i + j + k - (k > i) as usize + l - (l > j) as usize) % 2 == 1;
                        let term = t[k * n + l] * if odd { -x } else { x };
                        total = Some(total.map_or(term, |s| s + term));
                    }
                }
                to[i * n + j] = total.unwrap_or(0.0);
            }
        }
        return;
    }
    let (work, rest) = work.split_at_mut(n * n);
    let (inverse, rest) = rest.split_at_mut(n * n);
    let (once, turned) = rest.split_at_mut(n * n);
    let d = det(n, a, work, rows);
    solve(n, n, a, None, inverse, work, rows);
    for k in 0..n * n {
        work[k] = d * inverse[k % n * n + k / n] * t[k];
    }
    let slope = sum(n * n, work, 1);
    product(n, n, n, inverse, t, once);
    product(n, n, n, once, inverse, turned);
    for i in 0..n {
        for j in 0..n {
            to[i * n + j] = slope * inverse[j * n + i] - d * turned[j * n + i];
        }
    }
}
