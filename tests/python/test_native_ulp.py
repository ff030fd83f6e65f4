"""Every function of the native backend, through the module users call, within one unit in the last place of the true value."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import neural_compiler as nc
import numpy as np
import pytest
import torch

mpmath.mp.dps = 60
Exact = Callable[..., mpmath.mpf]


def bessel_k(order: int, x: mpmath.mpf) -> mpmath.mpf:
    """The integral of e^(-x cosh t) cosh(order t) over t > 0 by the trapezoidal rule, which for steps of 1/16 is exact to forty digits up
    to x = 60: mpmath's own, a limit over the order, takes a tenth of a second for each number."""
    step = mpmath.mpf(1) / 16
    total, k = mpmath.exp(-x) / 2, 1
    while True:
        term = mpmath.exp(-x * mpmath.cosh(k * step)) * mpmath.cosh(order * k * step)
        total, k = total + term, k + 1
        if term < total * mpmath.mpf(10) ** -40:
            return step * total


# Name, the function to sixty digits, and the ranges its arguments are taken from.
FUNCTIONS: dict[str, tuple[Exact, list[tuple[float, float]]]] = {
    "sin": (mpmath.sin, [(-50, 50)]), "cos": (mpmath.cos, [(-50, 50)]), "tan": (mpmath.tan, [(-20, 20)]),
    "asin": (mpmath.asin, [(-1, 1)]), "acos": (mpmath.acos, [(-1, 1)]), "atan": (mpmath.atan, [(-30, 30)]),
    "sinh": (mpmath.sinh, [(-20, 20)]), "cosh": (mpmath.cosh, [(-20, 20)]), "tanh": (mpmath.tanh, [(-6, 6)]),
    "exp": (mpmath.exp, [(-40, 40)]), "log": (mpmath.log, [(1e-6, 50)]), "sqrt": (mpmath.sqrt, [(0, 100)]),
    "exp2": (lambda x: mpmath.power(2, x), [(-50, 50)]), "log2": (lambda x: mpmath.log(x) / mpmath.log(2), [(1e-6, 50)]),
    "log10": (mpmath.log10, [(1e-6, 50)]), "expm1": (mpmath.expm1, [(-5, 5)]), "log1p": (mpmath.log1p, [(-0.99, 9)]),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), [(-30, 30)]),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), [(-30, 30)]), "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), [(-30, 30)]),
    "erfc": (mpmath.erfc, [(-4, 26)]), "gamma": (mpmath.gamma, [(0.1, 30)]), "lgamma": (mpmath.loggamma, [(2.5, 500)]),
    "digamma": (mpmath.digamma, [(2, 50)]), "beta": (mpmath.beta, [(0.1, 30), (0.1, 30)]), "normal-cdf": (mpmath.ncdf, [(-20, 8)]),
    "bessel-j0": (lambda x: mpmath.besselj(0, x), [(-20, 60)]), "bessel-j1": (lambda x: mpmath.besselj(1, x), [(-20, 60)]),
    "bessel-i0": (lambda x: mpmath.besseli(0, x), [(-50, 50)]), "bessel-i1": (lambda x: mpmath.besseli(1, x), [(-50, 50)]),
    "bessel-k0": (lambda x: bessel_k(0, x), [(0.01, 60)]), "bessel-k1": (lambda x: bessel_k(1, x), [(0.01, 60)]),
    "erf": (mpmath.erf, [(-4, 4)]), "pow": (mpmath.power, [(0.01, 20), (-8, 8)]), "/": (lambda x, y: x / y, [(-9, 9), (0.1, 9)]),
    "*": (lambda x, y: x * y, [(-9, 9), (-9, 9)]), "+": (lambda x, y: x + y, [(-9, 9), (-9, 9)]),
    "-": (lambda x, y: x - y, [(-9, 9), (-9, 9)]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_one_ulp_of_the_true_value(name: str, dtype: torch.dtype) -> None:
    exact, ranges = FUNCTIONS[name]
    names = "xy"[: len(ranges)]
    module = nc.compile_scheme(f"({name} {' '.join(names)})", inputs=list(names))
    generator = torch.Generator().manual_seed(7)
    arguments = [(low + (high - low) * torch.rand(150, dtype=torch.float64, generator=generator)).to(dtype) for low, high in ranges]
    found = module(*arguments).numpy()
    for k, value in enumerate(found):
        true = exact(*(mpmath.mpf(float(a[k])) for a in arguments))
        ulp = mpmath.mpf(float(np.spacing(np.abs(found.dtype.type(true)))))
        assert abs(mpmath.mpf(float(value)) - true) <= ulp, [float(a[k]) for a in arguments]
