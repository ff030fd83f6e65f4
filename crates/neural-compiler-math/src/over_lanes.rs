//! Sums over lanes, all numbers of a value at once. In: the values of [`LANES`] lanes, lane after lane; out: for each number the sum over
//! the lanes.
//!
//! The order is fixed: lanes i, i+16, i+32 and i+48 as `(a + b) + (c + d)`, for i = 0 to 15, and then neighbours of what is left until one
//! is. Vectors run over the numbers of a value, so no level changes a bit; a product that is summed is rounded first, as if it had been
//! stored.

use crate::vector::{Fused, Vector};

/// Lanes that are summed together.
pub const LANES: usize = 64;

/// A tile of vectors: `R` rows of `C`.
type Tile<V, const R: usize, const C: usize> = [[V; C]; R];

#[inline(always)]
unsafe fn plus<V: Vector, const R: usize, const C: usize>(mut a: Tile<V, R, C>, b: Tile<V, R, C>) -> Tile<V, R, C> {
    for (a, b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
        // SAFETY: the CPU has the vector's instructions, as the caller holds.
        *a = unsafe { a.plus(*b) };
    }
    a
}

/// What lanes add. Functions, not closures: these would not be compiled with the level's instructions.
trait Lane<V: Vector, const R: usize, const C: usize> {
    /// What one adds.
    ///
    /// # Safety
    /// The CPU has the vector's instructions, and there is such a lane.
    unsafe fn lane(&self, l: usize) -> Tile<V, R, C>;

    /// # Safety
    /// As for `lane`, of `i` to `i + 48`.
    #[inline(always)]
    unsafe fn four(&self, i: usize) -> Tile<V, R, C> {
        // SAFETY: as the caller holds.
        unsafe { plus(plus(self.lane(i), self.lane(i + 16)), plus(self.lane(i + 32), self.lane(i + 48))) }
    }

    /// The sum over all lanes.
    ///
    /// # Safety
    /// As for `lane`, of all.
    #[inline(always)]
    unsafe fn tree(&self) -> Tile<V, R, C> {
        // SAFETY: as the caller holds.
        unsafe {
            let mut quarters = [[[V::splat(V::T::NEUTRAL); C]; R]; 4];
            for (k, q) in quarters.iter_mut().enumerate() {
                let first = plus(self.four(4 * k), self.four(4 * k + 1));
                *q = plus(first, plus(self.four(4 * k + 2), self.four(4 * k + 3)));
            }
            let [a, b, c, d] = quarters;
            plus(plus(a, b), plus(c, d))
        }
    }
}

/// Numbers of values that lie `apart` from lane to lane: a vector, or the first `last` if it is a `PART`.
struct Values<V: Vector, const PART: bool> {
    from: *const V::T,
    apart: usize,
    last: usize,
}

impl<V: Vector, const PART: bool> Lane<V, 1, 1> for Values<V, PART> {
    #[inline(always)]
    unsafe fn lane(&self, l: usize) -> Tile<V, 1, 1> {
        // SAFETY: as the caller holds.
        unsafe {
            let at = self.from.add(l * self.apart);
            [[if PART { V::load_first(at, self.last) } else { V::load(at) }]]
        }
    }
}

/// Products of `R` numbers of one value and `C` vectors of another, the last of which may be a `PART`.
struct Products<V: Vector, const PART: bool> {
    left: (*const V::T, usize),
    right: (*const V::T, usize),
    last: usize,
}

impl<V: Vector, const R: usize, const C: usize, const PART: bool> Lane<V, R, C> for Products<V, PART> {
    #[inline(always)]
    unsafe fn lane(&self, l: usize) -> Tile<V, R, C> {
        // SAFETY: as the caller holds.
        unsafe {
            let mut products = [[V::splat(V::T::NEUTRAL); C]; R];
            for c in 0..C {
                let at = self.right.0.add(l * self.right.1 + c * V::N);
                let factor = if PART && c == C - 1 { V::load_first(at, self.last) } else { V::load(at) };
                for (r, products) in products.iter_mut().enumerate() {
                    // Minus zero changes no product: it is rounded once.
                    products[c] = V::splat(*self.left.0.add(l * self.left.1 + r)).fused(factor, V::splat(V::T::NEUTRAL));
                }
            }
            products
        }
    }
}

/// The sums of the values themselves.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(crate) unsafe fn sums<V: Vector>(values: &[V::T], out: &mut [V::T]) {
    let n = out.len();
    assert_eq!(values.len(), LANES * n, "values of {LANES} lanes");
    let whole = n - n % V::N;
    // SAFETY: every lane has n numbers, and `out` as many.
    unsafe {
        for j in (0..whole).step_by(V::N) {
            let [[sum]] = Values::<V, false> { from: values.as_ptr().add(j), apart: n, last: 0 }.tree();
            sum.store(out.as_mut_ptr().add(j));
        }
        if whole < n {
            let [[sum]] = Values::<V, true> { from: values.as_ptr().add(whole), apart: n, last: n - whole }.tree();
            sum.store_first(out.as_mut_ptr().add(whole), n - whole);
        }
    }
}

/// Columns `at..` of `R` rows of the sum of products; `PART`: of the last vector the first `last` columns.
///
/// # Safety
/// The CPU must have the vector's instructions; the rows and columns are there.
#[inline(always)]
unsafe fn part<V: Vector, const R: usize, const C: usize, const PART: bool>(
    left: (*const V::T, usize),
    right: (*const V::T, usize),
    out: *mut V::T,
    last: usize,
) {
    let columns = right.1;
    // SAFETY: as the caller holds.
    unsafe {
        let found: Tile<V, R, C> = Products::<V, PART> { left, right, last }.tree();
        for (r, row) in found.into_iter().enumerate() {
            for (c, x) in row.into_iter().enumerate() {
                let at = out.add(r * columns + c * V::N);
                if PART && c == C - 1 { x.store_first(at, last) } else { x.store(at) }
            }
        }
    }
}

/// Some columns of all rows.
///
/// # Safety
/// As for `part`.
#[inline(always)]
unsafe fn panel<V: Vector, const C: usize, const PART: bool>(
    left: (*const V::T, usize),
    right: (*const V::T, usize),
    out: *mut V::T,
    last: usize,
) {
    let (rows, columns) = (left.1, right.1);
    let mut i = 0;
    // SAFETY: as the caller holds.
    unsafe {
        // Two rows share what is loaded, where there are registers enough.
        while V::ROWS == 8 && i + 2 <= rows {
            part::<V, 2, C, PART>((left.0.add(i), rows), right, out.add(i * columns), last);
            i += 2;
        }
        while i < rows {
            part::<V, 1, C, PART>((left.0.add(i), rows), right, out.add(i * columns), last);
            i += 1;
        }
    }
}

/// The sums of the products of all numbers of one value with all of another: `out` has a row for each number of `left`.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(crate) unsafe fn outers<V: Vector>(left: &[V::T], right: &[V::T], out: &mut [V::T]) {
    let (rows, columns) = (left.len() / LANES, right.len() / LANES);
    assert!(left.len() == rows * LANES && right.len() == columns * LANES && out.len() == rows * columns, "values of {LANES} lanes");
    let left = (left.as_ptr(), rows);
    let mut j = 0;
    // SAFETY: every lane has so many numbers in both, and `out` room for all products.
    unsafe {
        while j + 2 * V::N <= columns {
            panel::<V, 2, false>(left, (right.as_ptr().add(j), columns), out.as_mut_ptr().add(j), 0);
            j += 2 * V::N;
        }
        while j + V::N <= columns {
            panel::<V, 1, false>(left, (right.as_ptr().add(j), columns), out.as_mut_ptr().add(j), 0);
            j += V::N;
        }
        if j < columns {
            panel::<V, 1, true>(left, (right.as_ptr().add(j), columns), out.as_mut_ptr().add(j), columns - j);
        }
    }
}
