//! Sums over long columns. In: columns of equal length; out: sums of products, and whether every number is finite.
//! Invariant: sixteen partial sums per block of rows, added in one order: the same bits on every processor, whatever its vectors.

use pulp::Arch;

/// Partial sums: enough for a processor to overlap additions.
const LANES: usize = 16;
/// Rows whose columns stay in the nearest cache while all their products are taken.
const BLOCK: usize = 1024;

#[inline(always)]
fn block_sum(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64 + Copy) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (a_parts, b_parts) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(x, y)| f(*x, *y)).sum();
    for (x, y) in a_parts.zip(b_parts) {
        for k in 0..LANES {
            sums[k] += f(x[k], y[k]);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for k in 0..width {
            sums[k] += sums[k + width];
        }
        width /= 2;
    }
    sums[0] + rest
}

#[inline(always)]
fn product(x: f64, y: f64) -> f64 {
    x * y
}

/// The sum of a function of pairs.
pub(crate) fn sum_of(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64 + Copy) -> f64 {
    struct Op<'a, F>(&'a [f64], &'a [f64], F);
    impl<F: Fn(f64, f64) -> f64 + Copy> pulp::WithSimd for Op<'_, F> {
        type Output = f64;
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) -> f64 {
            self.0.chunks(BLOCK).zip(self.1.chunks(BLOCK)).map(|(a, b)| block_sum(a, b, self.2)).sum()
        }
    }
    Arch::new().dispatch(Op(a, b, f))
}

/// The sum of products.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 2 * LANES { block_sum(a, b, product) } else { sum_of(a, b, product) }
}

/// Whether every number is finite.
pub(crate) fn all_finite(numbers: &[f64]) -> bool {
    struct Op<'a>(&'a [f64]);
    impl pulp::WithSimd for Op<'_> {
        type Output = bool;
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
            // A product with 0 is 0 or NaN, and a NaN stays in a sum.
            let parts = self.0.chunks_exact(LANES);
            let mut sums = [0.0f64; LANES];
            let rest: f64 = parts.remainder().iter().map(|x| x * 0.0).sum();
            for x in parts {
                for k in 0..LANES {
                    sums[k] += x[k] * 0.0;
                }
            }
            (sums.iter().sum::<f64>() + rest) == 0.0
        }
    }
    Arch::new().dispatch(Op(numbers))
}

/// The smallest and the largest of some finite numbers; of none, an empty range.
pub(crate) fn extent(numbers: &[f64]) -> (f64, f64) {
    struct Op<'a>(&'a [f64]);
    impl pulp::WithSimd for Op<'_> {
        type Output = (f64, f64);
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) -> (f64, f64) {
            let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
            let parts = self.0.chunks_exact(LANES);
            let rest = parts.remainder();
            let mut take = |x: &[f64]| {
                for (k, x) in x.iter().enumerate() {
                    low[k] = if *x < low[k] { *x } else { low[k] };
                    high[k] = if *x > high[k] { *x } else { high[k] };
                }
            };
            parts.for_each(&mut take);
            take(rest);
            (low.into_iter().fold(f64::INFINITY, f64::min), high.into_iter().fold(f64::NEG_INFINITY, f64::max))
        }
    }
    Arch::new().dispatch(Op(numbers))
}

/// `(a - b) * w`, number by number; without weights `a - b`.
pub(crate) fn weighted_difference(a: &[f64], b: &[f64], weights: &[f64], out: &mut [f64]) {
    struct Op<'a>(&'a [f64], &'a [f64], &'a mut [f64]);
    impl pulp::WithSimd for Op<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) {
            let Op(a, b, out) = self;
            for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
                *o = a - b;
            }
        }
    }
    Arch::new().dispatch(Op(a, b, out));
    weigh(out, weights);
}

/// Numbers times their weights; a weight per row, rows repeating; none: all 1.
pub(crate) fn weigh(numbers: &mut [f64], weights: &[f64]) {
    if !weights.is_empty() {
        numbers.chunks_mut(weights.len()).for_each(|part| part.iter_mut().zip(weights).for_each(|(x, w)| *x *= w));
    }
}

/// Products of all pairs of columns, and of each with the residuals: what least squares needs of a tall matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gram {
    /// `Jᵀ J`, row by row.
    pub(crate) products: Vec<f64>,
    /// `Jᵀ r`.
    pub(crate) slopes: Vec<f64>,
}

impl Gram {
    /// Of a Jacobian, column by column, and residuals.
    pub(crate) fn new(jacobian: &[f64], residuals: &[f64]) -> Gram {
        struct Op<'a> {
            jacobian: &'a [f64],
            residuals: &'a [f64],
            gram: &'a mut Gram,
        }
        impl pulp::WithSimd for Op<'_> {
            type Output = ();
            #[inline(always)]
            fn with_simd<S: pulp::Simd>(self, _: S) {
                let Op { jacobian, residuals, gram } = self;
                let (m, n) = (residuals.len(), gram.slopes.len());
                for from in (0..m).step_by(BLOCK) {
                    let to = (from + BLOCK).min(m);
                    for i in 0..n {
                        let column = &jacobian[i * m + from..i * m + to];
                        gram.slopes[i] += block_sum(column, &residuals[from..to], product);
                        for j in i..n {
                            gram.products[i * n + j] += block_sum(column, &jacobian[j * m + from..j * m + to], product);
                        }
                    }
                }
                for i in 0..n {
                    for j in 0..i {
                        gram.products[i * n + j] = gram.products[j * n + i];
                    }
                }
            }
        }
        let n = if residuals.is_empty() { 0 } else { jacobian.len() / residuals.len() };
        let mut gram = Gram { products: vec![0.0; n * n], slopes: vec![0.0; n] };
        Arch::new().dispatch(Op { jacobian, residuals, gram: &mut gram });
        gram
    }

    /// How many columns there are.
    pub(crate) fn columns(&self) -> usize {
        self.slopes.len()
    }

    /// Whether no square left the range.
    pub(crate) fn is_finite(&self) -> bool {
        all_finite(&self.products) && all_finite(&self.slopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_columns() {
        for m in [1, 15, 16, 17, 1023, 1024, 1025, 5000] {
            let a: Vec<f64> = (0..m).map(|i| f64::from(i % 7) - 3.0).collect();
            let b: Vec<f64> = (0..m).map(|i| f64::from(i % 5)).collect();
            let r: Vec<f64> = (0..m).map(|i| f64::from(i % 3)).collect();
            let plain = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let gram = Gram::new(&[&a[..], &b[..]].concat(), &r);
            // Sums of small whole numbers are exact in any order.
            assert_eq!(gram.products, [plain(&a, &a), plain(&a, &b), plain(&a, &b), plain(&b, &b)]);
            assert_eq!(gram.slopes, [plain(&a, &r), plain(&b, &r)]);
            assert_eq!(dot(&a, &b), plain(&a, &b));
        }
    }

    #[test]
    fn ends_of_a_range() {
        for n in 1..70 {
            let all: Vec<f64> = (0..n).map(|i| f64::from((i * 71) % n)).collect();
            assert_eq!(extent(&all), (0.0, f64::from(n - 1)));
        }
    }

    #[test]
    fn finds_what_is_not_finite() {
        for at in [0, 5, 16, 40] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut all = vec![1e300; 41];
                assert!(all_finite(&all));
                all[at] = bad;
                assert!(!all_finite(&all));
            }
        }
        assert!(all_finite(&[]));
    }
}
