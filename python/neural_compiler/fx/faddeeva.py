"""The Faddeeva function w(z) = e^(-z^2) erfc(-i z) in torch, above the real axis, and the Voigt profile. In: x and y of z = x + i y; out: a
part of w or of one of its first two derivatives, in f64 to about 14 digits of that part, by the real axis too.

The trapezoidal rule on (i/pi) integral of e^(-t^2)/(z - t), its error at the pole being known (Matta and Reichel 1971; of the two sets of
nodes the one further from the pole): a sum of one sign, where polynomials for both parts lose the smaller one. Beyond |z| = 10 the
asymptotic series, and e^(-x^2) by the axis. Real numbers in pairs, so that every transform of torch goes through.
Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .leaf import leaf

Value = Any
Pair = tuple[Any, Any]

_STEP = 7 / 16
"""Between nodes: what the rule leaves out is e^-51."""
_NODES = 15
_TERMS = 18
_FAR = 10.0
_AXIS = 1e-3
"""Beyond _FAR, heights from here on have nothing of the bell, which is below e^-99."""
ROOT_OF_PI = 1.772453850905516
"""Rounded once; `math.sqrt(math.pi)` is the number below it."""
_INV_SQRT_PI = 0.5641895835477563


def _times(p: Pair, q: Pair) -> Pair:
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


def _one_of(test: Value, yes: float, no: float, like: Value) -> Value:
    """One of two numbers, in the type of a tensor: `torch.where` alone would make single ones of them."""
    return torch.where(test, torch.full_like(like, yes), no)


def _near(x: Value, y: Value) -> Pair:
    place = x.detach() / _STEP
    whole = (place - torch.floor(place) - 0.5).abs() <= 0.25
    re: Value = 0.0
    im: Value = 0.0
    for k in range(-_NODES, _NODES + 1):
        t, between = k * _STEP, (k + 0.5) * _STEP
        away = x - _one_of(whole, t, between, place)
        part = _one_of(whole, math.exp(-t * t), math.exp(-between * between), place) / (away * away + y * y)
        re, im = re + part, im + part * away
    scale = _STEP / math.pi
    # 2 e^(-z^2) u/(u -+ 1), u = e^(2 pi i z/STEP): nothing high above the axis, where the bell would overflow.
    low = y < math.pi / _STEP
    h = torch.where(low, y, 1.0)
    rate = 2 * math.pi / _STEP
    # The angle of whole steps is nothing: what is left of x keeps its digits.
    turn, fall = rate * (x - _STEP * torch.round(place)), torch.exp(-rate * h)
    u = fall * torch.cos(turn), fall * torch.sin(turn)
    bottom = u[0] - _one_of(whole, 1.0, -1.0, place), u[1]
    size = bottom[0] * bottom[0] + bottom[1] * bottom[1]
    bell = torch.exp((h - x) * (h + x))
    angle = -2 * x * h
    pole = _times(_times((bell * torch.cos(angle), bell * torch.sin(angle)), u), (bottom[0] / size, -bottom[1] / size))
    return (
        re * y * scale + torch.where(low, 2 * pole[0], 0.0),
        im * scale + torch.where(low, 2 * pole[1], 0.0),
    )


def _series(x: Value, y: Value, width: Value) -> Pair:
    """i/sqrt(pi) times the sum of (2k-1)!! width^(2k)/(2^k z^(2k+1)): w of z/width, over width."""
    size = torch.hypot(x, y)
    inverse = x / size / size, -(y / size / size)
    u = width * inverse[0], width * inverse[1]
    square = _times(u, u)
    found: Pair = (1.0, 0.0)
    for k in range(_TERMS, 0, -1):
        re, im = _times(square, found)
        found = 1 + (k - 0.5) * re, (k - 0.5) * im
    re, im = _times(inverse, found)
    return -im * _INV_SQRT_PI, re * _INV_SQRT_PI


def _axis_bell(x: Value, y: Value) -> Value:
    """e^(-x^2) next to the axis, x of 30 or less; further out it is nothing, whatever the height."""
    by = (y < _AXIS) & (x.abs() < 30)
    place, height = torch.where(by, x, 1.0), torch.where(by, y, 0.0)
    return torch.where(by, torch.exp((height - place) * (height + place)) * torch.cos(2 * place * height), 0.0)


def _w(x: Value, y: Value) -> Pair:
    far = (x.abs() > _FAR) | (y > _FAR) | (torch.hypot(x, y) > _FAR)
    near = _near(torch.where(far, 1.0, x), torch.where(far, 1.0, y))
    place, height = torch.where(far, x, 100.0), torch.where(far, y, 100.0)
    series = _series(place, height, torch.ones_like(place))
    return torch.where(far, series[0] + _axis_bell(place, height), near[0]), torch.where(far, series[1], near[1])


def _along(function: Any, x: Value, y: Value) -> Value:
    return torch.func.jvp(lambda s: function(s, y), (x,), (torch.ones_like(x),))[1]


@leaf
def faddeeva(order: int, imaginary: bool, x: Value, y: Value) -> Value:
    """A part of the derivative of this order; NaN below the axis."""
    x, y = torch.broadcast_tensors(x, y)
    beyond = torch.isinf(torch.hypot(x, y))
    wrong = (y < 0) | torch.isnan(x) | torch.isnan(y)
    place, height = torch.where(beyond | wrong, 1.0, x), torch.where(beyond | wrong, 1.0, y)

    def function(a: Value, b: Value) -> Value:
        return _w(a, b)[1 if imaginary else 0]

    for _ in range(order):
        function = _lowered(function)
    value = torch.where(beyond, 0.0, function(place, height))
    return torch.where(wrong, math.nan, value)


def _lowered(function: Any) -> Any:
    return lambda a, b: _along(function, a, b)


@leaf
def voigt(x: Value, width: Value, gamma: Value) -> Value:
    """Re w((x + i gamma)/width)/(width sqrt(pi)), width >= 0: by the quotient, except where its derivatives by the width would be small
    differences of large numbers. There the series goes by powers of the square of the width, and nothing cancels."""
    x, width, gamma = torch.broadcast_tensors(x, width, gamma)
    size = torch.hypot(x, gamma)
    far = (size > _FAR * width) & ~torch.isinf(size) & (width > 0) & (gamma >= 0)
    w = torch.where(far, 1.0, width)
    near = faddeeva(0, False, torch.where(far, 0.0, x) / w, torch.where(far, 1.0, gamma) / w) / (w * ROOT_OF_PI)
    place, height, w = torch.where(far, x, 100.0), torch.where(far, gamma, 100.0), torch.where(far, width, 1.0)
    ratio = torch.where((place / w).abs() < 30, place, 20.0 * w) / w
    bell = torch.where((place / w).abs() < 30, _axis_bell(ratio, torch.where(height / w < _AXIS, height, w) / w), 0.0)
    return torch.where(far, (_series(place, height, w)[0] + bell / w) * _INV_SQRT_PI, near)
