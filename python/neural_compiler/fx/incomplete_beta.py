"""The regularised incomplete beta function in torch. In: shapes a, b > 0 and places 0 <= x <= 1; out: I, 1 - I, the density, derivatives.

x^a (1-x)^b/B(a, b) times a sum that can be differentiated: where a shape is small the series of (a+b)_n/(a+1)_n x^n, elsewhere the integral
of e^(a u - (a+b) log(1 + x (e^u - 1))) up to u = 0, by the trapezoidal rule of `incomplete`. About 12 digits in f64, fewer for shapes
beyond a million.
Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .gaps import exp_less_one, log_gamma_gap, undefined
from .incomplete import MOST, NODES, log_of_ratio, lost
from .leaf import leaf

Value = Any

_SMALL = 60.0
_SLOW = 0.7
_TERMS = 160
_SHORT = 0.35
"""Places up to here have short series by powers alone."""


def _log_gamma_1p(z: Value) -> Value:
    return log_gamma_gap(torch.ones_like(z), z)


def _log_factor(a: Value, b: Value, x: Value, y: Value, log_x: Value, log_y: Value) -> Value:
    """log of x^a y^b/(a B(a, b)): from 30 on as the distance from its largest value, without what cancels."""
    small = torch.minimum(a, b) < 30
    p, q = torch.where(small, a, 1.0), torch.where(small, b, 1.0)
    first = p <= q
    less, more = torch.where(first, p, q), torch.where(first, q, p)
    shapes = log_gamma_gap(more, less) - _log_gamma_1p(less) + torch.where(first, 0.0, torch.log(q) - torch.log(p))
    below = p * torch.where(small, log_x, 0.0) + q * torch.where(small, log_y, 0.0) + shapes
    p, q = torch.where(small, 40.0, a), torch.where(small, 40.0, b)
    u, v = torch.where(small, 0.5, x), torch.where(small, 0.5, y)

    def tail(z: Value) -> Value:
        r = 1 / (z * z)
        return (1 / 12 - r * (1 / 360 - r * (1 / 1260))) / z

    off = u * q - v * p
    m, n = off / p, -off / q
    falls = p * (m - log_of_ratio(u, p / (p + q), m)) + q * (n - log_of_ratio(v, q / (p + q), n))
    above = 0.5 * torch.log(q / (2 * math.pi * p * (p + q))) - falls - tail(p) - tail(q) + tail(p + q)
    return torch.where(small, below, above)


def _series(a: Value, b: Value, x: Value) -> Value:
    term = torch.ones_like(a)
    found = term
    for k in range(_TERMS):
        term = term * x * (a + b + k) / (a + 1 + k)
        found = found + term
    return found


def _rest(a: Value, b: Value, x: Value, log_x: Value) -> Value:
    """1 - I for a small a, a <= b, b x < 2, where I is nearly 1: x^a/(a B) (1 + a sum of (1-b)_n x^n/((a + n) n!)), of the order of a."""
    found: Value = 0.0
    power: Value = 1.0
    for n in range(1, 48):
        power = power * x * (n - b) / n
        found = found + power / (a + n)
    return -exp_less_one(a * log_x + log_gamma_gap(b, a) - _log_gamma_1p(a) + torch.log1p(a * found))


def _integral(a: Value, b: Value, x: Value, y: Value) -> Value:
    # a scale of the nodes: where it is taken does not matter, so it is no part of the derivative
    width = (1 / ((y * a - x * b).clamp(min=0.0) + torch.sqrt((a + b) * x * y))).detach()
    found: Value = 0.0
    for place, weight in NODES:
        u = -width * place
        left = a * u - (a + b) * torch.log1p(x * torch.expm1(u))
        right = -(a + b) * torch.log1p(y * torch.expm1(torch.clamp(-u, max=80.0))) - b * u
        found = found + weight * torch.exp(torch.where(x < 0.5, left, right))
    return found * width


def _left(a: Value, b: Value, x: Value, y: Value, log_x: Value, log_y: Value) -> tuple[Value, Value]:
    """Left of the mean: I and 1 - I, each with its digits."""
    # next to the end on the right 1 - I is the shorter sum; where it is nearly 1, I is what is left of it
    slow = ~((x <= _SLOW) & ((a < _SMALL) | ((a + b) * x <= _SLOW * (a + 1))))
    short = slow & (b < _SMALL) & ((a + b) * y <= b + 2 * torch.sqrt(b) + 1) & (y <= _SLOW)
    small = slow & (b < 0.5) & (y <= _SHORT)
    remains = small & (a * y < 2)
    other = short & ~small
    rest = slow & ~other & ~remains
    quick = ~slow
    ended = quick & (a < 0.5) & (a <= b) & (x <= _SHORT) & (b * x < 2)

    def only(where: Value, *values: tuple[Value, float]) -> list[Value]:
        return [torch.where(where, v, safe) for v, safe in values]

    first = _series(*only(quick, (a, 1.0), (b, 1.0), (x, 0.5)))
    second = _series(*only(other, (b, 1.0), (a, 1.0), (y, 0.5)))
    third = _integral(*only(rest, (a, 70.0), (b, 70.0), (x, 0.5), (y, 0.5)))
    sums = torch.where(quick, first, torch.where(other, second * a / b, third * a))
    found = torch.exp(_log_factor(a, b, x, y, log_x, log_y)) * sums
    lower = torch.where(other, 1 - found, found)
    upper = torch.where(other, found, 1 - found)
    lower = torch.where(remains, _rest(*only(remains, (b, 0.25), (a, 1.0), (y, 0.25), (log_y, -1.0))), lower)
    upper = torch.where(remains, 1 - lower, upper)
    upper = torch.where(ended, _rest(*only(ended, (a, 0.25), (b, 1.0), (x, 0.25), (log_x, -1.0))), upper)
    # nearly 1, it is nearly constant: its derivatives are those of what is left
    return torch.where(ended & (lower > 0.5), 1 - upper, lower), upper


@leaf
def beta_p(a: Value, b: Value, x: Value, complement: bool = False) -> Value:
    """I_x(a, b), or 1 - I_x(a, b)."""
    a, b, x = torch.broadcast_tensors(a, b, x)
    low, high = (x == 0) | (a == math.inf), (x == 1) | (b == math.inf)
    edge = low | high
    s, t, p = torch.where(edge, 1.0, a), torch.where(edge, 1.0, b), torch.where(edge, 0.5, x)
    wrong = (a <= 0) | (b <= 0) | (x < 0) | (x > 1) | torch.isnan(a) | torch.isnan(b) | torch.isnan(x) | ((a == math.inf) & (b == math.inf))
    s, t, p = torch.where(wrong, 1.0, s), torch.where(wrong, 1.0, t), torch.where(wrong, 0.5, p)
    q = 1 - p
    turned = p * t > q * s
    sides = (s, t), (p, q), (torch.log(p), torch.log1p(-p))
    swapped = [v for one, two in sides for v in (torch.where(turned, two, one), torch.where(turned, one, two))]
    lower, upper = _left(*swapped)
    value = torch.where(turned != complement, upper, lower)
    end = torch.where(low == complement, 1.0, 0.0)
    # Of two such shapes even a 0 says nothing.
    wrong = wrong | ~edge & ((torch.minimum(a, b) > MOST[value.dtype]) | lost(torch.maximum(a, b), value))
    return torch.where(wrong, undefined(wrong, a, b, x), torch.where(edge, end, value))


@leaf
def beta_p_slope(orders: tuple[int, int], a: Value, b: Value, x: Value) -> Value:
    """The derivative of these orders by a and b."""
    function: Any = beta_p
    for which, order in enumerate(orders):
        for _ in range(order):
            function = _along(function, which)
    return function(a, b, x)


def _along(function: Any, which: int) -> Any:
    if which == 0:
        return lambda a, b, x: torch.func.jvp(lambda s: function(s, b, x), (a,), (torch.ones_like(a),))[1]
    return lambda a, b, x: torch.func.jvp(lambda s: function(a, s, x), (b,), (torch.ones_like(b),))[1]


@leaf
def beta_density(a: Value, b: Value, x: Value) -> Value:
    """The derivative of I by x."""
    a, b, x = torch.broadcast_tensors(a, b, x)
    inside = (x > 0) & (x < 1) & (a > 0) & (a != math.inf) & (b > 0) & (b != math.inf)
    s, t, p = torch.where(inside, a, 1.0), torch.where(inside, b, 1.0), torch.where(inside, x, 0.5)
    value = torch.exp(_log_factor(s, t, p, 1 - p, torch.log(p), torch.log1p(-p))) * s / (p * (1 - p))
    start = torch.where(a < 1, math.inf, torch.where(a == 1, b, 0.0))
    last = torch.where(b < 1, math.inf, torch.where(b == 1, a, 0.0))
    wrong = (a <= 0) | (b <= 0) | (x < 0) | (x > 1) | torch.isnan(a) | torch.isnan(b) | torch.isnan(x)
    return torch.where(
        wrong, undefined(wrong, a, b, x), torch.where(inside, value, torch.where(x == 0, start, torch.where(x == 1, last, 0.0)))
    )
