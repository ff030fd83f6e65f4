"""One ONNX expression per operation of the table. In: values; out: values. What ONNX, or onnxruntime in float64, has no operation for is
written out with operations it has, to the last digits; where that is not known how, the operation is left out and refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fx.graph import Shape
from .builder import Builder, Value
from .matrices import eliminated, joined


class OnnxError(ValueError):
    """A program, or a part of it, that ONNX cannot express."""


@dataclass(frozen=True)
class Site:
    """What an operation on vectors and matrices needs to know besides its arguments."""

    attr: int
    shape: Shape
    """Of the result."""
    batch: str
    """The size of the batch, as a list of one number."""
    active: Value
    """Which lanes run: the others must not fail."""


Build = Callable[..., Value]


def _plain(op: str) -> Build:
    return lambda b, *args: b.op(op, *args)


def _compared(op: str) -> Build:
    return lambda b, x, y: b.op(op, x, y, truth=True)


def _nan(b: Builder, x: Value) -> Value:
    return b.op("Not", b.op("Equal", x, x, truth=True), truth=True)


def _either(b: Builder, x: Value, y: Value) -> Value:
    return b.op("Or", x, y, truth=True)


def _minimum(b: Builder, x: Value, y: Value) -> Value:
    return b.where(_either(b, _nan(b, x), b.op("Less", x, y, truth=True)), x, y)


def _maximum(b: Builder, x: Value, y: Value) -> Value:
    return b.where(_either(b, _nan(b, x), b.op("Greater", x, y, truth=True)), x, y)


def _remainder(b: Builder, x: Value, y: Value) -> Value:
    return b.op("Mod", x, y, fmod=1)


def _modulo(b: Builder, x: Value, y: Value) -> Value:
    zero = b.number(0.0)
    rest = _remainder(b, x, y)
    apart = b.op("Xor", b.op("Less", rest, zero, truth=True), b.op("Less", y, zero, truth=True), truth=True)
    moved = b.op("And", apart, b.bool(rest), truth=True)
    return b.where(moved, b.op("Add", rest, y), rest)


def _truncate(b: Builder, x: Value) -> Value:
    return b.where(b.op("Less", x, b.number(0.0), truth=True), b.op("Ceil", x), b.op("Floor", x))


def _infinite(b: Builder, x: Value) -> Value:
    return b.op("Equal", b.op("Abs", x), b.number(math.inf), truth=True)


def _quotient(b: Builder, x: Value, y: Value) -> Value:
    # As in torch's code: the whole part of the true quotient.
    ratio = b.op("Div", x, y)
    whole = b.op("Round", b.op("Div", b.op("Sub", x, _remainder(b, x, y)), y))
    return b.where(_either(b, _infinite(b, ratio), _infinite(b, y)), _truncate(b, ratio), whole)


def _expm1(b: Builder, x: Value) -> Value:
    # Kahan's: the error of exp(x), rounded, is that of its logarithm.
    one = b.number(1.0)
    u = b.op("Exp", x)
    less = b.op("Sub", u, one)
    found = b.op("Div", b.op("Mul", less, x), b.op("Log", u))
    plain = _either(b, _infinite(b, u), b.op("Less", u, b.number(0.25), truth=True))
    return b.where(b.op("Equal", u, one, truth=True), x, b.where(plain, less, found))


def _log1p(b: Builder, x: Value) -> Value:
    one = b.number(1.0)
    u = b.op("Add", x, one)
    found = b.op("Div", b.op("Mul", b.op("Log", u), x), b.op("Sub", u, one))
    return b.where(b.op("Equal", u, one, truth=True), x, b.where(_infinite(b, u), u, found))


def _half_exponential(b: Builder, size: Value) -> Value:
    """exp(x) / 2 where exp(x) overflows."""
    return b.op("Mul", b.op("Exp", b.op("Sub", size, b.number(1.0))), b.number(math.e / 2))


def _sinh(b: Builder, x: Value) -> Value:
    size = b.op("Abs", x)
    e = _expm1(b, size)
    near = b.op("Mul", b.number(0.5), b.op("Add", e, b.op("Div", e, b.op("Add", e, b.number(1.0)))))
    found = b.where(b.op("Greater", size, b.number(80.0), truth=True), _half_exponential(b, size), near)
    return b.where(b.op("Less", x, b.number(0.0), truth=True), b.op("Neg", found), b.where(b.bool(x), found, x))


def _cosh(b: Builder, x: Value) -> Value:
    size = b.op("Abs", x)
    near = b.op("Mul", b.number(0.5), b.op("Add", b.op("Exp", size), b.op("Exp", b.op("Neg", size))))
    return b.where(b.op("Greater", size, b.number(80.0), truth=True), _half_exponential(b, size), near)


def _tan(b: Builder, x: Value) -> Value:
    return b.op("Div", b.op("Sin", x), b.op("Cos", x))


def _atan(b: Builder, x: Value) -> Value:
    # Up to 1, from the single-precision value, corrected by the tangent of what is missing; beyond, that of the reciprocal.
    size, one = b.op("Abs", x), b.number(1.0)
    far = b.op("Greater", size, one, truth=True)
    small = b.where(far, b.op("Div", one, size), size)
    single = b.raw("Atan", [b.raw("Cast", [small.name], to=1)[0]])[0]
    near = Value(b.raw("Cast", [single], to=b.type)[0], small.shape)
    tangent = _tan(b, near)
    missing = b.op("Div", b.op("Sub", small, tangent), b.op("Add", one, b.op("Mul", small, tangent)))
    found = b.op("Add", near, missing)
    found = b.where(far, b.op("Sub", b.number(math.pi / 2), found), found)
    return b.where(b.op("Less", x, b.number(0.0), truth=True), b.op("Neg", found), b.where(b.bool(x), found, x))


def _asin(b: Builder, x: Value) -> Value:
    one = b.number(1.0)
    return _atan(b, b.op("Div", x, b.op("Sqrt", b.op("Mul", b.op("Sub", one, x), b.op("Add", one, x)))))


def _acos(b: Builder, x: Value) -> Value:
    one = b.number(1.0)
    half = _atan(b, b.op("Sqrt", b.op("Div", b.op("Sub", one, x), b.op("Add", one, x))))
    return b.op("Mul", b.number(2.0), half)


def _atan2(b: Builder, y: Value, x: Value) -> Value:
    zero, turn = b.number(0.0), b.number(math.pi)
    # Of two infinite numbers the ratio of their signs, of two zeros 0.
    both = b.op("And", _infinite(b, x), _infinite(b, y), truth=True)
    up, along = (b.where(both, b.op("Sign", v), v) for v in (y, x))
    none = b.op("And", b.op("Equal", y, zero, truth=True), b.op("Equal", x, zero, truth=True), truth=True)
    angle = b.where(none, y, _atan(b, b.op("Div", up, b.where(none, b.number(1.0), along))))
    # The sign of a zero is that of its reciprocal.
    left = b.op("Less", b.where(b.bool(x), x, b.op("Div", b.number(1.0), x)), zero, truth=True)
    below = b.op("Less", b.where(b.bool(y), y, b.op("Div", b.number(1.0), y)), zero, truth=True)
    quarter = b.op("And", b.op("Not", b.bool(x), truth=True), b.bool(y), truth=True)
    upright = b.where(below, b.number(-math.pi / 2), b.number(math.pi / 2))
    moved = b.where(left, b.where(below, b.op("Sub", angle, turn), b.op("Add", angle, turn)), angle)
    return b.where(_either(b, _nan(b, x), _nan(b, y)), b.op("Add", x, y), b.where(quarter, upright, moved))


def _cbrt(b: Builder, x: Value) -> Value:
    size = b.op("Abs", x)
    alone = _either(b, b.op("Equal", size, b.number(0.0), truth=True), _infinite(b, size))
    usual = b.where(alone, b.number(1.0), size)
    near = b.op("Pow", usual, b.number(1 / 3))
    step = b.op("Div", b.op("Sub", b.op("Div", usual, b.op("Mul", near, near)), near), b.number(3.0))
    root = b.where(alone, size, b.op("Add", near, step))
    return b.where(b.op("Less", x, b.number(0.0), truth=True), b.op("Neg", root), root)


def _sigmoid(b: Builder, x: Value) -> Value:
    one = b.number(1.0)
    # Of the negative size: nothing overflows.
    e = b.op("Exp", b.op("Neg", b.op("Abs", x)))
    large = b.op("Div", one, b.op("Add", one, e))
    return b.where(b.op("Less", x, b.number(0.0), truth=True), b.op("Mul", e, large), large)


def _softplus(b: Builder, x: Value) -> Value:
    return b.op("Add", _maximum(b, x, b.number(0.0)), _log1p(b, b.op("Exp", b.op("Neg", b.op("Abs", x)))))


def _log_of(base: float) -> Build:
    return lambda b, x: b.op("Div", b.op("Log", x), b.number(math.log(base)))


def _sign(b: Builder, x: Value) -> Value:
    return b.where(_nan(b, x), x, b.op("Sign", x))


ELEMENTWISE: dict[str, Build] = {
    "Add": _plain("Add"),
    "Sub": _plain("Sub"),
    "Neg": _plain("Neg"),
    "Mul": _plain("Mul"),
    "Div": _plain("Div"),
    "Min": _minimum,
    "Max": _maximum,
    "Pow": _plain("Pow"),
    "Modulo": _modulo,
    "Remainder": _remainder,
    "Quotient": _quotient,
    "Abs": _plain("Abs"),
    "Sin": _plain("Sin"),
    "Cos": _plain("Cos"),
    "Tan": _tan,
    "Asin": _asin,
    "Acos": _acos,
    "Atan": _atan,
    "Atan2": _atan2,
    "Sinh": _sinh,
    "Cosh": _cosh,
    "Tanh": _plain("Tanh"),
    "Exp": _plain("Exp"),
    "Log": _plain("Log"),
    "LogBase": lambda b, x, base: b.op("Div", b.op("Log", x), b.op("Log", base)),
    "Exp2": lambda b, x: b.op("Pow", b.number(2.0), x),
    "Log2": _log_of(2.0),
    "Log10": _log_of(10.0),
    "Expm1": _expm1,
    "Log1p": _log1p,
    "Sqrt": _plain("Sqrt"),
    "Cbrt": _cbrt,
    "Square": lambda b, x: b.op("Mul", x, x),
    "Floor": _plain("Floor"),
    "Ceiling": _plain("Ceil"),
    "Round": _plain("Round"),
    "Truncate": _truncate,
    "Sign": _sign,
    "Sigmoid": _sigmoid,
    "Softplus": _softplus,
    "Relu": lambda b, x: _maximum(b, x, b.number(0.0)),
    "Eq": _compared("Equal"),
    "Lt": _compared("Less"),
    "Gt": _compared("Greater"),
    "Le": _compared("LessOrEqual"),
    "Ge": _compared("GreaterOrEqual"),
}


# ---- vectors and matrices ----


def _cross(b: Builder, _: Site, u: Value, v: Value) -> Value:
    one, two = [1, 2, 0], [2, 0, 1]
    return b.op("Sub", *(b.op("Mul", b.pick(u, 0, i), b.pick(v, 0, j)) for i, j in ((one, two), (two, one))))


def _norm(b: Builder, _: Site, v: Value) -> Value:
    largest = Value(b.raw("ReduceMax", [b.op("Abs", v).name, b.axes(1)], keepdims=0)[0], ())
    odd = _either(b, b.op("Equal", largest, b.number(0.0), truth=True), _infinite(b, largest))
    scale = b.where(odd, b.number(1.0), largest)
    share = b.op("Div", v, scale)
    return b.op("Mul", b.op("Sqrt", b.summed(b.op("Mul", share, share))), scale)


def _join(b: Builder, site: Site, *parts: Value) -> Value:
    def whole(part: Value) -> str:
        flat = b.flat(part)
        return b.raw("Expand", [flat.name, b.raw("Concat", [site.batch, b.axes(*flat.shape)], axis=0)[0]])[0]

    count = sum(math.prod(p.shape) for p in parts)
    return b.reshape(Value(b.raw("Concat", [whole(p) for p in parts], axis=1)[0], (count,)), site.shape)


def _cut(b: Builder, site: Site, x: Value) -> Value:
    count = math.prod(site.shape)
    return b.reshape(b.pick(b.flat(x), 0, list(range(site.attr, site.attr + count))), site.shape)


def _place(b: Builder, site: Site, x: Value) -> Value:
    flat = b.flat(x)
    room = math.prod(site.shape) - site.attr - flat.shape[0]
    name = b.raw("Pad", [flat.name, b.axes(0, site.attr, 0, room)])[0]
    return b.reshape(Value(name, (math.prod(site.shape),)), site.shape)


def _index(b: Builder, site: Site, i: Value, size: int) -> str:
    """A checked index of every lane: what is no place of the value is one behind it, which no runtime takes."""
    whole = b.op("Equal", i, b.op("Floor", i), truth=True)
    inside = b.op(
        "And", b.op("GreaterOrEqual", i, b.number(0.0), truth=True), b.op("Less", i, b.number(float(size)), truth=True), truth=True
    )
    good = b.op("And", whole, inside, truth=True)
    shown = b.where(good, i, b.number(float(size)))
    safe = b.where(site.active, shown, b.number(0.0))
    name = b.raw("Cast", [safe.name], to=7)[0]
    return b.raw("Expand", [name, site.batch])[0]


def _cut_at(b: Builder, site: Site, x: Value, i: Value) -> Value:
    index = b.raw("Unsqueeze", [_index(b, site, i, x.shape[0]), b.axes(1)])[0]
    whole = b.raw("Expand", [x.name, b.raw("Concat", [site.batch, b.axes(*x.shape)], axis=0)[0]])[0]
    return Value(b.raw("GatherND", [whole, index], batch_dims=1)[0], x.shape[1:])


def _place_at(b: Builder, site: Site, x: Value, i: Value) -> Value:
    n = site.shape[0]
    index = Value(b.raw("Unsqueeze", [_index(b, site, i, n), b.axes(1)])[0], (1,))
    # Nothing is looked up here, so a place beyond the value must be asked for.
    nothing = b.raw("Gather", [b.constant(np.full(n, -0.0, dtype=b.dtype)), index.name], axis=0)[0]
    x = b.op("Add", x, b.reshape(Value(nothing, (1,)), ()))
    here = b.op("Equal", index, Value(b.constant(np.arange(n, dtype=np.int64)[None]), (n,)), shape=(n,), truth=True)
    if len(site.shape) == 1:
        return b.where(here, x, b.number(0.0))
    rows = Value(b.raw("Unsqueeze", [here.name, b.axes(2)])[0], (n, 1), True)
    wide = Value(b.raw("Unsqueeze", [x.name, b.axes(1)])[0], (1, *x.shape))
    return b.op("Where", rows, wide, b.aligned(b.number(0.0), site.shape), shape=site.shape)


def _spread(b: Builder, site: Site, x: Value) -> Value:
    return Value(b.raw("Expand", [b.aligned(x, site.shape).name, b.axes(1, *site.shape)])[0], site.shape)


def _product(b: Builder, site: Site, x: Value, y: Value) -> Value:
    if len(y.shape) == 2:
        return Value(b.raw("MatMul", [x.name, y.name])[0], site.shape)
    column = b.raw("Unsqueeze", [y.name, b.axes(2)])[0]
    return Value(b.raw("Squeeze", [b.raw("MatMul", [x.name, column])[0], b.axes(2)])[0], site.shape)


def _solve(b: Builder, site: Site, a: Value, y: Value) -> Value:
    n = a.shape[0]
    found, _ = eliminated(b, joined(b, a, b.reshape(y, (n, 1)) if len(y.shape) == 1 else y, site.batch), n)
    return b.reshape(found, site.shape)


def _identity(b: Builder, site: Site) -> Value:
    return Value(b.constant(np.eye(site.shape[0], dtype=b.dtype)[None]), site.shape)


def _trace(b: Builder, _: Site, a: Value) -> Value:
    return b.summed(b.op("Mul", a, Value(b.constant(np.eye(a.shape[0], dtype=b.dtype)[None]), a.shape)))


def _outer(b: Builder, site: Site, u: Value, v: Value) -> Value:
    column, row = b.raw("Unsqueeze", [u.name, b.axes(2)])[0], b.raw("Unsqueeze", [v.name, b.axes(1)])[0]
    return Value(b.raw("Mul", [column, row])[0], site.shape)


WHOLE: dict[str, Build] = {
    "Dot": lambda b, _, u, v: b.summed(b.op("Mul", u, v)),
    "Cross": _cross,
    "Norm": _norm,
    "Total": lambda b, _, x: b.summed(x),
    "Transpose": lambda b, site, a: Value(b.raw("Transpose", [a.name], perm=[0, 2, 1])[0], site.shape),
    "Trace": _trace,
    "Det": lambda b, _, a: eliminated(b, a, a.shape[0])[1],
    "Inv": lambda b, site, a: eliminated(b, joined(b, a, _identity(b, site), site.batch), a.shape[0])[0],
    "Solve": _solve,
    "Outer": _outer,
    "Join": _join,
    "Cut": _cut,
    "Place": _place,
    "CutAt": _cut_at,
    "PlaceAt": _place_at,
    "Spread": _spread,
    "Identity": _identity,
    "Product": _product,
}
OPERATIONS = frozenset({*ELEMENTWISE, *WHOLE, "Select"})
"""The operations ONNX models have; the others are refused."""


def built(b: Builder, op: str, site: Site, args: list[Any]) -> Value:
    """An operation of the table."""
    if op == "Select":
        return b.where(b.bool(args[0]), args[1], args[2])
    args = [b.float(a) for a in args]
    if op in ELEMENTWISE:
        return ELEMENTWISE[op](b, *args)
    if op not in WHOLE:
        raise OnnxError(
            f"ONNX has no operation for `{op}`, and none that would give all its digits: take it out of the program, or run it elsewhere"
        )
    return WHOLE[op](b, site, *args)
