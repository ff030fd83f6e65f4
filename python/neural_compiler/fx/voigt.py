"""The Voigt profile in torch: Re w((x + i gamma)/width)/(width sqrt(pi)), width = |sigma| sqrt 2, with the Faddeeva function
w(z) = e^(-z^2) erfc(-i z). In: x, sigma, gamma >= 0; out: the profile in f64 to about 14 digits, with as many in its first two derivatives.

Near: the trapezoidal rule on (i/pi) integral of e^(-t^2)/(z - t), its error at the pole being known (Matta and Reichel 1971; of the two
sets of nodes the one further from the pole): a sum of one sign, where polynomials for both parts lose the smaller one. Beyond |z| = 10 the
asymptotic series by powers of the square of the width, in whose derivatives nothing cancels, and e^(-x^2) by the axis. Real numbers in
pairs, so that every transform of torch goes through.
Invariant: each side of a choice is finite where the other is taken, so are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .gaps import undefined
from .leaf import leaf

Value = Any
Pair = tuple[Any, Any]

_STEP = 7 / 16
"""Between nodes: what the rule leaves out is e^-51."""
_NODES = 15
_TERMS = 18
_FAR = 10.0
_AXIS = 1e-3
"""Beyond _FAR, heights from here on have nothing of the bell, which is below e^-99."""
_ROOT_OF_PI = 1.772453850905516
"""Rounded once; `math.sqrt(math.pi)` is the number below it."""
_INV_SQRT_PI = 0.5641895835477563


def _times(p: Pair, q: Pair) -> Pair:
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


def _one_of(test: Value, yes: float, no: float, like: Value) -> Value:
    """One of two numbers, in the type of a tensor: `torch.where` alone would make single ones of them."""
    return torch.where(test, torch.full_like(like, yes), no)


def _near(x: Value, y: Value) -> Value:
    """The real part of w, |z| <= 10."""
    place = x.detach() / _STEP
    whole = (place - torch.floor(place) - 0.5).abs() <= 0.25
    re: Value = 0.0
    for k in range(-_NODES, _NODES + 1):
        t, between = k * _STEP, (k + 0.5) * _STEP
        away = x - _one_of(whole, t, between, place)
        re = re + _one_of(whole, math.exp(-t * t), math.exp(-between * between), place) / (away * away + y * y)
    # 2 e^(-z^2) u/(u -+ 1), u = e^(2 pi i z/STEP): nothing high above the axis, where the bell would overflow.
    low = y < math.pi / _STEP
    h = torch.where(low, y, 1.0)
    rate = 2 * math.pi / _STEP
    # The angle of whole steps is nothing: what is left of x keeps its digits.
    turn, fall = rate * (x - _STEP * torch.round(place)), torch.exp(-rate * h)
    u = fall * torch.cos(turn), fall * torch.sin(turn)
    bottom = u[0] - _one_of(whole, 1.0, -1.0, place), u[1]
    size = bottom[0] * bottom[0] + bottom[1] * bottom[1]
    bell = torch.exp((h - x) * (h + x))
    angle = -2 * x * h
    pole = _times(_times((bell * torch.cos(angle), bell * torch.sin(angle)), u), (bottom[0] / size, -bottom[1] / size))
    return re * y * (_STEP / math.pi) + torch.where(low, 2 * pole[0], 0.0)


def _series(x: Value, y: Value, width: Value) -> Value:
    """The real part of i/sqrt(pi) times the sum of (2k-1)!! width^(2k)/(2^k z^(2k+1)): that of w of z/width, over width."""
    size = torch.hypot(x, y)
    inverse = x / size / size, -(y / size / size)
    u = width * inverse[0], width * inverse[1]
    square = _times(u, u)
    found: Pair = (1.0, 0.0)
    for k in range(_TERMS, 0, -1):
        re, im = _times(square, found)
        found = 1 + (k - 0.5) * re, (k - 0.5) * im
    return -_times(inverse, found)[1] * _INV_SQRT_PI


def _axis_bell(x: Value, y: Value) -> Value:
    """e^(-x^2) next to the axis, x of 30 or less; further out it is nothing, whatever the height."""
    by = (y < _AXIS) & (x.abs() < 30)
    place, height = torch.where(by, x, 1.0), torch.where(by, y, 0.0)
    return torch.where(by, torch.exp((height - place) * (height + place)) * torch.cos(2 * place * height), 0.0)


@leaf
def voigt(x: Value, sigma: Value, gamma: Value) -> Value:
    """The profile; NaN where sigma is 0 or gamma negative."""
    x, sigma, gamma = torch.broadcast_tensors(x, sigma, gamma)
    width = sigma.abs() * math.sqrt(2)
    size = torch.hypot(x, gamma)
    wrong = (gamma < 0) | (width == 0) | torch.isnan(size) | torch.isnan(width) | (torch.isinf(size) & torch.isinf(width))
    nothing = torch.isinf(size) | torch.isinf(width) | wrong
    far = (size > _FAR * width) & ~nothing
    # Each side with arguments of its own, elsewhere plain ones.
    near = ~far & ~nothing
    w = torch.where(near, width, 1.0)
    inner = _near(torch.where(near, x, 1.0) / w, torch.where(near, gamma, 1.0) / w) / (w * _ROOT_OF_PI)
    place, height, w = torch.where(far, x, 100.0), torch.where(far, gamma, 100.0), torch.where(far, width, 1.0)
    ratio = torch.where((place / w).abs() < 30, place, 20.0 * w) / w
    bell = torch.where((place / w).abs() < 30, _axis_bell(ratio, torch.where(height / w < _AXIS, height, w) / w), 0.0)
    outer = (_series(place, height, w) + bell / w) * _INV_SQRT_PI
    return torch.where(wrong, undefined(wrong, x, sigma, gamma), torch.where(nothing, 0.0, torch.where(far, outer, inner)))


@leaf
def voigt_slope(order: int, across: bool, x: Value, sigma: Value, gamma: Value) -> Value:
    """The derivative of the profile of this order, by x and, if `across`, once of it by gamma."""
    x, sigma, gamma = torch.broadcast_tensors(x, sigma, gamma)

    def function(a: Value, b: Value) -> Value:
        return voigt(a, sigma, b)

    if across:
        function = _by(function, 1)
    for _ in range(order - across):
        function = _by(function, 0)
    return function(x, gamma)


def _by(function: Any, which: int) -> Any:
    """The derivative of a function of x and gamma by one of them."""

    def slope(x: Value, gamma: Value) -> Value:
        along = [torch.zeros_like(x), torch.zeros_like(gamma)]
        along[which] = torch.ones_like(along[which])
        return torch.func.jvp(function, (x, gamma), tuple(along))[1]

    return slope
