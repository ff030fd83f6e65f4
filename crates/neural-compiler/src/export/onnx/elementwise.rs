//! Elementwise operations in ONNX. In: values; out: values. What ONNX, or onnxruntime in float64, has no operation for is written out with
//! operations it has, to the last digits; where that is not known how, the operation is left out and refused by name.

use super::builder::{Builder, Value};
use super::protobuf::{Attribute, Element};
use std::f64::consts::{E, LN_2, LN_10, PI};

pub(super) fn nan(b: &mut Builder, x: &Value) -> Value {
    let same = b.test("Equal", &[x, x]);
    b.not(&same)
}

fn either(b: &mut Builder, x: &Value, y: &Value) -> Value {
    b.test("Or", &[x, y])
}

fn both(b: &mut Builder, x: &Value, y: &Value) -> Value {
    b.test("And", &[x, y])
}

pub(super) fn infinite(b: &mut Builder, x: &Value) -> Value {
    let size = b.op("Abs", &[x]);
    b.against("Equal", &size, f64::INFINITY)
}

fn extreme(b: &mut Builder, order: &str, x: &Value, y: &Value) -> Value {
    let (none, first) = (nan(b, x), b.test(order, &[x, y]));
    let test = either(b, &none, &first);
    b.choose(&test, x, y)
}

fn remainder(b: &mut Builder, x: &Value, y: &Value) -> Value {
    b.with("Mod", &[x, y], &[Attribute::Int("fmod", 1)])
}

fn modulo(b: &mut Builder, x: &Value, y: &Value) -> Value {
    let rest = remainder(b, x, y);
    let (below, under) = (b.against("Less", &rest, 0.0), b.against("Less", y, 0.0));
    let apart = b.test("Xor", &[&below, &under]);
    let some = b.bool(&rest);
    let moves = both(b, &apart, &some);
    let moved = b.op("Add", &[&rest, y]);
    b.choose(&moves, &moved, &rest)
}

fn truncate(b: &mut Builder, x: &Value) -> Value {
    let (below, up, down) = (b.against("Less", x, 0.0), b.op("Ceil", &[x]), b.op("Floor", &[x]));
    b.choose(&below, &up, &down)
}

/// The whole part of the true quotient.
fn quotient(b: &mut Builder, x: &Value, y: &Value) -> Value {
    let ratio = b.op("Div", &[x, y]);
    let rest = remainder(b, x, y);
    let less = b.op("Sub", &[x, &rest]);
    let whole = b.op("Div", &[&less, y]);
    let whole = b.op("Round", &[&whole]);
    let (large, wide) = (infinite(b, &ratio), infinite(b, y));
    let (odd, cut) = (either(b, &large, &wide), truncate(b, &ratio));
    b.choose(&odd, &cut, &whole)
}

/// Kahan's: the error of exp(x), rounded, is that of its logarithm.
fn expm1(b: &mut Builder, x: &Value) -> Value {
    let u = b.op("Exp", &[x]);
    let less = b.by("Sub", &u, 1.0);
    let (product, log) = (b.op("Mul", &[&less, x]), b.op("Log", &[&u]));
    let found = b.op("Div", &[&product, &log]);
    let (large, small) = (infinite(b, &u), b.against("Less", &u, 0.25));
    let plain = either(b, &large, &small);
    let far = b.choose(&plain, &less, &found);
    let one = b.against("Equal", &u, 1.0);
    b.choose(&one, x, &far)
}

fn log1p(b: &mut Builder, x: &Value) -> Value {
    let u = b.by("Add", x, 1.0);
    let log = b.op("Log", &[&u]);
    let (product, less) = (b.op("Mul", &[&log, x]), b.by("Sub", &u, 1.0));
    let found = b.op("Div", &[&product, &less]);
    let large = infinite(b, &u);
    // Of negative infinity there is none.
    let far = b.choose(&large, &log, &found);
    let one = b.against("Equal", &u, 1.0);
    b.choose(&one, x, &far)
}

/// exp(x) / 2 where exp(x) overflows.
fn half_exponential(b: &mut Builder, size: &Value) -> Value {
    let less = b.by("Sub", size, 1.0);
    let e = b.op("Exp", &[&less]);
    b.by("Mul", &e, E / 2.0)
}

/// The function of the size with the sign of x; a zero stays as it is.
fn odd(b: &mut Builder, x: &Value, of_size: &Value) -> Value {
    let (some, below, opposite) = (b.bool(x), b.against("Less", x, 0.0), b.op("Neg", &[of_size]));
    let up = b.choose(&some, of_size, x);
    b.choose(&below, &opposite, &up)
}

fn sinh(b: &mut Builder, x: &Value) -> Value {
    let size = b.op("Abs", &[x]);
    let e = expm1(b, &size);
    let more = b.by("Add", &e, 1.0);
    let ratio = b.op("Div", &[&e, &more]);
    let sum = b.op("Add", &[&e, &ratio]);
    let near = b.by("Mul", &sum, 0.5);
    let (far, large) = (half_exponential(b, &size), b.against("Greater", &size, 80.0));
    let found = b.choose(&large, &far, &near);
    odd(b, x, &found)
}

fn cosh(b: &mut Builder, x: &Value) -> Value {
    let size = b.op("Abs", &[x]);
    let opposite = b.op("Neg", &[&size]);
    let (up, down) = (b.op("Exp", &[&size]), b.op("Exp", &[&opposite]));
    let sum = b.op("Add", &[&up, &down]);
    let near = b.by("Mul", &sum, 0.5);
    let (far, large) = (half_exponential(b, &size), b.against("Greater", &size, 80.0));
    b.choose(&large, &far, &near)
}

fn tan(b: &mut Builder, x: &Value) -> Value {
    let (sine, cosine) = (b.op("Sin", &[x]), b.op("Cos", &[x]));
    b.op("Div", &[&sine, &cosine])
}

/// Up to 1, from the single-precision value, corrected by the tangent of what is missing; beyond, that of the reciprocal.
fn atan(b: &mut Builder, x: &Value) -> Value {
    let (size, one) = (b.op("Abs", &[x]), b.number(1.0));
    let (far, inverse) = (b.test("Greater", &[&size, &one]), b.op("Div", &[&one, &size]));
    let small = b.choose(&far, &inverse, &size);
    let single = b.raw("Cast", &[&small.name], &[Attribute::Int("to", Element::Float as i64)]);
    let single = b.raw("Atan", &[&single], &[]);
    let to = Attribute::Int("to", b.element() as i64);
    let near = Value::new(b.raw("Cast", &[&single], &[to]), &small.shape);
    let tangent = tan(b, &near);
    let product = b.op("Mul", &[&small, &tangent]);
    let (top, bottom) = (b.op("Sub", &[&small, &tangent]), b.by("Add", &product, 1.0));
    let missing = b.op("Div", &[&top, &bottom]);
    let found = b.op("Add", &[&near, &missing]);
    let right = b.number(PI / 2.0);
    let beyond = b.op("Sub", &[&right, &found]);
    let found = b.choose(&far, &beyond, &found);
    odd(b, x, &found)
}

fn asin(b: &mut Builder, x: &Value) -> Value {
    let one = b.number(1.0);
    let (less, more) = (b.op("Sub", &[&one, x]), b.op("Add", &[&one, x]));
    let product = b.op("Mul", &[&less, &more]);
    let root = b.op("Sqrt", &[&product]);
    let ratio = b.op("Div", &[x, &root]);
    atan(b, &ratio)
}

fn acos(b: &mut Builder, x: &Value) -> Value {
    let one = b.number(1.0);
    let (less, more) = (b.op("Sub", &[&one, x]), b.op("Add", &[&one, x]));
    let ratio = b.op("Div", &[&less, &more]);
    let root = b.op("Sqrt", &[&ratio]);
    let half = atan(b, &root);
    b.by("Mul", &half, 2.0)
}

fn atan2(b: &mut Builder, y: &Value, x: &Value) -> Value {
    // Of two infinite numbers the ratio of their signs, of two zeros 0.
    let (wide, high) = (infinite(b, x), infinite(b, y));
    let large = both(b, &wide, &high);
    let (sign_y, sign_x) = (b.op("Sign", &[y]), b.op("Sign", &[x]));
    let (up, along) = (b.choose(&large, &sign_y, y), b.choose(&large, &sign_x, x));
    let (no_y, no_x) = (b.against("Equal", y, 0.0), b.against("Equal", x, 0.0));
    let none = both(b, &no_y, &no_x);
    let one = b.number(1.0);
    let along = b.choose(&none, &one, &along);
    let ratio = b.op("Div", &[&up, &along]);
    let angle = atan(b, &ratio);
    let angle = b.choose(&none, y, &angle);
    // The sign of a zero is that of its reciprocal.
    let negative = |b: &mut Builder, x: &Value| {
        let (some, inverse) = (b.bool(x), b.op("Div", &[&one, x]));
        let shown = b.choose(&some, x, &inverse);
        b.against("Less", &shown, 0.0)
    };
    let (left, below) = (negative(b, x), negative(b, y));
    let some = b.bool(y);
    let quarter = both(b, &no_x, &some);
    let (down, over) = (b.number(-PI / 2.0), b.number(PI / 2.0));
    let upright = b.choose(&below, &down, &over);
    let (less, more) = (b.by("Sub", &angle, PI), b.by("Add", &angle, PI));
    let turned = b.choose(&below, &less, &more);
    let moved = b.choose(&left, &turned, &angle);
    let usual = b.choose(&quarter, &upright, &moved);
    let (nan_x, nan_y, sum) = (nan(b, x), nan(b, y), b.op("Add", &[x, y]));
    let any = either(b, &nan_x, &nan_y);
    b.choose(&any, &sum, &usual)
}

fn cbrt(b: &mut Builder, x: &Value) -> Value {
    let size = b.op("Abs", &[x]);
    let (zero, large, one) = (b.against("Equal", &size, 0.0), infinite(b, &size), b.number(1.0));
    let alone = either(b, &zero, &large);
    let usual = b.choose(&alone, &one, &size);
    let near = b.by("Pow", &usual, 1.0 / 3.0);
    let square = b.op("Mul", &[&near, &near]);
    let ratio = b.op("Div", &[&usual, &square]);
    let missing = b.op("Sub", &[&ratio, &near]);
    let step = b.by("Div", &missing, 3.0);
    let better = b.op("Add", &[&near, &step]);
    let root = b.choose(&alone, &size, &better);
    odd(b, x, &root)
}

/// e^-|x|: nothing overflows.
fn falling(b: &mut Builder, x: &Value) -> Value {
    let size = b.op("Abs", &[x]);
    let opposite = b.op("Neg", &[&size]);
    b.op("Exp", &[&opposite])
}

fn sigmoid(b: &mut Builder, x: &Value) -> Value {
    let (e, one) = (falling(b, x), b.number(1.0));
    let sum = b.op("Add", &[&one, &e]);
    let large = b.op("Div", &[&one, &sum]);
    let (small, below) = (b.op("Mul", &[&e, &large]), b.against("Less", x, 0.0));
    b.choose(&below, &small, &large)
}

fn softplus(b: &mut Builder, x: &Value) -> Value {
    let (e, zero) = (falling(b, x), b.number(0.0));
    let (base, rest) = (extreme(b, "Greater", x, &zero), log1p(b, &e));
    b.op("Add", &[&base, &rest])
}

fn log_of(b: &mut Builder, x: &Value, log_of_base: f64) -> Value {
    let log = b.op("Log", &[x]);
    b.by("Div", &log, log_of_base)
}

/// A function of one number by its name in the math crate, if ONNX can say it.
pub(super) fn unary(name: &str) -> Option<fn(&mut Builder, &Value) -> Value> {
    Some(match name {
        "neg" => |b, x| b.op("Neg", &[x]),
        "abs" => |b, x| b.op("Abs", &[x]),
        "sin" => |b, x| b.op("Sin", &[x]),
        "cos" => |b, x| b.op("Cos", &[x]),
        "tanh" => |b, x| b.op("Tanh", &[x]),
        "exp" => |b, x| b.op("Exp", &[x]),
        "log" => |b, x| b.op("Log", &[x]),
        "sqrt" => |b, x| b.op("Sqrt", &[x]),
        "floor" => |b, x| b.op("Floor", &[x]),
        "ceiling" => |b, x| b.op("Ceil", &[x]),
        "round" => |b, x| b.op("Round", &[x]),
        "square" => |b, x| b.op("Mul", &[x, x]),
        "exp2" => |b, x| {
            let two = b.number(2.0);
            b.op("Pow", &[&two, x])
        },
        "log2" => |b, x| log_of(b, x, LN_2),
        "log10" => |b, x| log_of(b, x, LN_10),
        "tan" => tan,
        "asin" => asin,
        "acos" => acos,
        "atan" => atan,
        "sinh" => sinh,
        "cosh" => cosh,
        "expm1" => expm1,
        "log1p" => log1p,
        "cbrt" => cbrt,
        "truncate" => truncate,
        "sign" => |b, x| {
            let (none, sign) = (nan(b, x), b.op("Sign", &[x]));
            b.choose(&none, x, &sign)
        },
        "sigmoid" => sigmoid,
        "softplus" => softplus,
        "relu" => |b, x| {
            let zero = b.number(0.0);
            extreme(b, "Greater", x, &zero)
        },
        _ => return None,
    })
}

/// A function of two numbers, likewise.
pub(super) fn binary(name: &str) -> Option<fn(&mut Builder, &Value, &Value) -> Value> {
    Some(match name {
        "add" => |b, x, y| b.op("Add", &[x, y]),
        "sub" => |b, x, y| b.op("Sub", &[x, y]),
        "mul" => |b, x, y| b.op("Mul", &[x, y]),
        "div" => |b, x, y| b.op("Div", &[x, y]),
        "pow" => |b, x, y| b.op("Pow", &[x, y]),
        "min" => |b, x, y| extreme(b, "Less", x, y),
        "max" => |b, x, y| extreme(b, "Greater", x, y),
        "modulo" => modulo,
        "remainder" => remainder,
        "quotient" => quotient,
        "atan2" => atan2,
        "log_base" => |b, x, base| {
            let (top, bottom) = (b.op("Log", &[x]), b.op("Log", &[base]));
            b.op("Div", &[&top, &bottom])
        },
        "eq" => |b, x, y| b.test("Equal", &[x, y]),
        "lt" => |b, x, y| b.test("Less", &[x, y]),
        "gt" => |b, x, y| b.test("Greater", &[x, y]),
        "le" => |b, x, y| b.test("LessOrEqual", &[x, y]),
        "ge" => |b, x, y| b.test("GreaterOrEqual", &[x, y]),
        _ => return None,
    })
}
