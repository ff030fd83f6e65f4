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

_STIRLING = 30.0
"""From here on the series after Stirling has all digits."""
_SMALL = 60.0
_SLOW = 0.7
_TERMS = 160
_SHORT = 0.35
"""Places up to here have short series by powers alone."""


def _log_gamma_1p(z: Value) -> Value:
    return log_gamma_gap(torch.ones_like(z), z)


def _shapes(a: Value, b: Value) -> Value:
    """log of 1/(a B(a, b))."""
    first = a <= b
    less, more = torch.where(first, a, b), torch.where(first, b, a)
    return log_gamma_gap(more, less) - _log_gamma_1p(less) + torch.where(first, 0.0, torch.log(b) - torch.log(a))


def _distance(a: Value, b: Value, x: Value, y: Value) -> Value:
    """log of x^a y^b/(a B(a, b)) for large shapes, as the distance from its largest value, without what cancels."""

    def tail(z: Value) -> Value:
        r = 1 / (z * z)
        return (1 / 12 - r * (1 / 360 - r * (1 / 1260))) / z

    off = x * b - y * a
    m, n = off / a, -off / b
    falls = a * (m - log_of_ratio(x, a / (a + b), m)) + b * (n - log_of_ratio(y, b / (a + b), n))
    return 0.5 * torch.log(b / (2 * math.pi * a * (a + b))) - falls - tail(a) - tail(b) + tail(a + b)


def _only(here: Value, *values: tuple[Value, float]) -> list[Value]:
    return [torch.where(here, v, safe) for v, safe in values]


def _factor(a: Value, b: Value, x: Value, y: Value, log_x: Value, log_y: Value, *, less: float = 0.0) -> Value:
    """x^a y^b/(a B(a, b)) left of the mean; with `less` of 1, that over x y. The power of x is written as one where its exponent is
    small: by logarithms, terms of the size of 1/x^2 would cancel in the second derivative of whole shapes, and 0 has none."""
    power, large = a < _STIRLING, (a >= _STIRLING) & (b >= _STIRLING)
    shapes = _shapes(*_only(~large, (a, 1.0), (b, 1.0)))
    p, q, u, v = _only(power, (a, 1.0), (b, 1.0), (x, 0.5), (log_y, -1.0))
    # a scale of x, at whose mean the power is 1, so that it is nothing only where all is: no part of the derivative
    scale = torch.where(q > 4, (p + q) / torch.clamp(p, min=1.0), 1.0).detach()
    rest = (q - less) * v + torch.where(power, shapes, 0.0) - (p - less) * torch.log(scale)
    by_power = torch.pow(scale * u, p - less) * torch.exp(rest)
    p, q, u, v = _only(~power, (a, 40.0), (b, 1.0), (log_x, -1.0), (log_y, -1.0))
    by_logs = p * u + q * v + torch.where(power, 0.0, shapes)
    by_distance = _distance(*_only(large, (a, 40.0), (b, 40.0), (x, 0.5), (y, 0.5)))
    by_logs = torch.exp(torch.where(large, by_distance, by_logs))
    return torch.where(power, by_power, by_logs / torch.where(power, 1.0, x * y) if less else by_logs)


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
    first = _series(*_only(quick, (a, 1.0), (b, 1.0), (x, 0.5)))
    second = _series(*_only(other, (b, 1.0), (a, 1.0), (y, 0.5)))
    third = _integral(*_only(rest, (a, 70.0), (b, 70.0), (x, 0.5), (y, 0.5)))
    sums = torch.where(quick, first, torch.where(other, second * a / b, third * a))
    found = _factor(a, b, x, y, log_x, log_y) * sums
    lower = torch.where(other, 1 - found, found)
    upper = torch.where(other, found, 1 - found)
    lower = torch.where(remains, _rest(*_only(remains, (b, 0.25), (a, 1.0), (y, 0.25), (log_y, -1.0))), lower)
    upper = torch.where(remains, 1 - lower, upper)
    # nearly 1, it is nearly constant: its derivatives are those of what is left
    ended = quick & (a < 0.5) & (a <= b) & (x <= _SHORT) & (b * x < 2) & (found > 0.5)
    upper = torch.where(ended, _rest(*_only(ended, (a, 0.25), (b, 1.0), (x, 0.25), (log_x, -1.0))), upper)
    return torch.where(ended, 1 - upper, lower), upper


def _ends(a: Value, b: Value, x: Value) -> tuple[Value, Value]:
    """Where I is 0, and else where it is 1, with derivatives that are all 0; next to the other ends it falls with a power."""
    low = (a == math.inf) | ((x == 0) & ((a >= _STIRLING) | (b == math.inf)))
    return low, ~low & ((b == math.inf) | ((x == 1) & (b >= _STIRLING)))


def _sides(a: Value, b: Value, x: Value) -> tuple[Value, list[Value]]:
    """Whether x is right of the mean, and the shapes, the place and its logarithms, so turned that it is left of it."""
    y = 1 - x
    turned = x * b > y * a
    # 0 has no logarithm, and nothing takes the one of it that is put there
    logs = torch.log(torch.where(x == 0, 1.0, x)), torch.log1p(-torch.where(x == 1, 0.0, x))
    sides = (a, b), (x, y), logs
    return turned, [v for one, two in sides for v in (torch.where(turned, two, one), torch.where(turned, one, two))]


@leaf
def beta_p(a: Value, b: Value, x: Value, complement: bool = False) -> Value:
    """I_x(a, b), or 1 - I_x(a, b)."""
    a, b, x = torch.broadcast_tensors(a, b, x)
    low, high = _ends(a, b, x)
    edge = low | high
    wrong = (a <= 0) | (b <= 0) | (x < 0) | (x > 1) | torch.isnan(a) | torch.isnan(b) | torch.isnan(x) | ((a == math.inf) & (b == math.inf))
    turned, sides = _sides(*_only(~(edge | wrong), (a, 1.0), (b, 1.0), (x, 0.5)))
    lower, upper = _left(*sides)
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
    low, high = _ends(a, b, x)
    wrong = (a <= 0) | (b <= 0) | (x < 0) | (x > 1) | torch.isnan(a) | torch.isnan(b) | torch.isnan(x)
    outside = wrong | low | high
    _, sides = _sides(*_only(~outside, (a, 1.0), (b, 1.0), (x, 0.5)))
    value = _factor(*sides, less=1.0) * sides[0]
    # Where a shape is infinite.
    start = torch.where(a < 1, math.inf, torch.where(a == 1, b, 0.0))
    last = torch.where(b < 1, math.inf, torch.where(b == 1, a, 0.0))
    end = torch.where(x == 0, start, torch.where(x == 1, last, 0.0))
    return torch.where(wrong, undefined(wrong, a, b, x), torch.where(outside, end, value))
