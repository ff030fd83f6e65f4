"""Special functions of both backends where digits are easily lost: far tails, small widths. mpmath is the oracle.

In: programs of one operation; out: values and derivatives of the first two orders within a few last digits of what mpmath finds with 60.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import mpmath
import neural_compiler as nc
import pytest
import torch


def orders(source: str, names: str, at: Sequence[float], backend: str = "torch", most: int = 2) -> dict[tuple[int, ...], float]:
    """The value and all derivatives up to order `most`, one or two, by how often each input is taken."""
    module = nc.compile_scheme(source, inputs=list(names), backend=backend)
    xs = [torch.tensor(float(x), dtype=torch.float64, requires_grad=True) for x in at]
    value = module(*xs)
    found = {(0,) * len(xs): value.item()}
    slopes = torch.autograd.grad(value, xs, create_graph=most > 1)
    for i, slope in enumerate(slopes):
        found[tuple(int(k == i) for k in range(len(xs)))] = slope.item()
        for j, second in enumerate(torch.autograd.grad(slope, xs, retain_graph=True, materialize_grads=True) if most > 1 else ()):
            found[tuple(int(k == i) + int(k == j) for k in range(len(xs)))] = second.item()
    return found


@functools.cache
def expected(function: Callable[..., object], at: tuple[float, ...], order: tuple[int, ...]) -> object:
    """The same by mpmath: once for both backends and both tails."""
    point = tuple(mpmath.mpf(float(x)) for x in at)
    if not any(order):
        return function(*point)
    if sum(order) == 1:
        step = mpmath.mpf(10) ** -18
        there, back = ([p * (1 + s * step * k) for p, k in zip(point, order)] for s in (1, -1))
        return (function(*there) - function(*back)) / (2 * step * point[order.index(1)])
    return mpmath.diff(function, point, order, relative=True, h=mpmath.mpf(10) ** -20)


def profile(x: object, sigma: object, gamma: object) -> object:
    """The Voigt profile; beyond |z| = 20 by the asymptotic series, as far as its terms fall."""
    z = mpmath.mpc(x, gamma) / (sigma * mpmath.sqrt(2))
    if abs(z) <= 20:
        return mpmath.re(mpmath.exp(-z * z) * mpmath.erfc(-1j * z)) / (sigma * mpmath.sqrt(2 * mpmath.pi))
    term = total = mpmath.mpc(1)
    for k in range(1, 300):
        term *= (2 * k - 1) / (2 * z * z)
        total += term
    return mpmath.re(1j * total / (mpmath.sqrt(mpmath.pi) * z)) / (sigma * mpmath.sqrt(2 * mpmath.pi))


VOIGT = [(0.5, 10.0**-k, 1.0) for k in range(1, 9)]  # sigma small beside gamma
VOIGT += [(100.0, 0.01, 0.1), (100.0, 1.0, 0.1), (1e4, 1.0, 1.0), (30.0, 1.0, 1e-3), (8.0, 1.0, 1e-3), (12.0, 1.0, 0.1)]  # far out
VOIGT += [(1.0, 100.0, 1e-8), (5.0, 1.0, 1e-10), (12.0, 1.0, 1e-12), (3.0, -1.0, 3.0), (6.0, 1.0, 2.0), (14.0, 1.0, 0.5)]


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("at", VOIGT, ids=str)
def test_voigt_has_its_digits_in_every_region(at: tuple[float, float, float], backend: str) -> None:
    with mpmath.workdps(60):
        for order, found in orders("(voigt x s g)", "xsg", at, backend).items():
            point = (at[0], abs(at[1]), at[2])
            want = expected(profile, point, order) * (-1 if at[1] < 0 and order[1] == 1 else 1)
            assert abs(found / want - 1) < 1e-11, (order, found, want)


def test_voigt_of_vectors_and_constants() -> None:
    x = torch.linspace(-3, 3, 5, dtype=torch.float64)
    sigma, gamma = torch.tensor([1e-7, 0.5], dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64)
    whole = nc.compile_scheme("(voigt x s g)", inputs={"x": 5, "s": (), "g": ()}, backend="torch")(x.expand(2, 5), sigma, gamma.expand(2))
    one = nc.compile_scheme("(voigt x s 0.3)", inputs=["x", "s"], backend="torch")
    for i, j in itertools.product(range(2), range(5)):
        torch.testing.assert_close(one(x[j], sigma[i]), whole[i, j], rtol=1e-14, atol=0)


def test_voigt_without_a_lorentzian_is_the_bell_to_its_last_digits() -> None:
    module = nc.compile_scheme("(voigt x 1 g)", inputs=["x", "g"], backend="torch")
    x = torch.tensor([3.0, 8.0, 15.0, 30.0], dtype=torch.float64)
    bell = torch.exp(-0.5 * x * x) * 0.3989422804014327
    torch.testing.assert_close(module(x, torch.zeros_like(x)), bell, rtol=1e-12, atol=0)


def beta_p(a: object, b: object, x: object) -> object:
    """The regularised incomplete beta function, by the sum that has one sign."""
    return x**a * (1 - x) ** b / (a * mpmath.beta(a, b)) * mpmath.hyp2f1(a + b, 1, a + 1, x)


def gamma_p(a: object, x: object) -> object:
    """The regularised incomplete gamma function, likewise."""
    return mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1)) * mpmath.hyp1f1(1, a + 1, x)


def tail(p: object, order: tuple[int, ...], upper: bool) -> object:
    """The lower tail or one of its derivatives, or the same of the upper one, 1 - p."""
    return (-p if any(order) else 1 - p) if upper else p


BETA = [(2.0, 3.0, 1e-30), (0.5, 3.0, 1e-100), (29.0, 1e10, 2.9e-9), (3.0, 1e5, 2.99991e-7), (15.0, 1e8, 3e-7), (0.1, 1e8, 1.5e-9)]
BETA += [
    (100.0, 1.5, 0.71),
    (7.0, 300.0, 0.1),
    (300.0, 15.0, 0.857),
    (100.0, 29.0, 0.05),
    (61.0, 100.0, 1e-4),
]  # where 1 - (1 - I) was taken
BETA += [(29.0, 1e-8, 0.71), (1e-8, 0.01, 0.1), (59.0, 1e-3, 0.71), (1e-6, 1.5, 1e-10), (1.0, 1e-8, 0.999)]  # small shapes
BETA += [(50.0, 0.5, 50 / (50 + 8.0**2)), (2.5, 0.5, 5 / (5 + 1e12)), (2.0, 2.0, 0.5), (40.0, 40.0, 0.5)]  # Student's t, and the middle


@pytest.mark.parametrize("at", BETA, ids=str)
@pytest.mark.parametrize("upper", [False, True], ids=["p", "q"])
def test_both_tails_of_beta(at: tuple[float, float, float], upper: bool) -> None:
    with mpmath.workdps(800 if at[2] < 1e-3 else 200):
        for order, found in orders(f"(beta-{'q' if upper else 'p'} a b x)", "abx", at, most=1).items():
            want = tail(expected(beta_p, at, order), order, upper)
            # By a shape, 1 - I is the difference of two parts near its mean: 1e-8 as everywhere.
            assert abs(found / want - 1) < (1e-8 if any(order) else 1e-10), (order, found, want)


GAMMA = [(31.0, 1e-5), (59.0, 1e-3), (0.1, 7.9), (1e-8, 0.3), (1e-8, 2.5), (1e-6, 1e-30), (0.5, 3.0), (2.0, 100.0), (0.3, 1.4), (7.0, 7.0)]
GAMMA += [(1e3, 500.0), (1e3, 1500.0), (0.1, 1e-100)]


@pytest.mark.parametrize("at", GAMMA, ids=str)
@pytest.mark.parametrize("upper", [False, True], ids=["p", "q"])
def test_both_tails_of_gamma(at: tuple[float, float], upper: bool) -> None:
    with mpmath.workdps(800):
        for order, found in orders(f"(gamma-{'q' if upper else 'p'} a x)", "ax", at, most=1).items():
            want = tail(expected(gamma_p, at, order), order, upper)
            assert abs(found / want - 1) < (1e-8 if any(order) else 1e-10), (order, found, want)


LBETA = [(0.1, 1e10), (1e10, 3.0), (100.0, 1e-8), (7.0, 1e-100), (1e8, 0.01), (2.5, 2.5), (1e5, 1e5), (0.3, 4.0)]


@pytest.mark.parametrize("at", LBETA, ids=str)
def test_log_beta_of_shapes_far_apart(at: tuple[float, float]) -> None:
    with mpmath.workdps(250):
        for order, found in orders("(lbeta a b)", "ab", at).items():
            a, b = map(mpmath.mpf, at)
            terms = {
                (0, 0): lambda: mpmath.log(mpmath.beta(a, b)),
                (1, 0): lambda: mpmath.digamma(a) - mpmath.digamma(a + b),
                (0, 1): lambda: mpmath.digamma(b) - mpmath.digamma(a + b),
                (2, 0): lambda: mpmath.polygamma(1, a) - mpmath.polygamma(1, a + b),
                (0, 2): lambda: mpmath.polygamma(1, b) - mpmath.polygamma(1, a + b),
                (1, 1): lambda: -mpmath.polygamma(1, a + b),
            }
            want = terms[order]()
            assert abs(found / want - 1) < 1e-9, (order, found, want)


def test_beta_has_no_value_for_negative_shapes() -> None:
    a, b = torch.tensor([-0.5, -0.5, 0.0, math.inf], dtype=torch.float64), torch.tensor([2.0, -0.3, 1.0, 2.0], dtype=torch.float64)
    for name, rest in (("beta", [math.inf, 0.0]), ("lbeta", [math.inf, -math.inf])):
        found = nc.compile_scheme(f"({name} a b)", backend="torch")(a=a, b=b)
        assert found[:2].isnan().all()
        assert found[2:].tolist() == rest


ONE = [
    ("erfcx", mpmath.erfcx if hasattr(mpmath, "erfcx") else lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [1e5, 1e2, 9.0, 7.0, -3.0]),
    ("expm1", mpmath.expm1, [-700.0, -30.0, -1.0, 0.1]),
    ("bessel-i0", lambda x: mpmath.besseli(0, x), [700.0, 712.0, -30.0]),
    ("bessel-j1", lambda x: mpmath.besselj(1, x), [1e3, 1e10]),
    ("trigamma", lambda x: mpmath.polygamma(1, x), [-99.7, -0.3, 0.3]),
]


@pytest.mark.parametrize(("name", "function", "places"), ONE, ids=[o[0] for o in ONE])
def test_slopes_of_functions_of_one_number(name: str, function: Callable[..., object], places: list[float]) -> None:
    with mpmath.workdps(400):
        for at in places:
            found = orders(f"({name} x)", "x", [at], most=1)
            assert abs(found[(0,)] / function(mpmath.mpf(at)) - 1) < 1e-10, at
            assert abs(found[(1,)] / expected(function, (at,), (1,)) - 1) < 1e-8, at


def test_slopes_far_out_are_numbers() -> None:
    x = torch.tensor([-1e100, 1e15, 1e100], dtype=torch.float64, requires_grad=True)
    for name, slope in (("bessel-j0", None), ("bessel-k0", 0.0), ("bessel-i1", math.inf)):
        places = x[1:] if name == "bessel-k0" else x
        (found,) = torch.autograd.grad(nc.compile_scheme(f"({name} x)", backend="torch")(places).sum(), places)
        assert not found.isnan().any(), name
        assert slope is None or (found == slope).all(), name


def test_gamma_and_trigamma_at_their_poles() -> None:
    poles = torch.tensor([-1.0, -2.0, -300.0], dtype=torch.float64)
    assert nc.compile_scheme("(gamma x)", backend="torch")(poles).isnan().all()
    assert (nc.compile_scheme("(trigamma x)", backend="torch")(poles) == math.inf).all()


@pytest.mark.parametrize(
    ("dtype", "size"), [(torch.float64, 1e-300), (torch.float64, 1e200), (torch.float32, 1e-30), (torch.float32, 1e30)]
)
def test_slopes_of_the_angle_of_tiny_and_huge_vectors(dtype: torch.dtype, size: float) -> None:
    y, x = (torch.tensor(v * size, dtype=dtype, requires_grad=True) for v in (3.0, 4.0))
    value = nc.compile_scheme("(atan y x)", inputs=["y", "x"], backend="torch")(y, x)
    found = torch.stack(torch.autograd.grad(value, (y, x))) * size
    torch.testing.assert_close(found, torch.tensor([0.16, -0.12], dtype=dtype), rtol=4 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_slopes_at_infinity(backend: str) -> None:
    # Where a function goes to its limit as 1/x or faster, it is flat in the end; log of the normal distribution falls as -x^2/2.
    flat = [("digamma", 1), ("trigamma", 1), ("erfcx", 1), ("bessel-j0", 1), ("bessel-j0", -1), ("bessel-j1", 1), ("bessel-j1", -1)]
    for name, side, first, second in [*((n, s, 0.0, 0.0) for n, s in flat), ("normal-log-cdf", -1, math.inf, -1.0)]:
        x = torch.tensor([side * math.inf], dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(nc.compile_scheme(f"({name} x)", backend=backend)(x).sum(), x, create_graph=True)
        curve = torch.autograd.grad(slope.sum(), x)[0].item() if slope.requires_grad else 0.0
        assert (name, slope.item(), curve) == (name, first, second)
