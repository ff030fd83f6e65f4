"""Functions that ONNX, its exporter or onnxruntime lacks, or has too few digits of, made of those it has. In: tensors; out: tensors.

torch writes log1p as log(1 + x), expm1 as e^x - 1, the remainder as x - floor(x/y) y, log2 and log10 as quotients by numbers of single
precision, and has no hypot, no lgamma and no quantile. onnxruntime has no tan, inverse tangent (sine, cosine), sinh, cosh and softplus of
doubles; its sigmoid is 0 where it is small. Called within `ForOnnx` only, which replaces what is called here, too.
"""

from __future__ import annotations

import math

import torch

from .error_functions import erf_series, scaled_complement
from .gaps import log_gamma_gap


def log1p(x: torch.Tensor) -> torch.Tensor:
    """W. Kahan's: what 1 + x is off by, log is off by as much."""
    above = 1 + x
    lost = (above == 1) | torch.isinf(above) | (above <= 0)
    usual = torch.where(lost, 2.0, above)
    found = torch.log(usual) * (torch.where(lost, 1.0, x) / (usual - 1))
    return torch.where(above == 1, x, torch.where(lost, torch.log(above), found))


def expm1(x: torch.Tensor) -> torch.Tensor:
    """W. Kahan's, of e^x - 1 and the logarithm of the rounded e^x; far from 0 the difference itself."""
    near = x.abs() < 1
    place = torch.where(near, x, 0.5)
    grown = torch.exp(place)
    same = grown == 1
    usual = torch.where(same, 2.0, grown)
    inner = torch.where(same, place, (usual - 1) * (place / torch.log(usual)))
    return torch.where(near, inner, torch.exp(x) - 1)


def hypot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    p, q = x.abs(), y.abs()
    large, small = torch.maximum(p, q), torch.minimum(p, q)
    alone = (large == 0) | torch.isinf(large)
    ratio = small / torch.where(alone, 1.0, large)
    return torch.where(alone, large, large * torch.sqrt(1 + ratio * ratio))


def tan(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) / torch.cos(x)


_FAR = 40.0
"""From here on Stirling's series has all digits."""
_HALF_LOG_TAU = 0.9189385332046728


def lgamma(x: torch.Tensor) -> torch.Tensor:
    """By its way from 1 or 2, where it is 0, so that it has its digits next to them; far out Stirling's series; left of 1/2 mirrored. About
    14 digits, next to the zeros left of 0 as many behind the point."""
    below, endless = x < 0.5, torch.isinf(x)
    usual = torch.where(endless, 3.0, torch.where(below, 1 - x, x))
    far = usual > _FAR
    near = torch.where(far, 3.0, usual)
    start = torch.where(near < 1.5, torch.ones_like(near), 2.0)
    large = torch.where(far, usual, 2 * _FAR)
    z = 1 / (large * large)
    tail = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680)))) / large
    found = torch.where(far, (large - 0.5) * torch.log(large) - large + _HALF_LOG_TAU + tail, log_gamma_gap(start, near - start))
    turn = torch.where(below, x - torch.round(x), 0.25)
    mirrored = math.log(math.pi) - torch.log(torch.abs(torch.sin(math.pi * turn))) - found
    return torch.where(endless, math.inf, torch.where(below, mirrored, found))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def polygamma(order: int, x: torch.Tensor) -> torch.Tensor:
    """Of order 2 and more: sixteen steps, and the series after Stirling; left of 1/2 mirrored."""
    below = x < 0.5
    usual = torch.where(below, 1 - x, x)
    r = 1 / (usual + 16)
    square = r * r
    series = torch.zeros_like(r)
    for k, b in reversed(tuple(enumerate(_BERNOULLI, 1))):
        series = (b * math.comb(2 * k + order - 1, order - 1) / order + series) * square
    found = r**order * (1 / order + 0.5 * r + series) + sum((1 / (usual + k)) ** (order + 1) for k in range(16))
    found = (-1.0) ** (order + 1) * math.factorial(order) * found
    # The derivatives of the cotangent are polynomials of it, every other coefficient of which is 0.
    turn = torch.where(below, x - torch.round(x), 0.25)
    polynomial = [0, 1]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(polynomial)][1:]
        polynomial = [-p - q for p, q in zip([*slope, 0, 0], [0, 0, *slope])]
    highest, *others = [float(c) for c in reversed(polynomial) if c]
    cotangent = 1 / torch.tan(math.pi * turn)
    mirror = torch.full_like(x, highest)
    for c in others:
        mirror = mirror * cotangent * cotangent + c
    if order % 2 == 0:
        # The poles have no sign.
        mirror = torch.where(turn == 0, torch.full_like(x, math.nan), mirror * cotangent)
    return torch.where(below, (-1.0) ** order * found - math.pi ** (order + 1) * mirror, found)


def log2(x: torch.Tensor) -> torch.Tensor:
    """The nearest whole number, and the logarithm of what is left: powers of 2 have whole ones."""
    return _log_of_base(x, 2.0, math.log(2.0))


def log10(x: torch.Tensor) -> torch.Tensor:
    """Likewise."""
    return _log_of_base(x, 10.0, math.log(10.0))


def _log_of_base(x: torch.Tensor, base: float, log_of_base: float) -> torch.Tensor:
    plain = torch.log(x)
    alone = torch.isinf(plain) | torch.isnan(plain)
    usual = torch.where(alone, 1.0, x)
    whole = torch.round(torch.where(alone, 0.0, plain) / log_of_base)
    # In two steps: the power itself may be out of range, where the number is next to the end of it.
    half = torch.trunc(whole * 0.5)
    number = torch.full_like(x, base)
    left = usual / number**half / number ** (whole - half)
    return torch.where(alone, plain, whole + torch.log(left) / log_of_base)


def sinh(x: torch.Tensor) -> torch.Tensor:
    """Up to where e^x overflows: beyond, `operations` has another way."""
    grown = torch.expm1(x.abs())
    return _odd(x, 0.5 * (grown + grown / (grown + 1)))


def cosh(x: torch.Tensor) -> torch.Tensor:
    """Likewise."""
    return 0.5 * (torch.exp(x) + torch.exp(-x))


def _odd(x: torch.Tensor, of_size: torch.Tensor) -> torch.Tensor:
    """The function of the size with the sign of x. Zeros keep theirs as the second of a choice: of the first onnxruntime loses it."""
    return torch.where((x > 0) | (1 / x > 0), of_size, -of_size)


def atan(x: torch.Tensor) -> torch.Tensor:
    """Up to 1 that of single precision, corrected by the tangent of what is missing; beyond, that of the reciprocal."""
    size = x.abs()
    far = size > 1
    small = torch.where(far, 1 / torch.where(far, size, 1.0), size)
    near = torch.atan(small.to(torch.float32)).to(x.dtype)
    tangent = torch.tan(near)
    found = near + (small - tangent) / (1 + small * tangent)
    return _odd(x, torch.where(far, math.pi / 2 - found, found))


def asin(x: torch.Tensor) -> torch.Tensor:
    """By the tangent, which is infinite at the ends."""
    return torch.atan(x / torch.sqrt((1 - x) * (1 + x)))


def acos(x: torch.Tensor) -> torch.Tensor:
    """Twice the angle of the half, whose tangent loses nothing next to 1."""
    return 2 * torch.atan(torch.sqrt((1 - x) / (1 + x)))


def atan2(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The exporter's takes zeros for negative ones, and the ratio of infinities for a number."""
    # Of two infinite numbers the ratio of their signs, of two zeros that of the first.
    endless = torch.isinf(x) & torch.isinf(y)
    up, along = torch.where(endless, torch.sign(y), y), torch.where(endless, torch.sign(x), x)
    angle = torch.atan(up / torch.where((x == 0) & (y == 0), 1.0, along))
    turned = angle + torch.where(_negative(y), torch.full_like(angle, -math.pi), math.pi)
    upright = torch.where(y < 0, torch.full_like(angle, -math.pi / 2), math.pi / 2)
    found = torch.where((x == 0) & (y != 0), upright, torch.where(_negative(x), turned, angle))
    return torch.where(torch.isnan(x) | torch.isnan(y), x + y, found)


def _negative(x: torch.Tensor) -> torch.Tensor:
    """Whether a number has a minus: the sign of a zero is that of its reciprocal."""
    return torch.where(x == 0, 1 / x, x) < 0


def remainder(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The exporter's is x - floor(x/y) y, which has no digits where the quotient is large, and is off by y where it was rounded."""
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    """With the digits of its tail."""
    fall = torch.exp(-x.abs())
    return torch.where(x < 0, fall, 1.0) / (1 + fall)


def softplus(x: torch.Tensor, threshold: float) -> torch.Tensor:
    """Without overflow, wherever that begins: above the threshold it is x to the last digit."""
    return torch.relu(x) + torch.log1p(torch.exp(-x.abs()))


_TAIL = 0.25
"""Probabilities below this are found by their logarithm."""


def normal_quantile(p: torch.Tensor) -> torch.Tensor:
    """By Halley's method, as the native operation does it: from 3 digits in two steps."""
    low, high = p < _TAIL, p > 1 - _TAIL
    inside = (p > 0) & (p < 1)
    middle = _quantile_in_the_middle(torch.where(low | high, 0.5, p))
    tail = _quantile_of_tail(torch.where(low & inside, p, torch.where(high & inside, 1 - p, 0.125)))
    found = torch.where(low, tail, torch.where(high, -tail, middle))
    end = torch.where(p == 0, torch.full_like(p, -math.inf), torch.where(p == 1, torch.full_like(p, math.inf), math.nan))
    return torch.where(inside, found, end)


def _quantile_of_tail(p: torch.Tensor) -> torch.Tensor:
    """The root of the logarithm of the distribution function less that of p, from Abramowitz and Stegun 26.2.22."""
    target = torch.log(p)
    t = torch.sqrt(-2 * target)
    x = (0.27061 * t + 2.30753) / ((0.04481 * t + 0.99229) * t + 1) - t
    for _ in range(2):
        scaled = scaled_complement(-math.sqrt(0.5) * x)
        hazard = math.sqrt(2 / math.pi) / scaled
        step = (torch.log(0.5 * scaled) - 0.5 * x * x - target) / hazard
        x = x - step / (1 + 0.5 * step * (x + hazard))
    return x


def _quantile_in_the_middle(p: torch.Tensor) -> torch.Tensor:
    """The root of erf(x/sqrt 2) = 2p - 1."""
    r = 2 * p - 1
    x = r * (0.3281 * r * r + math.sqrt(math.pi / 2))
    for _ in range(2):
        step = (erf_series(math.sqrt(0.5) * x, 13) - r) / (math.sqrt(2 / math.pi) * torch.exp(-0.5 * x * x))
        x = x - step / (1 + 0.5 * step * x)
    return x
