"""erf, erfc and e^(x^2) erfc in torch. In: tensors; out: torch's own functions of them, except on the way to ONNX.

ONNX has no erfc: torch's exporter writes 1 - erf, whose tail is nothing, and e^(x^2) times it, which is no number where both are far; and
onnxruntime has no erf in double precision. There they are sums of arithmetic: the trapezoidal rule with the pole (Matta and Reichel 1971,
see `voigt`, of whose function w this is the imaginary axis), by zero the power series.
Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .leaf import leaf

Value = Any

_STEP = 7 / 16
_NODES = [(k + 0.5) * _STEP for k in range(16)]


@leaf
def scaled_complement(x: Value) -> Value:
    """e^(x^2) erfc(x)."""
    if not torch.onnx.is_in_onnx_export():
        return torch.special.erfcx(x)
    size = x.abs()
    square = size * size
    high = size >= math.pi / _STEP
    low = torch.where(high, 1.0, size)
    pole = torch.where(high, 0.0, 2 * torch.exp(low * low) / (1 + torch.exp(2 * math.pi / _STEP * low)))
    # Over the size twice: its square may overflow, and then nothing but 1/(sqrt(pi) x) is left.
    found = pole + 2 * _STEP / math.pi * sum(math.exp(-t * t) / (t * t / size + size) for t in _NODES)
    return torch.where(x < 0, 2 * torch.exp(torch.where(x < 0, square, 0.0)) - found, torch.where(x == 0, 1.0, found))


@leaf
def erfc(x: Value) -> Value:
    """1 - erf(x), with its digits where it is small."""
    if not torch.onnx.is_in_onnx_export():
        return torch.erfc(x)
    right = x > 0.5
    far = torch.where(right, x, 1.0)
    return torch.where(right, torch.exp(-far * far) * scaled_complement(far), 1 - erf(torch.where(right, 0.0, x)))


def erf_series(x: Value, terms: int = 23) -> Value:
    """The error function between -1 and 1; 13 terms do between -1/2 and 1/2."""
    square = x * x
    # Term by term within each other: the exporter takes constants below 1e-8 that are added for 0.
    series: Value = 0.0
    for k in reversed(range(terms)):
        series = 1 / (2 * k + 1) - square / (k + 1) * series
    return x * series * (2 / math.sqrt(math.pi))


@leaf
def erf(x: Value) -> Value:
    """The error function."""
    if not torch.onnx.is_in_onnx_export():
        return torch.erf(x)
    inner = x.abs() <= 1
    near, far = torch.where(inner, x, 0.0), torch.where(inner, 2.0, x.abs())
    rest = 1 - torch.exp(-far * far) * scaled_complement(far)
    return torch.where(inner, erf_series(near), torch.where(x < 0, -rest, rest))
