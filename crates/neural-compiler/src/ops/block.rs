//! A few lanes side by side, as one number: kernels made of sums and products run on a block of lanes at once, in the same order
//! of operations as on one number, so with the same bits.

use crate::ops::real::{Real, Ring};
use std::ops::{Add, Mul, Sub};

/// Lanes in a block.
pub const LANES: usize = 16;

/// A block of lanes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Block<T>(pub [T; LANES]);

macro_rules! lanewise {
    ($trait:ident, $method:ident, $op:tt) => {
        impl<T: Real> $trait for Block<T> {
            type Output = Block<T>;
            #[inline(always)]
            fn $method(self, other: Block<T>) -> Block<T> {
                let mut out = self.0;
                for (o, y) in out.iter_mut().zip(other.0) {
                    *o = *o $op y;
                }
                Block(out)
            }
        }
    };
}

lanewise!(Add, add, +);
lanewise!(Sub, sub, -);
lanewise!(Mul, mul, *);

impl<T: Real> Ring for Block<T> {
    const ZERO: Block<T> = Block([T::ZERO; LANES]);
    const ONE: Block<T> = Block([T::ONE; LANES]);
}
