//! Numbers and masks of the code under construction. In: requests; out: values, constants known as such and choices between 1 and 0
//! kept as masks.

use super::super::expand::{self, OverNumbers};
use super::super::ir::{Class, Def, Prim, Test, Value};
use super::{Nan, Number, Translator};
use crate::ops::real::Dtype;
use neural_compiler_math::Level;

impl Translator<'_> {
    /// The bits of a number rounded to the program's type.
    pub(in super::super) fn bits(&self, x: f64) -> u64 {
        match self.dtype {
            Dtype::F32 => u64::from((x as f32).to_bits()),
            Dtype::F64 => x.to_bits(),
        }
    }

    pub(in super::super) fn number_of(&self, bits: u64) -> f64 {
        match self.dtype {
            Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
            Dtype::F64 => f64::from_bits(bits),
        }
    }

    pub(in super::super) fn constant(&mut self, x: f64) -> Value {
        let bits = self.bits(x);
        self.code.make(Def::Constant(bits), Class::Number)
    }

    /// All bits but the sign.
    pub(in super::super) fn magnitude_bits(&mut self) -> Value {
        let bits = match self.dtype {
            Dtype::F32 => u64::from(u32::MAX >> 1),
            Dtype::F64 => u64::MAX >> 1,
        };
        self.code.make(Def::Constant(bits), Class::Number)
    }

    pub(in super::super) fn level(&self) -> Level {
        self.level
    }

    /// A kernel on whole values, number by number.
    pub(in super::super) fn whole(&mut self, kernel: &impl OverNumbers, numbers: &[Value]) -> Vec<Value> {
        expand::expand_whole(&mut self.code, self.dtype, self.level, kernel, numbers)
    }

    pub(in super::super) fn op(&mut self, prim: Prim, args: &[Value]) -> Value {
        self.code.op(prim, args)
    }

    /// The number as a result: a NaN is the quiet one.
    pub(super) fn seen(&mut self, x: Number) -> Number {
        if x.nan == Nan::Quiet {
            return x;
        }
        let nan = self.constant(f64::NAN);
        Number { value: self.op(Prim::Quiet, &[x.value, nan]), nan: Nan::Quiet }
    }

    pub(in super::super) fn constant_of(&self, v: Value) -> Option<f64> {
        self.code.constant_bits(v).map(|b| self.number_of(b))
    }

    pub(super) fn is_zero(&self, v: Value) -> bool {
        self.code.constant_bits(v) == Some(0)
    }

    pub(super) fn is_one(&self, v: Value) -> bool {
        self.code.constant_bits(v) == Some(self.bits(1.0))
    }

    /// 1 where the mask holds, else 0.
    pub(in super::super) fn one_if(&mut self, mask: Value) -> Number {
        let one = self.constant(1.0);
        Number { value: self.op(Prim::Keep, &[mask, one]), nan: Nan::Quiet }
    }

    /// The mask of a number that is 1 or 0 because of it; constants 1 and 0 are `Some(Err)`.
    pub(super) fn as_test(&self, v: Value) -> Option<Result<Value, bool>> {
        match self.code.def(v) {
            Def::Op(Prim::Keep, [mask, x, ..], _) if self.is_one(x) => Some(Ok(mask)),
            _ if self.is_zero(v) => Some(Err(false)),
            _ if self.is_one(v) => Some(Err(true)),
            _ => None,
        }
    }

    /// For `x = y`: the mask that says so when one is 1 or 0 by a mask and the other the constant 0.
    pub(in super::super) fn negated(&mut self, x: Value, y: Value) -> Option<Value> {
        match (self.as_test(x)?, self.as_test(y)?) {
            (Ok(mask), Err(false)) | (Err(false), Ok(mask)) => Some(self.not(mask)),
            (Ok(mask), Err(true)) | (Err(true), Ok(mask)) => Some(mask),
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
        }
    }

    /// Where a number is not 0.
    pub(super) fn mask(&mut self, x: Value) -> Value {
        match self.as_test(x) {
            Some(Ok(mask)) => mask,
            Some(Err(true)) => self.op(Prim::Always, &[]),
            Some(Err(false)) => {
                let always = self.op(Prim::Always, &[]);
                self.op(Prim::Not, &[always])
            }
            None => {
                let zero = self.constant(0.0);
                self.op(Prim::Compare(Test::NotEqual), &[x, zero])
            }
        }
    }

    pub(super) fn not(&mut self, mask: Value) -> Value {
        match self.code.def(mask) {
            Def::Op(Prim::Not, [m, ..], _) => m,
            Def::Op(Prim::Compare(test), [a, b, ..], _) if test.inverse().is_some() => {
                let inverse = test.inverse().unwrap_or(test);
                self.op(Prim::Compare(inverse), &[a, b])
            }
            _ => self.op(Prim::Not, &[mask]),
        }
    }

    pub(super) fn select(&mut self, mask: Value, yes: Number, no: Number) -> Number {
        if yes.value == no.value {
            return if yes.nan == Nan::Quiet { yes } else { no };
        }
        if let (Some(a), Some(b)) = (self.as_test(yes.value), self.as_test(no.value)) {
            let chosen = match (a, b) {
                (Err(true), Err(_)) => mask,
                (Err(false), Err(_)) => self.not(mask),
                (Ok(a), Err(false)) => self.op(Prim::Both, &[mask, a]),
                (Err(true), Ok(b)) => self.op(Prim::Either, &[mask, b]),
                (Err(false), Ok(b)) => self.op(Prim::Without, &[b, mask]),
                (Ok(a), Err(true)) => {
                    let not = self.not(mask);
                    self.op(Prim::Either, &[not, a])
                }
                (Ok(a), Ok(b)) => {
                    let first = self.op(Prim::Both, &[mask, a]);
                    let second = self.op(Prim::Without, &[b, mask]);
                    self.op(Prim::Either, &[first, second])
                }
            };
            return self.one_if(chosen);
        }
        let nan = if yes.nan == Nan::Quiet { no.nan } else { Nan::Loose };
        let value = if self.is_zero(no.value) {
            self.op(Prim::Keep, &[mask, yes.value])
        } else if self.is_zero(yes.value) {
            let not = self.not(mask);
            self.op(Prim::Keep, &[not, no.value])
        } else {
            self.op(Prim::Blend, &[mask, yes.value, no.value])
        };
        Number { value, nan }
    }
}
