//! Functions written out. In: a function of the math crate and its arguments; out: the operations its kernel consists of, or nothing when
//! the function is called instead.
//!
//! The kernel itself is run, on values that write down what is done to them: there is no second copy of it here. What is done to
//! constants is computed at once. A kernel of f32 that computes in f64 works on both halves of the lanes, one after the other.
//! Invariant: lanes for which the kernel's slow path must decide are named, so that the function itself can be called for them.

use super::ir::{Class, Code, Def, Half, Prim, Test, Value};
use crate::ops::real::Dtype;
use neural_compiler_math::expand::{Expanded, single, single_pair, wide, wide_pair};
use neural_compiler_math::num::{Layout, Num, Single, scaled};
use neural_compiler_math::{Binary, Level, Unary};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

/// Where operations are written down.
struct Book<'c> {
    code: RefCell<&'c mut Code>,
    dtype: Dtype,
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

/// The result of a comparison.
#[derive(Clone, Copy)]
enum Flag {
    Known(bool),
    Value(Value),
}

/// A flag that writes down what is done to it.
#[derive(Clone, Copy)]
struct Mask<'b, 'c> {
    book: &'b Book<'c>,
    flag: Flag,
}

impl<'b, 'c> Mask<'b, 'c> {
    fn op(self, prim: Prim, args: &[Value]) -> Self {
        Mask { flag: Flag::Value(self.book.code.borrow_mut().op(prim, args)), ..self }
    }

    fn both(self, other: Self) -> Self {
        match (self.flag, other.flag) {
            (Flag::Known(true), _) | (_, Flag::Known(false)) => other,
            (_, Flag::Known(true)) | (Flag::Known(false), _) => self,
            (Flag::Value(x), Flag::Value(y)) => self.op(Prim::Both, &[x, y]),
        }
    }

    fn either(self, other: Self) -> Self {
        match (self.flag, other.flag) {
            (Flag::Known(true), _) | (_, Flag::Known(false)) => self,
            (_, Flag::Known(true)) | (Flag::Known(false), _) => other,
            (Flag::Value(x), Flag::Value(y)) => self.op(Prim::Either, &[x, y]),
        }
    }

    fn known(self) -> Option<bool> {
        match self.flag {
            Flag::Known(known) => Some(known),
            Flag::Value(_) => None,
        }
    }

    fn not(self) -> Self {
        match self.flag {
            Flag::Known(known) => Mask { flag: Flag::Known(!known), ..self },
            Flag::Value(x) => self.op(Prim::Not, &[x]),
        }
    }
}

/// A number type as its bits, in the low bits.
trait Constant: Num<Scalar = Self, Mask = bool> {
    const DTYPE: Dtype;
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

impl Constant for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn of_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
}

impl Constant for f64 {
    const DTYPE: Dtype = Dtype::F64;
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn of_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

impl<'b, 'c, T: Constant> Written<'b, 'c, T> {
    fn new(book: &'b Book<'c>, value: Value) -> Self {
        Written { book, value, number: PhantomData }
    }

    fn constant(self, bits: u64) -> Self {
        let def = if T::DTYPE == self.book.dtype { Def::Constant(bits) } else { Def::WideConstant(bits) };
        Written { value: self.book.code.borrow_mut().make(def, Class::Number), ..self }
    }

    /// The number, where it is known.
    fn known(self) -> Option<T> {
        match self.book.code.borrow().def(self.value) {
            Def::Constant(bits) | Def::WideConstant(bits) => Some(T::of_bits(bits)),
            _ => None,
        }
    }

    fn op(self, prim: Prim, args: &[Value]) -> Self {
        Written { value: self.book.code.borrow_mut().op(prim, args), ..self }
    }

    fn alone(self, prim: Prim, known: impl Fn(T) -> T) -> Self {
        match self.known() {
            Some(x) => self.constant(known(x).bits()),
            None => self.op(prim, &[self.value]),
        }
    }

    fn with(self, prim: Prim, other: Self, known: impl Fn(T, T) -> T) -> Self {
        match (self.known(), other.known()) {
            (Some(x), Some(y)) => self.constant(known(x, y).bits()),
            _ => self.op(prim, &[self.value, other.value]),
        }
    }

    fn fused(self, prim: Prim, b: Self, c: Self, known: impl Fn(T, T, T) -> T) -> Self {
        match (self.known(), b.known(), c.known()) {
            (Some(x), Some(y), Some(z)) => self.constant(known(x, y, z).bits()),
            _ => self.op(prim, &[self.value, b.value, c.value]),
        }
    }

    fn test(self, test: Test, other: Self, known: impl Fn(T, T) -> bool) -> Mask<'b, 'c> {
        let flag = match (self.known(), other.known()) {
            (Some(x), Some(y)) => Flag::Known(known(x, y)),
            _ => Flag::Value(self.op(Prim::Compare(test), &[self.value, other.value]).value),
        };
        Mask { book: self.book, flag }
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $prim:ident),*) => {
        $(impl<T: Constant> $trait for Written<'_, '_, T> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.with(Prim::$prim, other, T::$method)
            }
        })*
    };
}

operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

impl<'b, 'c, T: Constant + Layout> Num for Written<'b, 'c, T> {
    type Scalar = T;
    type Mask = Mask<'b, 'c>;

    fn lit(self, x: T) -> Self {
        self.constant(x.bits())
    }
    fn lit_bits(self, bits: u64) -> Self {
        self.constant(bits)
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.fused(Prim::MulAdd, b, c, T::mul_add)
    }
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        self.fused(Prim::NegMulAdd, b, c, T::neg_mul_add)
    }
    fn mul_sub(self, b: Self, c: Self) -> Self {
        self.fused(Prim::MulSub, b, c, T::mul_sub)
    }
    fn abs(self) -> Self {
        self.with(Prim::And, self.lit_bits(u64::MAX >> (65 - T::BITS)), T::and_bits)
    }
    fn less(self, b: Self) -> Mask<'b, 'c> {
        self.test(Test::Less, b, T::less)
    }
    fn equal(self, b: Self) -> Mask<'b, 'c> {
        self.test(Test::Equal, b, T::equal)
    }
    fn select(mask: Mask<'b, 'c>, yes: Self, no: Self) -> Self {
        match mask.flag {
            Flag::Known(true) => yes,
            Flag::Known(false) => no,
            Flag::Value(_) if yes.value == no.value => yes,
            Flag::Value(mask) => yes.op(Prim::Blend, &[mask, yes.value, no.value]),
        }
    }
    fn both(a: Mask<'b, 'c>, b: Mask<'b, 'c>) -> Mask<'b, 'c> {
        a.both(b)
    }
    fn either(a: Mask<'b, 'c>, b: Mask<'b, 'c>) -> Mask<'b, 'c> {
        a.either(b)
    }
    fn not(mask: Mask<'b, 'c>) -> Mask<'b, 'c> {
        mask.not()
    }
    fn known(mask: Mask<'b, 'c>) -> Option<bool> {
        mask.known()
    }
    fn sqrt(self) -> Self {
        self.alone(Prim::Sqrt, T::sqrt)
    }
    fn floor(self) -> Self {
        self.alone(Prim::Round(1), T::floor)
    }
    fn at_most(self, limit: Self) -> Self {
        limit.with(Prim::Lower, self, |limit, x| x.at_most(limit))
    }
    fn at_least(self, limit: Self) -> Self {
        limit.with(Prim::Upper, self, |limit, x| x.at_least(limit))
    }
    fn and_bits(self, b: Self) -> Self {
        self.with(Prim::And, b, T::and_bits)
    }
    fn or_bits(self, b: Self) -> Self {
        self.with(Prim::Or, b, T::or_bits)
    }
    fn xor_bits(self, b: Self) -> Self {
        // A sign that is known to be none.
        match (self.known().map(T::bits), b.known().map(T::bits)) {
            (Some(0), _) => b,
            (_, Some(0)) => self,
            _ => self.with(Prim::Xor, b, T::xor_bits),
        }
    }
    fn add_bits(self, b: Self) -> Self {
        self.with(Prim::AddBits, b, T::add_bits)
    }
    fn shift_left(self, by: u32) -> Self {
        self.alone(Prim::ShiftLeft(by as u8), |x| x.shift_left(by))
    }
    fn shift_right(self, by: u32) -> Self {
        self.alone(Prim::ShiftRight(by as u8), |x| x.shift_right(by))
    }
    fn high_bit(self) -> Mask<'b, 'c> {
        let flag = match self.known() {
            Some(x) => Flag::Known(x.high_bit()),
            None => Flag::Value(self.op(Prim::HighBit, &[self.value]).value),
        };
        Mask { book: self.book, flag }
    }
    fn scale2(self, n: Self) -> Self {
        // AVX-512 has an instruction that does just this.
        if self.book.level == Level::Avx512 { self.with(Prim::Scale, n, T::scale2) } else { scaled(self, n) }
    }
}

/// Both halves of the lanes of an f32, in f64.
#[derive(Clone, Copy)]
struct Halves<'b, 'c>([Written<'b, 'c, f64>; 2]);

macro_rules! by_halves {
    ($($trait:ident $operator:ident),*; $($method:ident($($argument:ident),*)),*) => {
        $(impl $trait for Halves<'_, '_> {
            type Output = Self;
            fn $operator(self, other: Self) -> Self {
                Halves(std::array::from_fn(|h| self.0[h].$operator(other.0[h])))
            }
        })*

        impl<'b, 'c> Num for Halves<'b, 'c> {
            type Scalar = f64;
            type Mask = [Mask<'b, 'c>; 2];

            $(fn $method(self $(, $argument: Self)*) -> Self {
                Halves(std::array::from_fn(|h| self.0[h].$method($($argument.0[h]),*)))
            })*

            fn lit(self, x: f64) -> Self {
                Halves(self.0.map(|half| half.lit(x)))
            }
            fn lit_bits(self, bits: u64) -> Self {
                Halves(self.0.map(|half| half.lit_bits(bits)))
            }
            fn less(self, b: Self) -> Self::Mask {
                std::array::from_fn(|h| self.0[h].less(b.0[h]))
            }
            fn equal(self, b: Self) -> Self::Mask {
                std::array::from_fn(|h| self.0[h].equal(b.0[h]))
            }
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                Halves(std::array::from_fn(|h| Written::select(mask[h], yes.0[h], no.0[h])))
            }
            fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                std::array::from_fn(|h| a[h].both(b[h]))
            }
            fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                std::array::from_fn(|h| a[h].either(b[h]))
            }
            fn not(mask: Self::Mask) -> Self::Mask {
                mask.map(Mask::not)
            }
            fn known(mask: Self::Mask) -> Option<bool> {
                mask[0].known().filter(|&first| mask[1].known() == Some(first))
            }
            fn shift_left(self, by: u32) -> Self {
                Halves(self.0.map(|half| half.shift_left(by)))
            }
            fn shift_right(self, by: u32) -> Self {
                Halves(self.0.map(|half| half.shift_right(by)))
            }
            fn high_bit(self) -> Self::Mask {
                self.0.map(Num::high_bit)
            }
        }
    };
}

by_halves!(Add add, Sub sub, Mul mul, Div div;
    mul_add(b, c), neg_mul_add(b, c), mul_sub(b, c), abs(), sqrt(), floor(), at_most(limit), at_least(limit),
    and_bits(b), or_bits(b), xor_bits(b), add_bits(b), scale2(n));

impl<'b, 'c> Single for Written<'b, 'c, f32> {
    type Wide = Halves<'b, 'c>;

    fn widen(self) -> Halves<'b, 'c> {
        Halves([Half::First, Half::Second].map(|half| {
            let any: Written<'b, 'c, f64> = Written::new(self.book, self.value);
            match self.known() {
                Some(x) => any.lit(f64::from(x)),
                None => any.op(Prim::Widen(half), &[self.value]),
            }
        }))
    }

    fn narrow(wide: Halves<'b, 'c>) -> Self {
        let [first, second] = wide.0;
        let any: Written<'b, 'c, f32> = Written::new(first.book, first.value);
        match first.known() {
            Some(x) => any.lit(x as f32),
            None => any.op(Prim::Narrow, &[first.value, second.value]),
        }
    }
}

/// What a function gives: its value, and where the value is not to be trusted.
pub(super) struct Recorded {
    pub(super) value: Value,
    pub(super) rare: Option<Value>,
}

fn recorded<'b, 'c: 'b, T: Constant + Layout>(book: &'b Book<'c>, expanded: Expanded<Written<'b, 'c, T>>) -> Recorded {
    let always = || book.code.borrow_mut().op(Prim::Always, &[]);
    let rare = expanded.rare.and_then(|mask| match mask.flag {
        Flag::Known(false) => None,
        Flag::Known(true) => Some(always()),
        Flag::Value(value) => Some(value),
    });
    Recorded { value: expanded.value.value, rare }
}

/// A kernel on several numbers.
pub(super) trait OverNumbers {
    /// `any`: a number, for constants.
    fn run<V: Num>(&self, numbers: &[V], any: V) -> Vec<V>;
}

fn write_down<T: Constant + Layout>(book: &Book<'_>, kernel: &impl OverNumbers, numbers: &[Value]) -> Vec<Value> {
    let zero = book.code.borrow_mut().make(Def::Constant(0), Class::Number);
    let numbers: Vec<Written<'_, '_, T>> = numbers.iter().map(|&v| Written::new(book, v)).collect();
    kernel.run(&numbers, Written::new(book, zero)).into_iter().map(|w| w.value).collect()
}

/// A kernel on whole values, number by number.
pub(super) fn expand_whole(code: &mut Code, dtype: Dtype, level: Level, kernel: &impl OverNumbers, numbers: &[Value]) -> Vec<Value> {
    let book = Book { code: RefCell::new(code), dtype, level };
    match dtype {
        Dtype::F32 => write_down::<f32>(&book, kernel, numbers),
        Dtype::F64 => write_down::<f64>(&book, kernel, numbers),
    }
}

/// A function of one argument.
pub(super) fn expand(code: &mut Code, dtype: Dtype, level: Level, f: &'static Unary, x: Value) -> Option<Recorded> {
    let book = Book { code: RefCell::new(code), dtype, level };
    match dtype {
        Dtype::F32 => single(f, Written::<f32>::new(&book, x)).map(|e| recorded(&book, e)),
        Dtype::F64 => wide(f, Written::<f64>::new(&book, x)).map(|e| recorded(&book, e)),
    }
}

/// A function of two arguments.
pub(super) fn expand_pair(code: &mut Code, dtype: Dtype, level: Level, f: &'static Binary, x: Value, y: Value) -> Option<Recorded> {
    let book = Book { code: RefCell::new(code), dtype, level };
    match dtype {
        Dtype::F32 => single_pair(f, Written::<f32>::new(&book, x), Written::new(&book, y)).map(|e| recorded(&book, e)),
        Dtype::F64 => wide_pair(f, Written::<f64>::new(&book, x), Written::new(&book, y)).map(|e| recorded(&book, e)),
    }
}
