//! Divisions by the same number share one. In: code; out: code in which of several quotients with one divisor `y` only `1 / y` is divided,
//! and the others come from it.
//!
//! A division keeps the machine's divider busy for ten or more cycles, and a gradient divides by the same number again and again:
//! `x / y` itself, `1 / y` and `(x / y) / y`. From `r = 1 / y`, correctly rounded, `x / y` follows by two corrections,
//! `q + (x - q y) r`, with the fused multiply-add: the first brings `q = x r` within one unit in the last place, and the second
//! is then correctly rounded (Markstein), as long as nothing overflows or loses digits on the way. Vectors in which that could be
//! are divided after all, out of the loop's way, so every bit is that of a division.

use super::ir::{Class, Code, Def, Prim, Value};
use super::schedule::live;
use crate::ops::real::Dtype;
use neural_compiler_math::Level;
use rustc_hash::FxHashMap;

/// Cycles a quotient made from a reciprocal costs.
const CORRECTED: u32 = 5;

/// Cycles an operation keeps the divider busy: measured, for vectors of 512 bits.
fn busy(prim: Prim, dtype: Dtype) -> u32 {
    match (prim, dtype) {
        (Prim::Div, Dtype::F32) => 10,
        (Prim::Div, Dtype::F64) => 16,
        (Prim::Sqrt, Dtype::F32) => 19,
        (Prim::Sqrt, Dtype::F64) => 32,
        _ => 0,
    }
}

/// The divider must be busy for this many cycles per other operation. With fewer the corrections, each of which waits for the one
/// before, cost more than they save.
const DIVIDING: u32 = 2;

/// What is divided by a number.
#[derive(Default)]
struct Divisor {
    quotients: u32,
    reciprocal: bool,
}

impl Divisor {
    fn pays(&self, dtype: Dtype) -> bool {
        let others = self.quotients - u32::from(self.reciprocal);
        let divided = busy(Prim::Div, dtype);
        divided + others * CORRECTED < self.quotients * divided
    }
}

/// The bits of 1, in the type a value has.
fn one(code: &Code, dtype: Dtype, v: Value) -> Def {
    match dtype {
        Dtype::F64 => Def::Constant(1f64.to_bits()),
        Dtype::F32 if code.is_wide(v) => Def::WideConstant(1f64.to_bits()),
        Dtype::F32 => Def::Constant(u64::from(1f32.to_bits())),
    }
}

pub(super) fn share(code: Code, dtype: Dtype, level: Level) -> Code {
    // AVX2 divides fast enough, and rounds of a loop seldom divide by the same number twice.
    if level != Level::Avx512 || !code.loops.is_empty() || !code.defs.iter().any(|d| matches!(d, Def::Op(Prim::Div, ..))) {
        return code;
    }
    let (live, shared) = (live(&code), code.shared());
    let mut divisors: FxHashMap<Value, Divisor> = FxHashMap::default();
    let (mut dividing, mut others) = (0, 0);
    for (i, def) in code.defs.iter().enumerate() {
        if let Def::Op(prim, [x, ..], _) = *def
            && live[i]
        {
            let cycles = busy(prim, if code.is_wide(x) { Dtype::F64 } else { dtype });
            dividing += cycles;
            others += u32::from(cycles == 0);
        }
        if let Def::Op(Prim::Div, [x, y, ..], _) = *def
            && live[i]
            && !shared[y.0 as usize]
        {
            let divisor = divisors.entry(y).or_default();
            divisor.quotients += 1;
            divisor.reciprocal |= code.def(x) == one(&code, dtype, y);
        }
    }
    divisors.retain(|&y, d| d.pays(if code.is_wide(y) { Dtype::F64 } else { dtype }));
    if divisors.is_empty() || dividing < DIVIDING * others {
        return code;
    }
    let mut out = Code::new();
    let mut at: Vec<Value> = Vec::with_capacity(code.defs.len());
    for (i, &def) in code.defs.iter().enumerate() {
        out.span = code.spans[i];
        let value = |v: Value| at[v.0 as usize];
        let new = match def {
            Def::Op(Prim::Div, [x, y, ..], _) if divisors.contains_key(&y) && code.def(x) != one(&code, dtype, y) => {
                let (x, divisor) = (value(x), value(y));
                let one = out.make(one(&code, dtype, y), Class::Number);
                let reciprocal = out.op(Prim::Div, &[one, divisor]);
                let square = out.op(Prim::Mul, &[divisor, divisor]);
                out.op(Prim::Quotient, &[x, divisor, reciprocal, square])
            }
            Def::Op(prim, args, n) => out.op(prim, &args.map(|a| if a.0 < i as u32 { value(a) } else { a })[..n as usize]),
            Def::Unary(f, x) => out.make(Def::Unary(f, value(x)), Class::Number),
            Def::Binary(f, x, y) => out.make(Def::Binary(f, value(x), value(y)), Class::Number),
            Def::Ternary(f, [x, y, z]) => out.make(Def::Ternary(f, [value(x), value(y), value(z)]), Class::Number),
            Def::Input(_) | Def::Shared(_) | Def::Constant(_) | Def::WideConstant(_) | Def::Carried(..) | Def::Out(..) => {
                out.make(def, code.classes[i])
            }
        };
        at.push(new);
    }
    out.outputs = code.outputs.iter().map(|v| at[v.0 as usize]).collect();
    out
}
