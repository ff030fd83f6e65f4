//! Functions written out. In: a function of the math crate and its argument; out: the operations its kernel consists of, or nothing when
//! the function is called instead.
//!
//! The kernel itself is run, on values that write down what is done to them: there is no second copy of it here.
//! Invariant: lanes for which the kernel's slow path must decide are named, so that the function itself can be called for them.

use super::ir::{Class, Code, Def, Prim, Test, Value};
use crate::ops::real::Dtype;
use neural_compiler_math::expand::{Expanded, single, wide};
use neural_compiler_math::num::{Num, scaled};
use neural_compiler_math::{Level, Unary};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

/// Where operations are written down.
struct Book<'c> {
    code: RefCell<&'c mut Code>,
    level: Level,
}

/// A value that writes down what is done to it; `T` is the type of its constants.
struct Written<'b, 'c, T> {
    book: &'b Book<'c>,
    value: Value,
    number: PhantomData<T>,
}

impl<T> Clone for Written<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Written<'_, '_, T> {}

/// A constant's bits, in the low bits.
trait Constant: Copy {
    fn bits(self) -> u64;
}

impl Constant for f32 {
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Constant for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl<T> Written<'_, '_, T> {
    fn op(self, prim: Prim, args: &[Value]) -> Self {
        Written { value: self.book.code.borrow_mut().op(prim, args), ..self }
    }

    fn with(self, prim: Prim, other: Self) -> Self {
        self.op(prim, &[self.value, other.value])
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $prim:ident),*) => {
        $(impl<T> $trait for Written<'_, '_, T> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.with(Prim::$prim, other)
            }
        })*
    };
}

operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

macro_rules! written {
    ($type:ident, $magnitude:expr) => {
        impl Num for Written<'_, '_, $type> {
            type Scalar = $type;
            type Mask = Value;

            fn lit(self, x: $type) -> Self {
                self.lit_bits(x.bits())
            }
            fn lit_bits(self, bits: u64) -> Self {
                Written { value: self.book.code.borrow_mut().make(Def::Constant(bits), Class::Number), ..self }
            }
            fn mul_add(self, b: Self, c: Self) -> Self {
                self.op(Prim::MulAdd, &[self.value, b.value, c.value])
            }
            fn neg_mul_add(self, b: Self, c: Self) -> Self {
                self.op(Prim::NegMulAdd, &[self.value, b.value, c.value])
            }
            fn mul_sub(self, b: Self, c: Self) -> Self {
                self.op(Prim::MulSub, &[self.value, b.value, c.value])
            }
            fn abs(self) -> Self {
                self.with(Prim::And, self.lit_bits($magnitude))
            }
            fn less(self, b: Self) -> Value {
                self.with(Prim::Compare(Test::Less), b).value
            }
            fn equal(self, b: Self) -> Value {
                self.with(Prim::Compare(Test::Equal), b).value
            }
            fn select(mask: Value, yes: Self, no: Self) -> Self {
                yes.op(Prim::Blend, &[mask, yes.value, no.value])
            }
            fn at_most(self, limit: Self) -> Self {
                limit.with(Prim::Lower, self)
            }
            fn at_least(self, limit: Self) -> Self {
                limit.with(Prim::Upper, self)
            }
            fn and_bits(self, b: Self) -> Self {
                self.with(Prim::And, b)
            }
            fn or_bits(self, b: Self) -> Self {
                self.with(Prim::Or, b)
            }
            fn xor_bits(self, b: Self) -> Self {
                self.with(Prim::Xor, b)
            }
            fn add_bits(self, b: Self) -> Self {
                self.with(Prim::AddBits, b)
            }
            fn shift_left(self, by: u32) -> Self {
                self.op(Prim::ShiftLeft(by as u8), &[self.value])
            }
            fn shift_right(self, by: u32) -> Self {
                self.op(Prim::ShiftRight(by as u8), &[self.value])
            }
            fn high_bit(self) -> Value {
                self.op(Prim::HighBit, &[self.value]).value
            }
            fn scale2(self, n: Self) -> Self {
                // AVX-512 has an instruction that does just this.
                if self.book.level == Level::Avx512 { self.with(Prim::Scale, n) } else { scaled(self, n) }
            }
        }
    };
}

written!(f32, u64::from(u32::MAX >> 1));
written!(f64, u64::MAX >> 1);

/// The value of a function, and the mask of lanes for which it is not to be trusted.
pub(super) fn expand(code: &mut Code, dtype: Dtype, level: Level, f: &'static Unary, x: Value) -> Option<(Value, Option<Value>)> {
    let book = Book { code: RefCell::new(code), level };
    fn taken<V: Num<Mask = Value>>(expanded: Expanded<V>, value: impl Fn(V) -> Value) -> (Value, Option<Value>) {
        (value(expanded.value), expanded.rare)
    }
    match dtype {
        Dtype::F32 => single(f, Written::<f32> { book: &book, value: x, number: PhantomData }).map(|e| taken(e, |v| v.value)),
        Dtype::F64 => wide(f, Written::<f64> { book: &book, value: x, number: PhantomData }).map(|e| taken(e, |v| v.value)),
    }
}
