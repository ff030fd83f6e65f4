//! Loops over a batch. In: a formula, columns, a range of lanes; out: columns. One pass, everything in registers.

use crate::lanes::Lanes;
use crate::programs::Formula;
use std::array::from_fn;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

/// Columns of a batch: where the inputs are and where value and, for a gradient, partials go.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a, N> {
    pub(crate) inputs: &'a [*const N],
    pub(crate) outputs: &'a [*mut N],
}

// SAFETY: threads get ranges of lanes that do not overlap.
unsafe impl<N> Sync for Batch<'_, N> {}
// SAFETY: as above.
unsafe impl<N> Send for Batch<'_, N> {}

/// Runs lanes `from..to` of a batch.
pub(crate) type Run<N> = unsafe fn(Batch<'_, N>, usize, usize);

/// A loop over lanes for the formula `F`.
pub(crate) struct Loop<F, V, const I: usize>(PhantomData<(F, V)>);

impl<F: Formula<I>, V: Lanes, const I: usize> Loop<F, V, I> {
    /// # Safety
    /// The batch has `I` inputs, one output, and at least `to` lanes.
    pub(crate) unsafe fn value(batch: Batch<'_, V::Number>, from: usize, to: usize) {
        // SAFETY: by the caller's word.
        unsafe {
            match F::ABREAST {
                8 => run::<Abreast<V, 8>, I, 1>(batch, from, to, |x| [F::value(x)]),
                2 => run::<Abreast<V, 2>, I, 1>(batch, from, to, |x| [F::value(x)]),
                _ => run::<V, I, 1>(batch, from, to, |x| [F::value(x)]),
            }
        }
    }

    /// # Safety
    /// The batch has `I` inputs, `O = I + 1` outputs, and at least `to` lanes.
    pub(crate) unsafe fn gradient<const O: usize>(batch: Batch<'_, V::Number>, from: usize, to: usize) {
        // SAFETY: by the caller's word.
        unsafe {
            match F::ABREAST {
                8 => run::<Abreast<V, 8>, I, O>(batch, from, to, |x| joined(F::gradient(x))),
                2 => run::<Abreast<V, 2>, I, O>(batch, from, to, |x| joined(F::gradient(x))),
                _ => run::<V, I, O>(batch, from, to, |x| joined(F::gradient(x))),
            }
        }
    }
}

#[inline(always)]
fn joined<V: Copy, const I: usize, const O: usize>((value, partials): (V, [V; I])) -> [V; O] {
    from_fn(|k| if k == 0 { value } else { partials[k - 1] })
}

/// # Safety
/// The batch has `I` inputs, `O` outputs, and at least `to` lanes.
#[inline(always)]
unsafe fn run<V: Lanes, const I: usize, const O: usize>(batch: Batch<'_, V::Number>, from: usize, to: usize, f: impl Fn([V; I]) -> [V; O]) {
    let inputs: [*const V::Number; I] = from_fn(|k| batch.inputs[k]);
    let outputs: [*mut V::Number; O] = from_fn(|k| batch.outputs[k]);
    let mut lane = from;
    // SAFETY: lanes `from..to` exist in every column; the last, incomplete vector goes through buffers of a vector's size.
    unsafe {
        while lane + V::WIDTH <= to {
            let y = f(from_fn(|k| V::load(inputs[k].add(lane))));
            for k in 0..O {
                y[k].store(outputs[k].add(lane));
            }
            lane += V::WIDTH;
        }
        let rest = to - lane;
        if rest > 0 {
            let mut buffer = [V::Number::default(); 128];
            let y = f(from_fn(|k| {
                std::ptr::copy_nonoverlapping(inputs[k].add(lane), buffer.as_mut_ptr(), rest);
                V::load(buffer.as_ptr())
            }));
            for k in 0..O {
                y[k].store(buffer.as_mut_ptr());
                std::ptr::copy_nonoverlapping(buffer.as_ptr(), outputs[k].add(lane), rest);
            }
        }
    }
}

/// `K` vectors side by side; at most 128 numbers.
#[derive(Clone, Copy)]
struct Abreast<V, const K: usize>([V; K]);

macro_rules! by_vector {
    ($($trait:ident $method:ident;)*) => {$(
        impl<V: Lanes, const K: usize> $trait for Abreast<V, K> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Abreast(from_fn(|k| self.0[k].$method(other.0[k])))
            }
        }
    )*};
}

by_vector! { Add add; Sub sub; Mul mul; Div div; }

impl<V: Lanes, const K: usize> Lanes for Abreast<V, K> {
    type Number = V::Number;
    const WIDTH: usize = V::WIDTH * K;

    #[inline(always)]
    fn all(x: f64) -> Self {
        Abreast([V::all(x); K])
    }
    #[inline(always)]
    unsafe fn load(from: *const V::Number) -> Self {
        // SAFETY: by the caller's word.
        Abreast(from_fn(|k| unsafe { V::load(from.add(k * V::WIDTH)) }))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut V::Number) {
        // SAFETY: by the caller's word.
        (0..K).for_each(|k| unsafe { self.0[k].store(to.add(k * V::WIDTH)) });
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Abreast(self.0.map(V::sqrt))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Abreast(self.0.map(V::exp))
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let both = self.0.map(V::sin_cos);
        (Abreast(both.map(|b| b.0)), Abreast(both.map(|b| b.1)))
    }
    #[inline(always)]
    fn if_less(self, than: Self, yes: Self, no: Self) -> Self {
        Abreast(from_fn(|k| self.0[k].if_less(than.0[k], yes.0[k], no.0[k])))
    }
    #[inline(always)]
    fn if_greater(self, than: Self, yes: Self, no: Self) -> Self {
        Abreast(from_fn(|k| self.0[k].if_greater(than.0[k], yes.0[k], no.0[k])))
    }
    #[inline(always)]
    fn if_at_least(self, than: Self, yes: Self, no: Self) -> Self {
        Abreast(from_fn(|k| self.0[k].if_at_least(than.0[k], yes.0[k], no.0[k])))
    }
}
