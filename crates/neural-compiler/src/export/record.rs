//! Functions of the math crate as lists of operations. In: a function; out: what its kernel does to its arguments, step by step, for any
//! language to spell.
//!
//! The kernel itself is run, on values that write down what is done to them, as for generated machine code: there is no second copy of it.
//! What is done to constants is computed at once, and equal steps are one step.
//! Invariant: every step is one operation IEEE 754 fixes to the bit, or one on bits, so a faithful spelling gives the function's bits.

use crate::ops::real::Dtype;
use neural_compiler_math::expand::{Expanded, reduced, single, single_pair, slow_pair, wide, wide_pair};
use neural_compiler_math::num::{Layout, Num, Single, scaled};
use neural_compiler_math::{Binary, Unary};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

/// What a step does to the steps it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Step {
    /// An argument of the function.
    Argument(u32),
    /// A constant, by its bits.
    Constant(u64),
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
    Not,
    /// By a flag, the second or the third.
    Select,
    /// An f32 as f64.
    Widen,
    /// An f64 rounded to f32.
    Narrow,
}

/// What a step gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Class {
    Number(Dtype),
    Flag,
}

/// A step and the steps it works on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Line {
    pub(super) step: Step,
    pub(super) class: Class,
    pub(super) args: Vec<u32>,
}

/// A function, step by step.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) lines: Vec<Line>,
    pub(super) result: u32,
    /// A flag: the function's slow path must decide.
    pub(super) rare: Option<u32>,
}

#[derive(Default)]
struct Book {
    lines: RefCell<Vec<Line>>,
    known: RefCell<FxHashMap<Line, u32>>,
}

impl Book {
    fn line(&self, step: Step, class: Class, args: &[u32]) -> u32 {
        let line = Line { step, class, args: args.to_vec() };
        if let Some(&id) = self.known.borrow().get(&line) {
            return id;
        }
        let mut lines = self.lines.borrow_mut();
        lines.push(line.clone());
        let id = lines.len() as u32 - 1;
        self.known.borrow_mut().insert(line, id);
        id
    }

    /// The steps the results need.
    fn listing(self, result: u32, rare: Option<u32>) -> Listing {
        let all = self.lines.into_inner();
        let mut needed = vec![false; all.len()];
        needed[result as usize] = true;
        rare.into_iter().for_each(|r| needed[r as usize] = true);
        for (id, line) in all.iter().enumerate().rev() {
            if needed[id] {
                line.args.iter().for_each(|&a| needed[a as usize] = true);
            }
        }
        let mut place = vec![0u32; all.len()];
        let mut lines: Vec<Line> = Vec::new();
        for (id, line) in all.into_iter().enumerate().filter(|(id, _)| needed[*id]) {
            place[id] = lines.len() as u32;
            lines.push(Line { args: line.args.iter().map(|&a| place[a as usize]).collect(), ..line });
        }
        Listing { lines, result: place[result as usize], rare: rare.map(|r| place[r as usize]) }
    }
}

/// A value that writes down what is done to it; `T` is the type of its constants.
struct Written<'b, T> {
    book: &'b Book,
    id: u32,
    number: PhantomData<T>,
}

impl<T> Clone for Written<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Written<'_, T> {}

/// A flag that writes down what is done to it.
#[derive(Clone, Copy)]
struct Flag<'b> {
    book: &'b Book,
    /// The flag, or its step.
    known: Result<bool, u32>,
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

impl<'b, T: Constant> Written<'b, T> {
    fn argument(book: &'b Book, index: u32) -> Self {
        Written { book, id: book.line(Step::Argument(index), Class::Number(T::DTYPE), &[]), number: PhantomData }
    }

    fn constant(self, x: T) -> Self {
        self.step(Step::Constant(x.bits()), &[])
    }

    fn known(self) -> Option<T> {
        match self.book.lines.borrow()[self.id as usize].step {
            Step::Constant(bits) => Some(T::of_bits(bits)),
            _ => None,
        }
    }

    fn step(self, step: Step, args: &[u32]) -> Self {
        Written { id: self.book.line(step, Class::Number(T::DTYPE), args), ..self }
    }

    fn alone(self, step: Step, known: impl Fn(T) -> T) -> Self {
        match self.known() {
            Some(x) => self.constant(known(x)),
            None => self.step(step, &[self.id]),
        }
    }

    fn with(self, step: Step, other: Self, known: impl Fn(T, T) -> T) -> Self {
        match (self.known(), other.known()) {
            (Some(x), Some(y)) => self.constant(known(x, y)),
            _ => self.step(step, &[self.id, other.id]),
        }
    }

    fn fused(self, step: Step, b: Self, c: Self, known: impl Fn(T, T, T) -> T) -> Self {
        match (self.known(), b.known(), c.known()) {
            (Some(x), Some(y), Some(z)) => self.constant(known(x, y, z)),
            _ => self.step(step, &[self.id, b.id, c.id]),
        }
    }

    fn flag(self, known: Result<bool, u32>) -> Flag<'b> {
        Flag { book: self.book, known }
    }

    fn test(self, step: Step, other: Self, known: impl Fn(T, T) -> bool) -> Flag<'b> {
        self.flag(match (self.known(), other.known()) {
            (Some(x), Some(y)) => Ok(known(x, y)),
            _ => Err(self.book.line(step, Class::Flag, &[self.id, other.id])),
        })
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident),*) => {
        $(impl<T: Constant> $trait for Written<'_, T> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.with(Step::$trait, other, T::$method)
            }
        })*
    };
}

operator!(Add add, Sub sub, Mul mul, Div div);

impl<'b, T: Constant + Layout> Num for Written<'b, T> {
    type Scalar = T;
    type Mask = Flag<'b>;

    fn lit(self, x: T) -> Self {
        self.constant(x)
    }
    fn lit_bits(self, bits: u64) -> Self {
        self.constant(T::of_bits(bits))
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.fused(Step::MulAdd, b, c, T::mul_add)
    }
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        self.fused(Step::NegMulAdd, b, c, T::neg_mul_add)
    }
    fn mul_sub(self, b: Self, c: Self) -> Self {
        self.fused(Step::MulSub, b, c, T::mul_sub)
    }
    fn abs(self) -> Self {
        self.alone(Step::Abs, T::abs)
    }
    fn less(self, b: Self) -> Flag<'b> {
        self.test(Step::Less, b, T::less)
    }
    fn equal(self, b: Self) -> Flag<'b> {
        self.test(Step::Equal, b, T::equal)
    }
    fn select(mask: Flag<'b>, yes: Self, no: Self) -> Self {
        match mask.known {
            Ok(true) => yes,
            Ok(false) => no,
            Err(_) if yes.id == no.id => yes,
            Err(flag) => yes.step(Step::Select, &[flag, yes.id, no.id]),
        }
    }
    fn both(a: Flag<'b>, b: Flag<'b>) -> Flag<'b> {
        match (a.known, b.known) {
            (Ok(true), _) | (_, Ok(false)) => b,
            (_, Ok(true)) | (Ok(false), _) => a,
            (Err(x), Err(y)) => Flag { known: Err(a.book.line(Step::Both, Class::Flag, &[x, y])), ..a },
        }
    }
    fn either(a: Flag<'b>, b: Flag<'b>) -> Flag<'b> {
        Self::not(Self::both(Self::not(a), Self::not(b)))
    }
    fn known(mask: Flag<'b>) -> Option<bool> {
        mask.known.ok()
    }
    fn not(mask: Flag<'b>) -> Flag<'b> {
        let known = match mask.known {
            Ok(known) => Ok(!known),
            Err(flag) => Err(mask.book.line(Step::Not, Class::Flag, &[flag])),
        };
        Flag { known, ..mask }
    }
    fn sqrt(self) -> Self {
        self.alone(Step::Sqrt, T::sqrt)
    }
    fn floor(self) -> Self {
        self.alone(Step::Floor, T::floor)
    }
    fn at_most(self, limit: Self) -> Self {
        self.with(Step::AtMost, limit, T::at_most)
    }
    fn at_least(self, limit: Self) -> Self {
        self.with(Step::AtLeast, limit, T::at_least)
    }
    fn and_bits(self, b: Self) -> Self {
        self.with(Step::And, b, T::and_bits)
    }
    fn or_bits(self, b: Self) -> Self {
        self.with(Step::Or, b, T::or_bits)
    }
    fn xor_bits(self, b: Self) -> Self {
        // A sign that is known to be none.
        match (self.known().map(T::bits), b.known().map(T::bits)) {
            (Some(0), _) => b,
            (_, Some(0)) => self,
            _ => self.with(Step::Xor, b, T::xor_bits),
        }
    }
    fn add_bits(self, b: Self) -> Self {
        self.with(Step::AddBits, b, T::add_bits)
    }
    fn shift_left(self, by: u32) -> Self {
        self.alone(Step::ShiftLeft(by), |x| x.shift_left(by))
    }
    fn shift_right(self, by: u32) -> Self {
        self.alone(Step::ShiftRight(by), |x| x.shift_right(by))
    }
    fn high_bit(self) -> Flag<'b> {
        self.flag(match self.known() {
            Some(x) => Ok(x.high_bit()),
            None => Err(self.book.line(Step::HighBit, Class::Flag, &[self.id])),
        })
    }
    fn scale2(self, n: Self) -> Self {
        scaled(self, n)
    }
}

impl<'b> Single for Written<'b, f32> {
    type Wide = Written<'b, f64>;

    fn widen(self) -> Written<'b, f64> {
        let any: Written<'b, f64> = Written { book: self.book, id: self.id, number: PhantomData };
        match self.known() {
            Some(x) => any.constant(f64::from(x)),
            None => any.step(Step::Widen, &[self.id]),
        }
    }

    fn narrow(wide: Written<'b, f64>) -> Self {
        let any: Written<'b, f32> = Written { book: wide.book, id: wide.id, number: PhantomData };
        match wide.known() {
            Some(x) => any.constant(x as f32),
            None => any.step(Step::Narrow, &[wide.id]),
        }
    }
}

/// What a kernel made of its arguments, as steps; `rare` as a flag that is known counts as never or, written out, always.
fn outcome<T: Constant + Layout>(expanded: &Expanded<Written<'_, T>>) -> (u32, Option<u32>) {
    let rare = expanded.rare.and_then(|flag| match flag.known {
        Ok(false) => None,
        Ok(true) => unreachable!("no function of unknown arguments is rare everywhere"),
        Err(id) => Some(id),
    });
    (expanded.value.id, rare)
}

/// A function of one argument; `None` for functions whose kernel is no list of operations.
pub(super) fn unary(f: &'static Unary, dtype: Dtype) -> Option<Listing> {
    let book = Book::default();
    let (result, rare) = match dtype {
        Dtype::F32 => outcome(&single(f, Written::<f32>::argument(&book, 0))?),
        Dtype::F64 => outcome(&wide(f, Written::<f64>::argument(&book, 0))?),
    };
    Some(book.listing(result, rare))
}

/// A function of two arguments, likewise.
pub(super) fn binary(f: &'static Binary, dtype: Dtype) -> Option<Listing> {
    let book = Book::default();
    let (result, rare) = match dtype {
        Dtype::F32 => outcome(&single_pair(f, Written::<f32>::argument(&book, 0), Written::argument(&book, 1))?),
        Dtype::F64 => outcome(&wide_pair(f, Written::<f64>::argument(&book, 0), Written::argument(&book, 1))?),
    };
    Some(book.listing(result, rare))
}

/// What a periodic function makes of a large f64 that was reduced: arguments are the quadrant, the rest in two words, and the sign.
pub(super) fn from_reduced(f: &'static Unary) -> Option<Listing> {
    let book = Book::default();
    let argument = |k| Written::<f64>::argument(&book, k);
    let result = reduced(f, argument(0), argument(1), argument(2), argument(3))?.id;
    Some(book.listing(result, None))
}

/// The slow path of a function of two f64.
pub(super) fn slow(f: &'static Binary) -> Option<Listing> {
    let book = Book::default();
    let result = slow_pair(f, Written::<f64>::argument(&book, 0), Written::argument(&book, 1))?.id;
    Some(book.listing(result, None))
}
