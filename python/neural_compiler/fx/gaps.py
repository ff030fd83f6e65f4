"""Differences that cancel, without the cancelling, in torch. In: tensors (or proxies); out: the derivatives of beta, lbeta and erfcx.

About 13 digits in f64. Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

Value = Any

_WAY = 16
_BERNOULLI = ((2, 1 / 6), (4, -1 / 30), (6, 1 / 42), (8, -1 / 30), (10, 5 / 66))
_FAR = 8.0


def _together(p: Value, q: Value, m: int) -> Value:
    """(p^m - q^m)/(p - q)."""
    return sum(p**i * q ** (m - 1 - i) for i in range(m))


def digamma_gap(a: Value, b: Value) -> Value:
    """digamma(a + b) - digamma(a): the sum of b/((a + k)(a + b + k)), then the difference of the two series after Stirling."""
    p, q = 1 / (a + _WAY), 1 / (a + b + _WAY)
    tail = 0.5 + sum(c / m * _together(p, q, m) for m, c in _BERNOULLI)
    return torch.log1p(b * p) + b * p * q * tail + sum(b / ((a + k) * (a + b + k)) for k in range(_WAY))


def trigamma_gap(a: Value, b: Value) -> Value:
    """trigamma(a) - trigamma(a + b), likewise."""
    p, q = 1 / (a + _WAY), 1 / (a + b + _WAY)
    tail = 1 + 0.5 * (p + q) + sum(c * _together(p, q, m + 1) for m, c in _BERNOULLI)
    return b * p * q * tail + sum(b / ((a + k) * (a + b + k)) * (1 / (a + k) + 1 / (a + b + k)) for k in range(_WAY))


def erfcx_of_order(order: float, x: Value) -> Value:
    """The derivative of erfcx of a whole order: far right its asymptotic series, elsewhere the recurrence."""
    n = int(order)
    far = torch.where(x > _FAR, x, _FAR)
    z = 0.5 / (far * far)
    series = torch.ones_like(z)
    for k in range(24, 0, -1):
        series = 1 - (2 * k + n) * (2 * k + n - 1) / (2 * k) * z * series
    series = series * ((-1) ** n * math.factorial(n) / math.sqrt(math.pi)) / far ** (n + 1)
    near = torch.where(x > _FAR, _FAR, x)
    here = torch.special.erfcx(near)
    below = torch.zeros_like(here)
    for k in range(n):
        below, here = here, 2 * near * here + (2 * k * below if k else -2 / math.sqrt(math.pi))
    return torch.where(x > _FAR, series, here)
