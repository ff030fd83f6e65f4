//! Functions of the math crate as lists of operations. In: a function; out: what its kernel does to its arguments, step by step, for any
//! language to spell.
//!
//! The kernel itself is run, on values that write down what is done to them (`ops/recorder.rs`), as for generated machine code. Equal steps
//! are one step.
//! Invariant: every step is one operation IEEE 754 fixes to the bit, or one on bits, so a faithful spelling gives the function's bits.

use crate::ops::real::Dtype;
use crate::ops::recorder::{self, Act, Constant};
use neural_compiler_math::expand::{Expanded, reduced, single, single_pair, slow_pair, wide, wide_pair};
use neural_compiler_math::num::{Num, Single};
use neural_compiler_math::{Binary, Unary};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What a step is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Step {
    /// An argument of the function.
    Argument(u32),
    /// A constant, by its bits.
    Constant(u64),
    /// What is done to the steps it names.
    Act(Act),
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

type Written<'b, T> = recorder::Written<'b, Book, T>;

impl recorder::Book for Book {
    type Id = u32;

    fn constant(&self, dtype: Dtype, bits: u64) -> u32 {
        self.line(Step::Constant(bits), Class::Number(dtype), &[])
    }

    fn known(&self, id: u32) -> Option<u64> {
        match self.lines.borrow()[id as usize].step {
            Step::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    fn act(&self, act: Act, dtype: Dtype, args: &[u32]) -> u32 {
        let flag = matches!(act, Act::Less | Act::Equal | Act::HighBit | Act::Both | Act::Either | Act::Not);
        self.line(Step::Act(act), if flag { Class::Flag } else { Class::Number(dtype) }, args)
    }
}

/// An argument of a function.
fn argument<T: Constant>(book: &Book, index: u32) -> Written<'_, T> {
    Written::new(book, book.line(Step::Argument(index), Class::Number(T::DTYPE), &[]))
}

impl<'b> Single for Written<'b, f32> {
    type Wide = Written<'b, f64>;

    fn widen(self) -> Written<'b, f64> {
        let any: Written<'b, f64> = Written::new(self.book, self.id);
        match self.known() {
            Some(x) => any.lit(f64::from(x)),
            None => Written::new(self.book, self.book.line(Step::Widen, Class::Number(Dtype::F64), &[self.id])),
        }
    }

    fn narrow(wide: Written<'b, f64>) -> Self {
        let any: Written<'b, f32> = Written::new(wide.book, wide.id);
        match wide.known() {
            Some(x) => any.lit(x as f32),
            None => Written::new(wide.book, wide.book.line(Step::Narrow, Class::Number(Dtype::F32), &[wide.id])),
        }
    }
}

/// What a kernel made of its arguments, as steps; `rare` as a flag that is known counts as never or, written out, always.
fn outcome<T: Constant>(expanded: &Expanded<Written<'_, T>>) -> (u32, Option<u32>) {
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
        Dtype::F32 => outcome(&single(f, argument::<f32>(&book, 0))?),
        Dtype::F64 => outcome(&wide(f, argument::<f64>(&book, 0))?),
    };
    Some(book.listing(result, rare))
}

/// A function of two arguments, likewise.
pub(super) fn binary(f: &'static Binary, dtype: Dtype) -> Option<Listing> {
    let book = Book::default();
    let (result, rare) = match dtype {
        Dtype::F32 => outcome(&single_pair(f, argument::<f32>(&book, 0), argument(&book, 1))?),
        Dtype::F64 => outcome(&wide_pair(f, argument::<f64>(&book, 0), argument(&book, 1))?),
    };
    Some(book.listing(result, rare))
}

/// What a periodic function makes of a large f64 that was reduced: arguments are the quadrant, the rest in two words, and the sign.
pub(super) fn from_reduced(f: &'static Unary) -> Option<Listing> {
    let book = Book::default();
    let part = |k| argument::<f64>(&book, k);
    let result = reduced(f, part(0), part(1), part(2), part(3))?.id;
    Some(book.listing(result, None))
}

/// The slow path of a function of two f64.
pub(super) fn slow(f: &'static Binary) -> Option<Listing> {
    let book = Book::default();
    let result = slow_pair(f, argument::<f64>(&book, 0), argument(&book, 1))?.id;
    Some(book.listing(result, None))
}
