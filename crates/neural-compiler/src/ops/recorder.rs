//! Kernels of the math crate as what they do to numbers. In: a book to write in, and values that name what it holds; out: in the book, the
//! acts of a kernel that was run on such values. Generated machine code and exported functions both come from here, each with a book of its
//! own: there is no second copy of a kernel.
//! Invariant: what is done to constants is computed at once; every other act is one that IEEE 754 fixes to the bit, or one on bits.

use crate::ops::real::Dtype;
use neural_compiler_math::num::{Layout, Num, scaled};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

/// What a kernel does to numbers and flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Act {
    Add,
    Sub,
    Mul,
    Div,
    /// `a * b + c`, rounded once.
    MulAdd,
    /// `c - a * b`, rounded once.
    NegMulAdd,
    /// `a * b - c`, rounded once.
    MulSub,
    Abs,
    Sqrt,
    Floor,
    /// The second where it is below the first, else the first.
    AtMost,
    /// The second where it is above the first, else the first.
    AtLeast,
    And,
    Or,
    Xor,
    /// The sum of the bits.
    AddBits,
    ShiftLeft(u32),
    ShiftRight(u32),
    Less,
    Equal,
    /// Whether the highest bit is set.
    HighBit,
    Both,
    Either,
    Not,
    /// By a flag, the second or the third.
    Select,
}

/// Where acts are written down.
pub(crate) trait Book {
    /// What names a number or a flag in it.
    type Id: Copy + PartialEq;

    /// A constant of this type, by its bits.
    fn constant(&self, dtype: Dtype, bits: u64) -> Self::Id;

    /// The bits of what is a constant.
    fn known(&self, id: Self::Id) -> Option<u64>;

    /// An act on numbers of this type, or on flags.
    fn act(&self, act: Act, dtype: Dtype, args: &[Self::Id]) -> Self::Id;

    /// `x 2^n` in one act, where the book has such a one.
    fn scale(&self, _x: Self::Id, _n: Self::Id) -> Option<Self::Id> {
        None
    }
}

/// A value that writes down what is done to it; `T` is the type of its constants.
pub(crate) struct Written<'b, B: Book, T> {
    pub(crate) book: &'b B,
    pub(crate) id: B::Id,
    number: PhantomData<T>,
}

impl<B: Book, T> Clone for Written<'_, B, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Book, T> Copy for Written<'_, B, T> {}

/// A flag that writes down what is done to it.
pub(crate) struct Flag<'b, B: Book> {
    book: &'b B,
    /// The flag, or what names it.
    pub(crate) known: Result<bool, B::Id>,
}

impl<B: Book> Clone for Flag<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Book> Copy for Flag<'_, B> {}

impl<B: Book> Flag<'_, B> {
    /// No act on flags depends on a type of numbers; this stands for it.
    fn act(self, act: Act, args: &[B::Id]) -> Self {
        Flag { known: Err(self.book.act(act, Dtype::F64, args)), ..self }
    }
}

/// A number type as its bits, in the low bits.
pub(crate) trait Constant: Num<Scalar = Self, Mask = bool> + Layout {
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

impl<'b, B: Book, T: Constant> Written<'b, B, T> {
    pub(crate) fn new(book: &'b B, id: B::Id) -> Self {
        Written { book, id, number: PhantomData }
    }

    /// The number, where it is known.
    pub(crate) fn known(self) -> Option<T> {
        self.book.known(self.id).map(T::of_bits)
    }

    fn act(self, act: Act, args: &[B::Id]) -> Self {
        Written { id: self.book.act(act, T::DTYPE, args), ..self }
    }

    fn alone(self, act: Act, known: impl Fn(T) -> T) -> Self {
        match self.known() {
            Some(x) => self.lit(known(x)),
            None => self.act(act, &[self.id]),
        }
    }

    fn with(self, act: Act, other: Self, known: impl Fn(T, T) -> T) -> Self {
        match (self.known(), other.known()) {
            (Some(x), Some(y)) => self.lit(known(x, y)),
            _ => self.act(act, &[self.id, other.id]),
        }
    }

    fn fused(self, act: Act, b: Self, c: Self, known: impl Fn(T, T, T) -> T) -> Self {
        match (self.known(), b.known(), c.known()) {
            (Some(x), Some(y), Some(z)) => self.lit(known(x, y, z)),
            _ => self.act(act, &[self.id, b.id, c.id]),
        }
    }

    fn test(self, act: Act, other: Self, known: impl Fn(T, T) -> bool) -> Flag<'b, B> {
        let known = match (self.known(), other.known()) {
            (Some(x), Some(y)) => Ok(known(x, y)),
            _ => Err(self.book.act(act, T::DTYPE, &[self.id, other.id])),
        };
        Flag { book: self.book, known }
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident),*) => {
        $(impl<B: Book, T: Constant> $trait for Written<'_, B, T> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.with(Act::$trait, other, T::$method)
            }
        })*
    };
}

operator!(Add add, Sub sub, Mul mul, Div div);

impl<'b, B: Book, T: Constant> Num for Written<'b, B, T> {
    type Scalar = T;
    type Mask = Flag<'b, B>;

    fn lit(self, x: T) -> Self {
        self.lit_bits(x.bits())
    }
    fn lit_bits(self, bits: u64) -> Self {
        Written { id: self.book.constant(T::DTYPE, bits), ..self }
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.fused(Act::MulAdd, b, c, T::mul_add)
    }
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        self.fused(Act::NegMulAdd, b, c, T::neg_mul_add)
    }
    fn mul_sub(self, b: Self, c: Self) -> Self {
        self.fused(Act::MulSub, b, c, T::mul_sub)
    }
    fn abs(self) -> Self {
        self.alone(Act::Abs, T::abs)
    }
    fn less(self, b: Self) -> Flag<'b, B> {
        self.test(Act::Less, b, T::less)
    }
    fn equal(self, b: Self) -> Flag<'b, B> {
        self.test(Act::Equal, b, T::equal)
    }
    fn select(mask: Flag<'b, B>, yes: Self, no: Self) -> Self {
        match mask.known {
            Ok(true) => yes,
            Ok(false) => no,
            Err(_) if yes.id == no.id => yes,
            Err(flag) => yes.act(Act::Select, &[flag, yes.id, no.id]),
        }
    }
    fn both(a: Flag<'b, B>, b: Flag<'b, B>) -> Flag<'b, B> {
        match (a.known, b.known) {
            (Ok(true), _) | (_, Ok(false)) => b,
            (_, Ok(true)) | (Ok(false), _) => a,
            (Err(x), Err(y)) => a.act(Act::Both, &[x, y]),
        }
    }
    fn either(a: Flag<'b, B>, b: Flag<'b, B>) -> Flag<'b, B> {
        match (a.known, b.known) {
            (Ok(true), _) | (_, Ok(false)) => a,
            (_, Ok(true)) | (Ok(false), _) => b,
            (Err(x), Err(y)) => a.act(Act::Either, &[x, y]),
        }
    }
    fn not(mask: Flag<'b, B>) -> Flag<'b, B> {
        match mask.known {
            Ok(known) => Flag { known: Ok(!known), ..mask },
            Err(flag) => mask.act(Act::Not, &[flag]),
        }
    }
    fn known(mask: Flag<'b, B>) -> Option<bool> {
        mask.known.ok()
    }
    fn sqrt(self) -> Self {
        self.alone(Act::Sqrt, T::sqrt)
    }
    fn floor(self) -> Self {
        self.alone(Act::Floor, T::floor)
    }
    fn at_most(self, limit: Self) -> Self {
        self.with(Act::AtMost, limit, T::at_most)
    }
    fn at_least(self, limit: Self) -> Self {
        self.with(Act::AtLeast, limit, T::at_least)
    }
    fn and_bits(self, b: Self) -> Self {
        self.with(Act::And, b, T::and_bits)
    }
    fn or_bits(self, b: Self) -> Self {
        self.with(Act::Or, b, T::or_bits)
    }
    fn xor_bits(self, b: Self) -> Self {
        // A sign that is known to be none.
        match (self.known().map(T::bits), b.known().map(T::bits)) {
            (Some(0), _) => b,
            (_, Some(0)) => self,
            _ => self.with(Act::Xor, b, T::xor_bits),
        }
    }
    fn add_bits(self, b: Self) -> Self {
        self.with(Act::AddBits, b, T::add_bits)
    }
    fn shift_left(self, by: u32) -> Self {
        self.alone(Act::ShiftLeft(by), |x| x.shift_left(by))
    }
    fn shift_right(self, by: u32) -> Self {
        self.alone(Act::ShiftRight(by), |x| x.shift_right(by))
    }
    fn high_bit(self) -> Flag<'b, B> {
        let known = match self.known() {
            Some(x) => Ok(x.high_bit()),
            None => Err(self.book.act(Act::HighBit, T::DTYPE, &[self.id])),
        };
        Flag { book: self.book, known }
    }
    fn scale2(self, n: Self) -> Self {
        if let (Some(x), Some(n)) = (self.known(), n.known()) {
            return self.lit(x.scale2(n));
        }
        match self.book.scale(self.id, n.id) {
            Some(id) => Written { id, ..self },
            None => scaled(self, n),
        }
    }
}
