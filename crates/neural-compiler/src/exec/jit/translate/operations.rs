//! Operations. In: an operation of the graph and its numbers; out: numbers, element by element: constants where all arguments are,
//! else instructions, a function written out, or a call.

use super::super::Declined;
use super::super::ir::{Class, Def, Function, Prim, Value};
use super::super::{arithmetic, expand, tensor};
use super::{Nan, Number, Place, Translator};
use crate::ops::real::Dtype;
use crate::ops::row::apply_scalar;
use crate::ops::{Kernel, Op};
use crate::shape::Shape;
use neural_compiler_math as math;
use std::ops::Range;

impl Translator<'_> {
    pub(super) fn operation(
        &mut self,
        op: Op,
        attr: u32,
        operands: &[(Range<usize>, Shape)],
        shape: Shape,
        place: Place,
    ) -> Result<Range<usize>, Declined> {
        let row = op.row();
        if let Kernel::Tensor(_) = row.kernel {
            let args: Vec<(Vec<Number>, Shape)> = operands.iter().map(|(r, s)| (self.arena[r.clone()].to_vec(), *s)).collect();
            let out = tensor::apply(self, op, attr, &args, shape, place.mask)?;
            let from = self.arena.len();
            self.arena.extend(out);
            return Ok(from..self.arena.len());
        }
        if let Kernel::Composite(_) = row.kernel {
            return Err(Declined::Operation(row.name));
        }
        let from = self.arena.len();
        let count = shape.len();
        for k in 0..count {
            // A scalar combines with every element.
            let arg = |i: usize| {
                let r = &operands[i].0;
                r.start + if r.len() == 1 { 0 } else { k }
            };
            let folded = (0..operands.len()).map(|i| self.constant_of(self.arena[arg(i)].value)).collect::<Option<Vec<f64>>>();
            if let Some(numbers) = folded {
                let result = match self.dtype {
                    Dtype::F32 => f64::from(apply_scalar(&row.kernel, &numbers.iter().map(|&x| x as f32).collect::<Vec<_>>())),
                    Dtype::F64 => apply_scalar(&row.kernel, &numbers),
                };
                let value = self.constant(result);
                self.arena.push(Number { value, nan: Nan::Quiet });
                continue;
            }
            let x = match &row.kernel {
                Kernel::Unary(f) => {
                    let x = self.arena[arg(0)];
                    self.unary(op, f, x, place)
                }
                Kernel::Binary(f) => {
                    let (x, y) = (self.arena[arg(0)], self.arena[arg(1)]);
                    self.binary(op, f, x, y, place)
                }
                Kernel::Ternary(f) => {
                    let args = [0, 1, 2].map(|i| self.arena[arg(i)].value);
                    Number { value: self.code.make(Def::Ternary(Function(f), args), Class::Number), nan: Nan::Quiet }
                }
                Kernel::Select => {
                    let (t, x, y) = (self.arena[arg(0)], self.arena[arg(1)], self.arena[arg(2)]);
                    let mask = self.mask(t.value);
                    self.select(mask, x, y)
                }
                Kernel::Tensor(_) | Kernel::Composite(_) => return Err(Declined::Operation(row.name)),
            };
            self.arena.push(x);
        }
        Ok(from..from + count)
    }

    pub(super) fn unary(&mut self, op: Op, f: &'static math::Unary, x: Number, place: Place) -> Number {
        if let Some(number) = arithmetic::unary(self, op, x) {
            return number;
        }
        match expand::expand(&mut self.code, self.dtype, self.level, f, x.value) {
            Some(recorded) => self.mended(recorded, Prim::Mend(Function(f)), &[x.value], place),
            None => Number { value: self.code.make(Def::Unary(Function(f), x.value), Class::Number), nan: Nan::Quiet },
        }
    }

    pub(super) fn binary(&mut self, op: Op, f: &'static math::Binary, x: Number, y: Number, place: Place) -> Number {
        if let Some(number) = arithmetic::binary(self, op, x, y) {
            return number;
        }
        match expand::expand_pair(&mut self.code, self.dtype, self.level, f, x.value, y.value) {
            Some(recorded) => self.mended(recorded, Prim::MendPair(Function(f)), &[x.value, y.value], place),
            None => Number { value: self.code.make(Def::Binary(Function(f), x.value, y.value), Class::Number), nan: Nan::Quiet },
        }
    }

    /// A function written out, called for rare lanes among those that count: others may hold anything.
    fn mended(&mut self, recorded: expand::Recorded, mend: Prim, args: &[Value], place: Place) -> Number {
        let rare = match (recorded.rare, place.mask) {
            (Some(rare), Some(counts)) => Some(self.op(Prim::Both, &[rare, counts])),
            (rare, _) => rare,
        };
        let Some(rare) = rare else { return Number::loose(recorded.value) };
        let list: Vec<Value> = [rare, recorded.value].into_iter().chain(args.iter().copied()).collect();
        Number::loose(self.op(mend, &list))
    }
}
