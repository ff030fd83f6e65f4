"""Bessel functions of whole order in torch. In: a whole order and tensors; out: the functions, to about 14 digits in f64.

torch's own have no derivative and no rule for `vmap`. These are sums that can be differentiated any number of times: up to 25 the
trapezoidal rule on the integrals of Bessel (whose error is the function of order 80) and of Schläfli, from there on Hankel's series.
Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .leaf import leaf

Value = Any

_FAR = 25.0
"""From here on Hankel's series have all digits."""
_ANGLES = [math.pi * (k + 0.5) / 40 for k in range(20)]
"""A quarter of 80 points of the circle; the others mirror them."""
_STEP = 0.125
_EULER = 0.5772156649015329


def _hankel(order: int, x: Value, turning: bool) -> tuple[Value, Value]:
    """The even and the odd terms of Hankel's series, each kind alternating if the function turns. By Horner's rule in 1/x: powers of x, and
    what autograd makes of them, would overflow."""
    factors = [1.0]
    for k in range(1, 27):
        factors.append(factors[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    signed = [-f if turning and k % 4 >= 2 else f for k, f in enumerate(factors)]
    r = 1 / x
    z = r * r
    even, odd = signed[26] * z + signed[24], signed[25] * z + signed[23]
    for k in range(22, -1, -2):
        even = even * z + signed[k]
    for k in range(21, 0, -2):
        odd = odd * z + signed[k]
    return even, odd * r


def _raised(order: int, x: Value, first: tuple[Value, Value], next_one: Callable[[int, Value, Value], Value]) -> Value:
    """The function of this order from those of orders 0 and 1."""
    low, high = first
    if order == 0:
        return low
    for k in range(1, order):
        low, high = high, next_one(k, low, high)
    return high


def _mirrored(order: float) -> tuple[int, int]:
    """The order without its sign, and whether the order is odd."""
    n = abs(int(order))
    return n, n % 2


@leaf
def bessel_j(order: float, x: Value) -> Value:
    """J of a whole order."""
    n, odd = _mirrored(order)
    far = x.abs() >= _FAR
    near = torch.where(far, 1.0, x)
    if odd:
        inner = sum(math.sin(n * a) * torch.sin(near * math.sin(a)) for a in _ANGLES) / 20
    else:
        inner = sum(math.cos(n * a) * torch.cos(near * math.sin(a)) for a in _ANGLES) / 20
    endless = x.abs() == math.inf
    size = torch.where(far & ~endless, x.abs(), 100.0)
    s, c = torch.sin(size), torch.cos(size)
    first = []
    for k, (p, q) in ((k, _hankel(k, size, True)) for k in (0, 1)):
        first.append((p * (s + c) - q * (s - c) if k == 0 else p * (s - c) + q * (s + c)) / torch.sqrt(math.pi * size))
    outer = _raised(n, size, (first[0], first[1]), lambda k, low, high: 2 * k / size * high - low)
    outer = torch.where(endless, 0.0, outer)
    found = torch.where(far, torch.where(x < 0, -outer, outer) if odd else outer, inner)
    return -found if odd and order < 0 else found


@leaf
def bessel_i(order: float, x: Value) -> Value:
    """I of a whole order."""
    n, odd = _mirrored(order)
    far = x.abs() >= _FAR
    near = torch.where(far, 1.0, x)
    turn = torch.sinh if odd else torch.cosh
    inner = sum(math.cos(n * a) * turn(near * math.cos(a)) for a in _ANGLES) / 20
    # Half of it twice, with the root between them divided by 80, the middle of where no part of the derivative overflows before the whole
    # does. Beyond 714.5 the function is infinite, and so is its slope.
    beyond = x.abs() > 714.5
    size = torch.where(far & ~beyond, x.abs(), 100.0)
    even, uneven = _hankel(n, size, False)
    half = torch.exp(0.5 * size) / math.sqrt(80)
    outer = half * ((even - uneven) / torch.sqrt(math.pi / 3200 * size)) * half
    outer = torch.where(beyond, torch.exp(torch.where(beyond, x.abs(), 0.0)), outer)
    return torch.where(far, torch.where(x < 0, -outer, outer) if odd else outer, inner)


def _k_series(x: Value) -> tuple[Value, Value]:
    """K of orders 0 and 1 below 2: the power series, and I(0) K(1) + I(1) K(0) = 1/x."""
    z = 0.25 * x * x
    zeroth, first, extra, harmonic, term = 1.0, 1.0, 0.0, 0.0, 1.0
    for k in range(1, 16):
        term = term * z / (k * k)
        harmonic += 1 / k
        zeroth, first, extra = zeroth + term, first + term / (k + 1), extra + harmonic * term
    low = extra - (torch.log(x) + (_EULER - math.log(2))) * zeroth
    return low, (1 / x - 0.5 * x * first * low) / zeroth


def _k_middle(x: Value) -> tuple[Value, Value]:
    """Between 2 and 25: the integral of e^(-x cosh t) cosh(n t)."""
    low: Value = 0.5
    high: Value = 0.5
    for k in range(1, 36):
        rise = math.cosh(k * _STEP)
        bell = torch.exp(-(rise - 1) * x)
        low, high = low + bell, high + rise * bell
    fall = _STEP * torch.exp(-x)
    return low * fall, high * fall


def _k_far(x: Value) -> tuple[Value, Value]:
    half = torch.exp(-0.5 * x)
    first, second = ((e + o) * torch.sqrt(0.5 * math.pi / x) * half * half for e, o in (_hankel(k, x, False) for k in (0, 1)))
    return first, second


@leaf
def bessel_k(order: float, x: Value) -> Value:
    """K of a whole order."""
    n, _ = _mirrored(order)
    pole = x == 0
    small, far = (x < 2) & ~pole, (x >= _FAR) & (x != math.inf)
    parts = (
        _k_series(torch.where(small, x, 1.0)),
        _k_middle(torch.where(small | far | pole | (x == math.inf), 4.0, x)),
        _k_far(torch.where(far, x, 100.0)),
    )
    low, high = (torch.where(small, a, torch.where(far, c, b)) for a, b, c in zip(*parts))
    size = torch.where(pole, 1.0, x)
    found = _raised(n, x, (low, high), lambda k, low, high: 2 * k / size * high + low)
    # What it is there is infinite, and so are the derivatives, by turns: as those of a logarithm or of a power. Of -0 as of 0.
    start = torch.where(pole, x + 0.0, 1.0)
    return torch.where(pole, 1 / start if n else -torch.log(start), torch.where(x == math.inf, 0.0, found))
