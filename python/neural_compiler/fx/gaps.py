"""Differences that cancel, without the cancelling, in torch. In: tensors (or proxies); out: lbeta, the derivatives of it,
of beta and of erfcx.

About 13 digits in f64. Invariants: each side of a choice is finite where the other is taken, so are its derivatives; nothing is divided by
a product that leaves the numbers where the quotient does not.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .error_functions import scaled_complement

Value = Any

_WAY = 16
_BERNOULLI = ((2, 1 / 6), (4, -1 / 30), (6, 1 / 42), (8, -1 / 30), (10, 5 / 66))
_FAR = 8.0
_HUGE = 2.0**30
"""From here on Stirling's terms are taken as multiples of the argument: the product of it with a second derivative has digits then."""


def undefined(here: Value, *arguments: Value) -> Value:
    """NaN there, and so is every derivative by these: what has no value has no slope either, not 0. Elsewhere 1, of slope 0."""
    place: Value = sum(torch.where(here, a, 0.0) for a in arguments)
    return torch.exp(place) * torch.where(here, math.nan, 1.0).to(place.dtype)


def _together(p: Value, q: Value, m: int) -> Value:
    """(p^m - q^m)/(p - q)."""
    return sum(p**i * q ** (m - 1 - i) for i in range(m))


def digamma_gap(a: Value, b: Value) -> Value:
    """digamma(a + b) - digamma(a): the sum of b/((a + k)(a + b + k)), then the difference of the two series after Stirling."""
    p, q = 1 / (a + _WAY), 1 / (a + b + _WAY)
    tail = 0.5 + sum(c / m * _together(p, q, m) for m, c in _BERNOULLI)
    return torch.log1p(b / (a + _WAY)) + b * p * q * tail + sum(b / (a + k) / (a + b + k) for k in range(_WAY))


def log_gamma_gap(a: Value, b: Value) -> Value:
    """lgamma(a + b) - lgamma(a), a > 0 and b >= 0: of the order of b where b is small, with all its digits, and so by a and b."""
    far = a + _WAY
    p, q = 1 / far, 1 / (far + b)
    tail = sum(c / (m * (m - 1)) * _together(p, q, m - 1) for m, c in _BERNOULLI)
    steps = sum(torch.log1p(b / (a + k)) for k in range(_WAY))
    scale = torch.where(a > _HUGE, a, 1.0).detach()
    share = far / scale
    first = scale * ((share - 0.5 / scale) * torch.log1p(b / scale / share))
    return first + b * (torch.log(far + b) - 1) - b * p * q * tail - steps


def log_beta(a: Value, b: Value) -> Value:
    """log of beta: lgamma of the smaller one, less the gap between the larger one and the sum, of which nothing cancels."""
    inside = (a >= 0) & (b >= 0) & (a + b > 0) & ~torch.isinf(a) & ~torch.isinf(b)
    p, q = torch.where(inside, a, 1.0), torch.where(inside, b, 1.0)
    # Not `minimum`: where both are equal it has half a derivative for each, and second derivatives would be none of either.
    below = p < q
    small, large = torch.where(below, p, q), torch.where(below, q, p)
    # The second derivative of torch's own lgamma has ten digits.
    found = log_gamma_gap(torch.ones_like(small), small) - torch.log(small) - log_gamma_gap(large, small)
    # Of two zeros it is infinite; of an infinite shape it is minus infinity. How steep, nothing says.
    none, endless = (a == 0) & (b == 0), (a > 0) & (b > 0) & ~inside
    wrong = ~(inside | endless)
    other = torch.where(torch.isinf(a), b, a)
    root = torch.sqrt(torch.where(endless & ~torch.isinf(other), other - other.detach(), 1.0))
    edge = torch.where(none, math.inf, torch.where(endless, (root - root) - math.inf, undefined(wrong, a, b)))
    return torch.where(inside, found, edge)


def trigamma_gap(a: Value, b: Value) -> Value:
    """trigamma(a) - trigamma(a + b), likewise."""
    p, q = 1 / (a + _WAY), 1 / (a + b + _WAY)
    tail = 1 + 0.5 * (p + q) + sum(c * _together(p, q, m + 1) for m, c in _BERNOULLI)
    return b * p * q * tail + sum(b / (a + k) / (a + b + k) * (1 / (a + k) + 1 / (a + b + k)) for k in range(_WAY))


def exp_less_one(x: Value) -> Value:
    """e^x - 1. The derivative of torch's own is the value plus 1, which is nothing far left."""
    low = x < -1
    return torch.where(low, torch.exp(torch.where(low, x, -1.0)) - 1, torch.expm1(torch.where(low, -1.0, x)))


def erfcx(x: Value) -> Value:
    """torch's own has a derivative that cancels far right."""
    return erfcx_of_order(0, x)


def erfcx_of_order(order: float, x: Value) -> Value:
    """The derivative of erfcx of a whole order: far right its asymptotic series, elsewhere the recurrence."""
    n = int(order)
    far = torch.where(x > _FAR, x, _FAR)
    # Powers of the reciprocal: those of infinity have infinite slopes, which autograd multiplies by 0.
    inverse = 1 / far
    z = 0.5 * inverse * inverse
    series = torch.ones_like(z)
    for k in range(24, 0, -1):
        series = 1 - (2 * k + n) * (2 * k + n - 1) / (2 * k) * z * series
    series = series * ((-1) ** n * math.factorial(n) / math.sqrt(math.pi)) * inverse ** (n + 1)
    near = torch.where(x > _FAR, _FAR, x)
    here = scaled_complement(near)
    below = torch.zeros_like(here)
    for k in range(n):
        below, here = here, 2 * near * here + (2 * k * below if k else -2 / math.sqrt(math.pi))
    return torch.where(x > _FAR, series, here)
