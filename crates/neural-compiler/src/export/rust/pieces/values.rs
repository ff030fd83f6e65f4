/// A computed index, if it is a whole number below n.
pub fn index(x: Real, n: usize) -> Result<usize, Status> {
    if x >= 0.0 && x < n as Real && x.trunc() == x { Ok(x as usize) } else { Err(Status::IndexOutOfRange) }
}

/// Sixteen partial sums, by halves.
fn halves(mut sums: [Real; 16]) -> Real {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
    }
    sums[0]
}

/// A sum of numbers `step` apart: from the first to the last, or from 32 on as sixteen partial sums.
pub fn sum(n: usize, x: &[Real], step: usize) -> Real {
    if n == 0 {
        return 0.0;
    }
    let mut sums = [-0.0; 16];
    for i in 0..n {
        sums[if n < 32 { 0 } else { i % 16 }] += x[i * step];
    }
    if n < 32 { sums[0] } else { halves(sums) }
}

/// A sum of products, each added by one rounding, in the same order as a sum.
pub fn dot(x: &[Real], y: &[Real]) -> Real {
    let n = x.len();
    if n == 0 {
        return 0.0;
    }
    let mut sums: [Real; 16] = [-0.0; 16];
    for i in 0..n {
        let k = if n < 32 { 0 } else { i % 16 };
        sums[k] = x[i].mul_add(y[i], sums[k]);
    }
    if n < 32 { sums[0] } else { halves(sums) }
}

/// A product of matrices: each number from its first product to its last, each added by one rounding.
pub fn product(rows: usize, inner: usize, columns: usize, a: &[Real], b: &[Real], to: &mut [Real]) {
    for i in 0..rows {
        for j in 0..columns {
            let mut sum: Real = if inner > 0 { -0.0 } else { 0.0 };
            for k in 0..inner {
                sum = a[i * inner + k].mul_add(b[k * columns + j], sum);
            }
            to[i * columns + j] = sum;
        }
    }
}

/// The length of a vector: scaled by a power of two, its squares summed with their rounding errors.
pub fn norm(v: &[Real]) -> Real {
    let (mut largest, mut nan): (Real, bool) = (0.0, false);
    for x in v {
        nan |= x.is_nan();
        if x.abs() > largest {
            largest = x.abs();
        }
    }
    if largest > Real::MAX {
        return largest;
    }
    if nan {
        return Real::NAN;
    }
    if largest == 0.0 {
        return 0.0;
    }
    let mut scale = Real::from_bits(largest.to_bits() & Real::INFINITY.to_bits());
    if scale == 0.0 {
        scale = Real::MIN_POSITIVE;
    }
    let (mut high, mut low): (Real, Real) = (0.0, 0.0);
    for x in v {
        let x = x / scale;
        let square = x * x;
        low += x.mul_add(x, -square);
        let sum = high + square;
        let back = sum - high;
        low += (high - (sum - back)) + (square - back);
        high = sum;
    }
    let root = high.sqrt();
    (root + ((-root).mul_add(root, high) + low) / (root + root)) * scale
}
