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

from .incomplete import NODES
from .leaf import leaf

Value = Any

_SMALL = 60.0
_SLOW = 0.7
_TERMS = 160


def _log_gamma(z: Value) -> Value:
    """By Stirling's series 15 steps on: torch's own has no derivatives of every order that forward mode takes."""
    far = z + 15
    r = 1 / (far * far)
    tail = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680)))) / far
    return (far - 0.5) * torch.log(far) - far + 0.5 * math.log(2 * math.pi) + tail - sum(torch.log(z + k) for k in range(15))


def _log_factor(a: Value, b: Value, x: Value, y: Value) -> Value:
    """log of x^a y^b/B(a, b): from 30 on as the distance from its largest value, without what cancels."""
    small = torch.minimum(a, b) < 30
    p, q = torch.where(small, a, 1.0), torch.where(small, b, 1.0)
    below = p * torch.log(x) + q * torch.log(y) + _log_gamma(p + q) - _log_gamma(p) - _log_gamma(q)
    p, q = torch.where(small, 40.0, a), torch.where(small, 40.0, b)

    def tail(z: Value) -> Value:
        r = 1 / (z * z)
        return (1 / 12 - r * (1 / 360 - r * (1 / 1260))) / z

    off = torch.where(small, 0.0, x * b - y * a)
    m, n = off / p, -off / q
    falls = p * (m - torch.log1p(m)) + q * (n - torch.log1p(n))
    above = 0.5 * torch.log(p * q / (2 * math.pi * (p + q))) - falls - tail(p) - tail(q) + tail(p + q)
    return torch.where(small, below, above)


def _series(a: Value, b: Value, x: Value) -> Value:
    term = 1 / a
    found = term
    for k in range(_TERMS):
        term = term * x * (a + b + k) / (a + 1 + k)
        found = found + term
    return found


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


def _left(a: Value, b: Value, x: Value, y: Value) -> tuple[Value, Value]:
    """Left of the mean: I or 1 - I, whichever is computed, and whether it is 1 - I."""
    quick = (x <= _SLOW) & ((a < _SMALL) | ((a + b) * x <= _SLOW * (a + 1)))
    other = ~quick & (b < _SMALL) & ((a + b) * y <= _SMALL) & (y <= _SLOW)
    rest = ~quick & ~other

    def only(where: Value, *values: tuple[Value, float]) -> list[Value]:
        return [torch.where(where, v, safe) for v, safe in values]

    first = _series(*only(quick, (a, 1.0), (b, 1.0), (x, 0.5)))
    second = _series(*only(other, (b, 1.0), (a, 1.0), (y, 0.5)))
    third = _integral(*only(rest, (a, 70.0), (b, 70.0), (x, 0.5), (y, 0.5)))
    found = torch.where(quick, first, torch.where(other, second, third))
    return torch.exp(_log_factor(a, b, x, y)) * found, other


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
    found, other = _left(torch.where(turned, t, s), torch.where(turned, s, t), torch.where(turned, q, p), torch.where(turned, p, q))
    upper = other != turned
    value = torch.where(upper, found if complement else 1 - found, 1 - found if complement else found)
    end = torch.where(low == complement, 1.0, 0.0)
    return torch.where(wrong, math.nan, torch.where(edge, end, value))


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
    value = torch.exp(_log_factor(s, t, p, 1 - p)) / (p * (1 - p))
    start = torch.where(a < 1, math.inf, torch.where(a == 1, b, 0.0))
    last = torch.where(b < 1, math.inf, torch.where(b == 1, a, 0.0))
    wrong = (a <= 0) | (b <= 0) | (x < 0) | (x > 1) | torch.isnan(a) | torch.isnan(b) | torch.isnan(x)
    return torch.where(wrong, math.nan, torch.where(inside, value, torch.where(x == 0, start, torch.where(x == 1, last, 0.0))))
