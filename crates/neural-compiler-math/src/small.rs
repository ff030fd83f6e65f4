//! Small matrices and lengths, number by number: determinants, cofactors, systems of equations, norms.
//!
//! In: numbers row by row. Out: numbers. Everything is written over [`Num`]: with f32 or f64 these are the kernels, and with the code
//! generator's own type they write down what they consist of, every lane exchanging its own rows by masks. So both give the same bits.
//! Invariant: where masks are known, as they are for numbers, nothing is computed that is not wanted.

use crate::num::{Layout, Num, one, opposite, zero};

/// Determinants up to this size have a closed form.
pub const CLOSED: usize = 3;

/// `a b - c d` within 1.5 ULP (Kahan).
#[inline(always)]
fn difference_of_products<V: Num>(a: V, b: V, c: V, d: V) -> V {
    let cd = c * d;
    let error = c.neg_mul_add(d, cd);
    a.mul_sub(b, cd) + error
}

/// The determinant of a matrix of at most three rows. `any`: a number, for constants.
#[inline(always)]
pub fn closed_det<V: Num>(a: &[V], n: usize, any: V) -> V {
    match n {
        0 => one(any),
        1 => a[0],
        2 => difference_of_products(a[0], a[3], a[1], a[2]),
        _ => {
            let minor = |i: usize, j: usize| difference_of_products(a[3 + i], a[6 + j], a[3 + j], a[6 + i]);
            a[0] * minor(1, 2) - a[1] * minor(0, 2) + a[2] * minor(0, 1)
        }
    }
}

/// A square matrix without some rows and columns.
fn without<V: Num>(a: &[V], n: usize, rows: &[usize], columns: &[usize]) -> Vec<V> {
    let kept = (0..n).filter(|r| !rows.contains(r)).flat_map(|r| (0..n).filter(|c| !columns.contains(c)).map(move |c| a[r * n + c]));
    kept.collect()
}

#[inline(always)]
fn signed<V: Num>(x: V, odd: bool) -> V {
    if odd { opposite(x) } else { x }
}

/// Matrix of cofactors, minor by minor.
pub fn cofactors<V: Num>(a: &[V], n: usize, det: impl Fn(&[V], usize) -> V) -> Vec<V> {
    let one = |k: usize| signed(det(&without(a, n, &[k / n], &[k % n]), n - 1), (k / n + k % n) % 2 == 1);
    (0..n * n).map(one).collect()
}

/// The derivative of the cofactors of a matrix along another.
pub fn cofactors_along<V: Num>(a: &[V], along: &[V], n: usize, det: impl Fn(&[V], usize) -> V) -> Vec<V> {
    let one = |o: usize| {
        let (i, j) = (o / n, o % n);
        let terms = (0..n).filter(|&k| k != i).flat_map(|k| (0..n).filter(|&l| l != j).map(move |l| (k, l)));
        let terms = terms.map(|(k, l)| {
            // Rows and columns behind the deleted ones move up by one.
            let odd = (i + j + k - usize::from(k > i) + l - usize::from(l > j)) % 2 == 1;
            along[k * n + l] * signed(det(&without(a, n, &[i, k], &[j, l]), n - 2), odd)
        });
        terms.reduce(|a, b| a + b).unwrap_or_else(|| zero(a[0]))
    };
    (0..n * n).map(one).collect()
}

/// Bits of infinity, of the quiet NaN and of the smallest normal number.
fn special_bits<V: Num>() -> [u64; 3] {
    let (mantissa, bits) = (V::Scalar::MANTISSA, V::Scalar::BITS);
    let infinity = ((1u64 << (bits - 1 - mantissa)) - 1) << mantissa;
    [infinity, infinity | 1 << (mantissa - 1), 1 << mantissa]
}

/// Length of a vector within 1 ULP, without overflow or underflow on the way: the vector is scaled by a power of two and its squares are
/// summed with their rounding errors. `any`: a number, for constants.
#[inline(always)]
pub fn norm<V: Num>(v: &[V], any: V) -> V {
    let zero = zero(any);
    let [infinity, nan, least] = special_bits::<V>().map(|bits| any.lit_bits(bits));
    let mut largest = zero;
    let mut ordered = None;
    for &x in v {
        largest = largest.at_least(x.abs());
        let here = x.equal(x);
        ordered = Some(ordered.map_or(here, |before| V::both(before, here)));
    }
    let Some(ordered) = ordered else { return zero };
    let scale = least.at_least(largest.and_bits(infinity));
    let (mut high, mut low) = (zero, zero);
    for &x in v {
        let x = x / scale;
        let square = x * x;
        low = low + x.mul_sub(x, square);
        let sum = high + square;
        let back = sum - high;
        low = low + ((high - (sum - back)) + (square - back));
        high = sum;
    }
    let root = high.sqrt();
    let correction = (root.neg_mul_add(root, high) + low) / (root + root);
    let length = (root + correction) * scale;
    let length = V::select(largest.equal(zero), zero, length);
    let length = V::select(ordered, length, nan);
    V::select(largest.equal(infinity), infinity, length)
}

/// A matrix on the way to its LU factors by partial pivoting, with what it is to be solved for.
struct Factors<V: Num> {
    n: usize,
    /// Right-hand sides.
    columns: usize,
    lu: Vec<V>,
    right: Vec<V>,
    /// Where the number of exchanges is odd.
    odd: Option<V::Mask>,
    singular: Option<V::Mask>,
    /// Of the rows below the one at hand, the one to change places with.
    chosen: Vec<V::Mask>,
}

fn or<V: Num>(a: Option<V::Mask>, b: V::Mask) -> V::Mask {
    a.map_or(b, |a| V::either(a, b))
}

/// Exchanges row 0 of some rows for the one whose mask holds, if any.
#[inline(always)]
fn exchange<V: Num>(rows: &mut [V], width: usize, chosen: &[V::Mask]) {
    if width == 0 {
        return;
    }
    let (top, below) = rows.split_at_mut(width);
    if chosen.iter().all(|&c| V::known(c).is_some()) {
        if let Some(i) = chosen.iter().position(|&c| V::known(c) == Some(true)) {
            top.swap_with_slice(&mut below[i * width..(i + 1) * width]);
        }
        return;
    }
    let old = top.to_vec();
    for (row, &mask) in below.chunks_exact_mut(width).zip(chosen).rev() {
        for j in 0..width {
            let other = row[j];
            top[j] = V::select(mask, other, top[j]);
            row[j] = V::select(mask, old[j], other);
        }
    }
}

impl<V: Num> Factors<V> {
    /// `whole`: lanes whose matrix is singular keep what stands below a missing pivot, for the determinant; else they may hold anything.
    #[inline(always)]
    fn new(a: &[V], n: usize, right: &[V], whole: bool) -> Factors<V> {
        let (lu, right, columns, chosen) = (a.to_vec(), right.to_vec(), right.len() / n, Vec::with_capacity(n));
        let mut f = Factors { n, columns, lu, right, odd: None, singular: None, chosen };
        let zero = zero(a[0]);
        for k in 0..n {
            f.pivot(k);
            let (upper, lower) = f.lu.split_at_mut((k + 1) * n);
            let from = &upper[k * n..];
            let none = from[k].equal(zero);
            f.singular = Some(or::<V>(f.singular, none));
            if V::known(none) == Some(true) {
                continue;
            }
            let mends = whole && V::known(none).is_none();
            for row in lower.chunks_exact_mut(n) {
                let factor = row[k] / from[k];
                let keep = |old: V, new: V| if mends { V::select(none, old, new) } else { new };
                for j in k + 1..n {
                    row[j] = keep(row[j], row[j] - factor * from[j]);
                }
                row[k] = keep(row[k], factor);
            }
        }
        f
    }

    /// Brings the row with the largest number of column `k`, the first of equals, to row `k`.
    #[inline(always)]
    fn pivot(&mut self, k: usize) {
        let (n, columns, chosen) = (self.n, self.columns, &mut self.chosen);
        let mut largest = self.lu[k * n + k].abs();
        chosen.clear();
        for i in k + 1..n {
            let here = self.lu[i * n + k].abs();
            let above = largest.less(here);
            largest = V::select(above, here, largest);
            chosen.push(above);
        }
        // The pivot is the last row that was above all before it.
        let mut later: Option<V::Mask> = None;
        for mask in chosen.iter_mut().rev() {
            let above = *mask;
            *mask = later.map_or(above, |l| V::both(above, V::not(l)));
            later = Some(or::<V>(later, above));
        }
        exchange(&mut self.lu[k * n..], n, chosen);
        exchange(&mut self.right[k * columns..], columns, chosen);
        if let Some(exchanged) = later {
            let one_of = |odd: V::Mask| V::either(V::both(odd, V::not(exchanged)), V::both(exchanged, V::not(odd)));
            self.odd = Some(self.odd.map_or(exchanged, one_of));
        }
    }
}

/// The determinant by LU factors, n > 0; NaN where the matrix holds one, which need not be met on the way to a pivot of 0.
pub fn det_by_pivots<V: Num>(a: &[V], n: usize) -> V {
    let f = Factors::new(a, n, &[], true);
    let product = (0..n).fold(one(a[0]), |p, k| p * f.lu[k * n + k]);
    let found = f.odd.map_or(product, |odd| V::select(odd, opposite(product), product));
    let lost = a.iter().fold(None, |lost, x| Some(or::<V>(lost, V::not(x.equal(*x)))));
    lost.map_or(found, |lost| V::select(lost, a[0].lit_bits(special_bits::<V>()[1]), found))
}

/// What the matrix maps to the columns of `right`, n > 0; NaN where there is no such.
pub fn solve<V: Num>(a: &[V], n: usize, right: &[V], out: &mut [V]) {
    let Factors { columns, lu, right: mut x, singular, .. } = Factors::new(a, n, right, false);
    let nan = a[0].lit_bits(special_bits::<V>()[1]);
    if singular.and_then(V::known) == Some(true) {
        out.fill(nan);
        return;
    }
    for c in 0..columns {
        for i in 0..n {
            x[i * columns + c] = (0..i).fold(x[i * columns + c], |sum, j| sum - lu[i * n + j] * x[j * columns + c]);
        }
        for i in (0..n).rev() {
            let sum = (i + 1..n).fold(x[i * columns + c], |sum, j| sum - lu[i * n + j] * x[j * columns + c]);
            x[i * columns + c] = sum / lu[i * n + i];
        }
    }
    for (out, x) in out.iter_mut().zip(x) {
        *out = singular.map_or(x, |singular| V::select(singular, nan, x));
    }
}
