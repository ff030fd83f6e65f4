//! Functions written out. In: a function of the math crate and its arguments; out: the operations its kernel consists of, or nothing when
//! the function is called instead.
//!
//! The kernel itself is run, on values that write down what is done to them (`ops/recorder.rs`). A kernel of f32 that computes in f64 works
//! on both halves of the lanes, one after the other.
//! Invariant: lanes for which the kernel's slow path must decide are named, so that the function itself can be called for them.

use super::ir::{Class, Code, Def, Half, Prim, Test, Value};
use crate::ops::real::Dtype;
use crate::ops::recorder::{self, Act, Constant, Flag};
use neural_compiler_math::expand::{Expanded, single, single_pair, wide, wide_pair};
use neural_compiler_math::num::{Num, Single};
use neural_compiler_math::{Binary, Level, Unary};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Sub};

/// Where operations are written down.
struct Book<'c> {
    code: RefCell<&'c mut Code>,
    dtype: Dtype,
    level: Level,
}

type Written<'b, 'c, T> = recorder::Written<'b, Book<'c>, T>;
type Mask<'b, 'c> = Flag<'b, Book<'c>>;

impl Book<'_> {
    fn op(&self, prim: Prim, args: &[Value]) -> Value {
        self.code.borrow_mut().op(prim, args)
    }
}

impl recorder::Book for Book<'_> {
    type Id = Value;

    fn constant(&self, dtype: Dtype, bits: u64) -> Value {
        let def = if dtype == self.dtype { Def::Constant(bits) } else { Def::WideConstant(bits) };
        self.code.borrow_mut().make(def, Class::Number)
    }

    fn known(&self, value: Value) -> Option<u64> {
        match self.code.borrow().def(value) {
            Def::Constant(bits) | Def::WideConstant(bits) => Some(bits),
            _ => None,
        }
    }

    fn act(&self, act: Act, dtype: Dtype, args: &[Value]) -> Value {
        let prim = match act {
            Act::Add => Prim::Add,
            Act::Sub => Prim::Sub,
            Act::Mul => Prim::Mul,
            Act::Div => Prim::Div,
            Act::MulAdd => Prim::MulAdd,
            Act::NegMulAdd => Prim::NegMulAdd,
            Act::MulSub => Prim::MulSub,
            Act::Abs => {
                let magnitude = match dtype {
                    Dtype::F32 => u64::from(u32::MAX >> 1),
                    Dtype::F64 => u64::MAX >> 1,
                };
                return self.op(Prim::And, &[args[0], self.constant(dtype, magnitude)]);
            }
            Act::Sqrt => Prim::Sqrt,
            Act::Floor => Prim::Round(1),
            Act::AtMost => return self.op(Prim::Lower, &[args[1], args[0]]),
            Act::AtLeast => return self.op(Prim::Upper, &[args[1], args[0]]),
            Act::And => Prim::And,
            Act::Or => Prim::Or,
            Act::Xor => Prim::Xor,
            Act::AddBits => Prim::AddBits,
            Act::ShiftLeft(by) => Prim::ShiftLeft(by as u8),
            Act::ShiftRight(by) => Prim::ShiftRight(by as u8),
            Act::Less => Prim::Compare(Test::Less),
            Act::Equal => Prim::Compare(Test::Equal),
            Act::HighBit => Prim::HighBit,
            Act::Both => Prim::Both,
            Act::Either => Prim::Either,
            Act::Not => Prim::Not,
            Act::Select => Prim::Blend,
        };
        self.op(prim, args)
    }

    /// AVX-512 has an instruction that does just this.
    fn scale(&self, x: Value, n: Value) -> Option<Value> {
        (self.level == Level::Avx512).then(|| self.op(Prim::Scale, &[x, n]))
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
                std::array::from_fn(|h| Written::<'b, 'c, f64>::both(a[h], b[h]))
            }
            fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                std::array::from_fn(|h| Written::<'b, 'c, f64>::either(a[h], b[h]))
            }
            fn not(mask: Self::Mask) -> Self::Mask {
                mask.map(Written::<'b, 'c, f64>::not)
            }
            fn known(mask: Self::Mask) -> Option<bool> {
                mask[0].known.ok().filter(|&first| mask[1].known == Ok(first))
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
            let any: Written<'b, 'c, f64> = Written::new(self.book, self.id);
            match self.known() {
                Some(x) => any.lit(f64::from(x)),
                None => Written::new(self.book, self.book.op(Prim::Widen(half), &[self.id])),
            }
        }))
    }

    fn narrow(wide: Halves<'b, 'c>) -> Self {
        let [first, second] = wide.0;
        let any: Written<'b, 'c, f32> = Written::new(first.book, first.id);
        match first.known() {
            Some(x) => any.lit(x as f32),
            None => Written::new(first.book, first.book.op(Prim::Narrow, &[first.id, second.id])),
        }
    }
}

/// What a function gives: its value, and where the value is not to be trusted.
pub(super) struct Recorded {
    pub(super) value: Value,
    pub(super) rare: Option<Value>,
}

fn recorded<'b, 'c: 'b, T: Constant>(book: &'b Book<'c>, expanded: Expanded<Written<'b, 'c, T>>) -> Recorded {
    let rare = expanded.rare.and_then(|mask| match mask.known {
        Ok(false) => None,
        Ok(true) => Some(book.op(Prim::Always, &[])),
        Err(value) => Some(value),
    });
    Recorded { value: expanded.value.id, rare }
}

/// A kernel on several numbers.
pub(super) trait OverNumbers {
    /// `any`: a number, for constants.
    fn run<V: Num>(&self, numbers: &[V], any: V) -> Vec<V>;
}

fn write_down<T: Constant>(book: &Book<'_>, kernel: &impl OverNumbers, numbers: &[Value]) -> Vec<Value> {
    let zero = book.code.borrow_mut().make(Def::Constant(0), Class::Number);
    let numbers: Vec<Written<'_, '_, T>> = numbers.iter().map(|&v| Written::new(book, v)).collect();
    kernel.run(&numbers, Written::new(book, zero)).into_iter().map(|w| w.id).collect()
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
