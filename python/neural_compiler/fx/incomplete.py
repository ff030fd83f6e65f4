"""The regularised incomplete gamma functions in torch. In: shapes a > 0 and places x >= 0; out: P, Q, the density, derivatives by a.

torch's own have no derivative by the shape. Here x^a e^-x/Gamma(a) times a sum that can be differentiated: below 8 (right of the shape
below 1.5) the series, elsewhere the integral of e^(a u - x (e^u - 1)) away from u = 0 on the side of a where x lies, by the trapezoidal
rule in v, |u| = width e^(v - e^-v) (Takahasi and Mori 1974). About 13 digits in f64, in both tails, fewer for shapes beyond a million, and
NaN from shapes on at which no digit would be left.
Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .gaps import exp_less_one, log_gamma_gap, undefined
from .leaf import leaf

Value = Any

_NEAR = 8.0
_LOW = 1.5
"""Below it the series, whatever the shape; from here on Q by the integral, so that it has its digits where P is nearly 1."""
_STEP = 3 / 32
MOST = {torch.float32: 1e7, torch.float64: 1e15}
"""Shapes beyond which the exponents, products of the shape, have no digits behind the point: between 0 and 1 nothing is known there."""
NODES = [
    (place, place * (1 + math.exp(-v)) * _STEP) for v in (_STEP * k for k in range(-42, 46)) for place in (math.exp(v - math.exp(-v)),)
]


def _log_factor(a: Value, x: Value) -> Value:
    """log of x^a e^-x/Gamma(a + 1): by Stirling's series at 30 or more, without what cancels."""
    small = a < 30
    far = torch.where(small, 40.0, a)
    z = 1 / (far * far)
    tail = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680)))) / far
    place = torch.where(small, 40.0, x)
    m = (place - far) / far
    above = -0.5 * torch.log(2 * math.pi * far) - far * (m - log_of_ratio(place, far, m)) - tail
    low, place = torch.where(small, a, 1.0), torch.where(small, x, 1.0)
    return torch.where(small, low * torch.log(place) - place - log_gamma_gap(torch.ones_like(low), low), above)


def _behind_power(here: Value, a: Value, x: Value) -> Value:
    """e^-x/Gamma(a + 1) for small shapes and places. The power x^a in front is written as one: by logarithms, terms of the size of 1/x^2
    would cancel in the second derivative of whole shapes, and 0 has none."""
    low, place = torch.where(here, a, 1.0), torch.where(here, x, 1.0)
    return torch.exp(-place - log_gamma_gap(torch.ones_like(low), low))


def lost(shape: Value, value: Value) -> Value:
    """Whether the shape leaves no digit of a probability; what has become 0 or 1 is known."""
    return (shape > MOST[value.dtype]) & (value != 0) & (value != 1)


def log_of_ratio(x: Value, y: Value, m: Value) -> Value:
    """log of x/y, m = x/y - 1: by m where they are near each other, by x itself where m has lost it."""
    apart = m < -0.5
    far = torch.log(torch.where(apart, x, 1.0)) - torch.log(torch.where(apart, y, 1.0))
    return torch.where(apart, far, torch.log1p(torch.where(apart, 0.0, m)))


def _series(a: Value, x: Value) -> Value:
    term = torch.ones_like(a)
    found = term
    for k in range(1, 60):
        term = term * x / (a + k)
        found = found + term
    return found


def _rest(a: Value, x: Value) -> Value:
    """1 - P for small shapes and places, of the order of a: P is x^a/Gamma(a + 1) (1 + a sum of (-x)^k/((a + k) k!))."""
    found: Value = 0.0
    power: Value = 1.0
    for k in range(1, 24):
        power = power * -x / k
        found = found + power / (a + k)
    return -exp_less_one(a * torch.log(x) - log_gamma_gap(torch.ones_like(a), a) + torch.log1p(a * found))


def _integral(a: Value, x: Value, upper: Value) -> Value:
    sign = torch.where(upper, 1.0, -1.0)
    # a scale of the nodes: where it is taken does not matter, so it is no part of the derivative
    width = (1 / ((x - a).abs() + torch.sqrt(torch.maximum(x, a)))).detach()
    found: Value = 0.0
    for place, weight in NODES:
        u = sign * width * place
        found = found + weight * torch.exp(a * u - x * torch.expm1(torch.clamp(u, max=80.0)))
    return found * width


def _inside(a: Value, x: Value, complement: bool) -> Value:
    """P or Q."""
    near = (x < _LOW) | ((x < _NEAR) & (x <= a))
    upper = ~near & (x > a)
    first = _series(torch.where(near, a, 1.0), torch.where(near, x, 1.0))
    other = _integral(torch.where(near, 20.0, a), torch.where(near, 20.0, x), upper) * a
    power = near & (a < 30)
    factor = torch.where(
        power,
        torch.pow(torch.where(power, x, 1.0), torch.where(power, a, 1.0)) * _behind_power(power, a, x),
        torch.exp(_log_factor(torch.where(power, 40.0, a), torch.where(power, 40.0, x))),
    )
    found = factor * torch.where(near, first, other)
    tiny = (x < _LOW) & (a < 0.5) & (x > 0)
    rest = _rest(torch.where(tiny, a, 0.25), torch.where(tiny, x, 1.0))
    if complement:
        return torch.where(tiny, rest, torch.where(upper, found, 1 - found))
    # nearly 1, it is nearly constant: its derivatives are those of what is left
    return torch.where(upper, 1 - found, torch.where(tiny & (found > 0.5), 1 - rest, found))


@leaf
def gamma_p(a: Value, x: Value, complement: bool = False) -> Value:
    """P(a, x), or Q(a, x)."""
    a, x = torch.broadcast_tensors(a, x)
    edge = ((x == 0) & (a >= 30)) | (x == math.inf) | (a == math.inf) | ~(a > 0) | ~(x >= 0)
    value = _inside(torch.where(edge, 1.0, a), torch.where(edge, 1.0, x), complement)
    end = torch.where((x == math.inf) != complement, 1.0, 0.0)
    wrong = ~(a > 0) | ~(x >= 0) | ((a == math.inf) & (x == math.inf))
    # Of a shape of 0 all lies at 0; what becomes of that with the shape, nothing here says.
    none = (a == 0) & (x > 0)
    wrong = wrong & ~none | ~edge & lost(a, value)
    root = torch.sqrt(torch.where(none, a + 0.0, 1.0))
    value = torch.where(none, (0.0 if complement else 1.0) + (root - root), torch.where(edge, end, value))
    return torch.where(wrong, undefined(wrong, a, x), value)


@leaf
def gamma_p_slope(order: int, a: Value, x: Value) -> Value:
    """The derivative of that order of P by a."""
    function = gamma_p
    for _ in range(order):
        function = _along(function)
    return function(a, x)


def _along(function: Any) -> Any:
    return lambda a, x: torch.func.jvp(lambda s: function(s, x), (a,), (torch.ones_like(a),))[1]


@leaf
def gamma_density(a: Value, x: Value) -> Value:
    """The derivative of P by x."""
    a, x = torch.broadcast_tensors(a, x)
    power = (x >= 0) & (x < _NEAR) & (a >= 0.5) & (a < 30)
    inside = (x > 0) & (x != math.inf) & (a > 0) & (a != math.inf) & ~power
    place = torch.where(inside, x, 1.0)
    shape = torch.where(inside, a, 1.0)
    value = torch.exp(_log_factor(shape, place)) * shape / place
    by_power = torch.pow(torch.where(power, x, 1.0), torch.where(power, a, 1.0) - 1) * torch.where(power, a, 1.0)
    by_power = by_power * _behind_power(power, a, x)
    start = torch.where(a < 1, math.inf, torch.where(a == 1, 1.0, 0.0))
    wrong = ~(a > 0) | ~(x >= 0)
    return torch.where(
        wrong, undefined(wrong, a, x), torch.where(power, by_power, torch.where(inside, value, torch.where(x == 0, start, 0.0)))
    )
