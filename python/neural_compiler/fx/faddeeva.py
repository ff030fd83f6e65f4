"""The Faddeeva function w(z) = e^(-z^2) erfc(-i z) in torch, above the real axis. In: x and y of z = x + i y; out: a part of w or of one
of its first two derivatives, in f64 within about 1e-15 absolute.

J. A. C. Weideman, "Computation of the Complex Error Function", SIAM J. Numer. Anal. 31 (1994): a polynomial in (L + i z)/(L - i z). Real
numbers in pairs, so that every transform of torch goes through.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .leaf import leaf

Value = Any
Pair = tuple[Any, Any]

_TERMS = 48
_L = math.sqrt(_TERMS / math.sqrt(2))
_INV_SQRT_PI = 1 / math.sqrt(math.pi)


def _coefficients() -> list[float]:
    """Those of the polynomial, highest first: Fourier coefficients of e^(-t^2) (L^2 + t^2), t = L tan(angle/2)."""
    points = 4 * _TERMS
    angles = [k * math.pi / points for k in range(1, points)]
    heights = [math.exp(-t * t) * (_L * _L + t * t) for t in (_L * math.tan(0.5 * a) for a in angles)]
    made = []
    for n in range(_TERMS, 0, -1):
        made.append((_L * _L + 2 * math.fsum(h * math.cos(n * a) for h, a in zip(heights, angles))) / (2 * points))
    return made


_COEFFICIENTS = _coefficients()
"""Made once, outside of what torch.compile sees."""


def _times(p: Pair, q: Pair) -> Pair:
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


def _w(x: Value, y: Value) -> Pair:
    # 1/(L - i z), L - i z = L + y - i x
    above = _L + y
    size = above * above + x * x
    inverse = above / size, x / size
    z = _times((_L - y, x), inverse)
    p: Pair = (0.0, 0.0)
    for c in _COEFFICIENTS:
        re, im = _times(p, z)
        p = (re + c, im)
    whole = _times((2 * p[0], 2 * p[1]), inverse)
    return _times((whole[0] + _INV_SQRT_PI, whole[1]), inverse)


@leaf
def faddeeva(order: int, imaginary: bool, x: Value, y: Value) -> Value:
    """A part of the derivative of this order; NaN below the axis."""
    beyond = (x.abs() > 1e100) | (y > 1e100)
    near = torch.where(beyond, 1.0, x), torch.where(beyond | (y < 0), 1.0, y)
    found = _w(*near)
    if order > 0:
        re, im = _times(near, found)
        first = (-2 * re, 2 * _INV_SQRT_PI - 2 * im)
        if order == 2:
            re, im = _times(near, first)
            first = (-2 * (found[0] + re), -2 * (found[1] + im))
        found = first
    value = torch.where(beyond, 0.0, found[1 if imaginary else 0])
    return torch.where((y < 0) | torch.isnan(x) | torch.isnan(y), math.nan, value)
