"""Every operation of the table at the ends of its domain, at its poles, and at numbers so large or small that their squares are none:
value, first and second derivatives of the torch backend beside those of the native one."""

from __future__ import annotations

import math

import neural_compiler as nc
import pytest
import torch
from neural_compiler import compile_scheme

F64 = torch.float64
ELEMENTWISE = [o for o in nc.operations() if o.elementwise and o.surface]

# Of NaN these have a slope of 0 or 1 in torch.
OF_NAN = {"Min", "Max", "Abs", "Relu"}


def _orders(source: str, names: str, columns: list[torch.Tensor], backend: str) -> dict[str, list[float]]:
    """The value, and first and second derivatives by every argument, at every place."""
    xs = [c.clone().requires_grad_() for c in columns]
    value = compile_scheme(source, inputs=list(names), backend=backend)(*xs)
    found = {"value": value}
    slopes = torch.autograd.grad(value.sum(), xs, create_graph=True, allow_unused=True) if value.requires_grad else [None] * len(xs)
    for n, slope in zip(names, slopes):
        found[n] = torch.zeros_like(value) if slope is None else slope
        again = [None] * len(xs)
        if slope is not None and slope.requires_grad:
            again = torch.autograd.grad(slope.sum(), xs, allow_unused=True, retain_graph=True)
        for m, second in zip(names, again):
            found[n + m] = torch.zeros_like(value) if second is None else second
    # A tensor of zeros without memory is no list.
    return {key: (v.detach() + torch.zeros_like(value)).tolist() for key, v in found.items()}


@pytest.mark.parametrize("operation", [o for o in ELEMENTWISE if o.op not in OF_NAN], ids=lambda o: o.op)
def test_what_has_no_value_has_no_slope(operation: nc.Operation) -> None:
    names = "xyz"[: len(operation.probes[0])]
    columns = [torch.tensor([p[k] for p in operation.probes], dtype=F64) for k in range(len(names))]
    source = f"({operation.name} {' '.join(names)})"
    native, other = (_orders(source, names, columns, backend) for backend in ("native", "torch"))
    for k, place in enumerate(operation.probes):
        assert math.isnan(native["value"][k]) <= math.isnan(other["value"][k]), place
        if math.isnan(other["value"][k]):
            # The rules of some, as 1/x, say something outside of the domain, too.
            wrong = {n: other[n][k] for n in names if math.isnan(native[n][k]) and math.isfinite(other[n][k])}
            assert not wrong, (place, wrong)


@pytest.mark.parametrize("source", ["(abs x)", "(relu x)", "(min x 1)", "(max 1 x)", "(clamp x 0 1)"])
def test_natively_nan_has_no_slope(source: str) -> None:
    found = _orders(source, "x", [torch.tensor([math.nan, 0.5], dtype=F64)], "native")
    assert math.isnan(found["value"][0]) and math.isnan(found["x"][0])
    assert not math.isnan(found["x"][1])


# Where a slope of these is infinite, every backend says so, and with its sign.
BORDERS = {
    "asin": [-1.0, 1.0],
    "acos": [-1.0, 1.0],
    "sqrt": [0.0],
    "log": [0.0],
    "log2": [0.0],
    "log10": [0.0],
    "log1p": [-1.0],
    "bessel-k0": [0.0],
    "bessel-k1": [0.0],
}


@pytest.mark.parametrize("dtype", [torch.float32, F64], ids=str)
@pytest.mark.parametrize("name", BORDERS)
def test_infinite_slopes_are_infinite_everywhere(name: str, dtype: torch.dtype) -> None:
    places = torch.tensor(BORDERS[name], dtype=dtype)
    native, other = (_orders(f"({name} x)", "x", [places], backend) for backend in ("native", "torch"))
    source = nc.compile(f"({name} x)")
    by_interpreter = [float(source.grad("x")(p)) for p in BORDERS[name]]
    for key in native:
        for mine, theirs in zip(native[key], other[key]):
            assert mine == pytest.approx(theirs, rel=1e-6) and not math.isnan(mine), (key, native[key], other[key])
    assert all(math.isinf(s) for s in native["x"]) and native["x"] == by_interpreter
    assert all(math.isinf(s) for s in native["xx"])


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_mixed_derivatives_of_logarithms_keep_to_the_numbers(backend: str) -> None:
    # By hand: d/dx = 1/(x log b), and of that by b -1/(x b log(b)^2).
    for x, b in [(1e-290, 3.0), (1e300, 1e-300), (1e-200, 1e200), (1e-290, 1e-10), (1e300, 2.0)]:
        found = _orders("(log x y)", "xy", [torch.tensor([x], dtype=F64), torch.tensor([b], dtype=F64)], backend)
        expected = -1 / math.log(b) ** 2 / x / b
        assert found["xy"][0] == pytest.approx(expected, rel=1e-13) and found["yx"][0] == pytest.approx(expected, rel=1e-13), (x, b)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_power_of_0_hides_no_mixed_derivative(backend: str) -> None:
    # d/dx of x^y is y x^(y-1), and of that by y at 0 it is 1/x; the other way about as well.
    x = torch.tensor([2.0, 0.25, 1e-200], dtype=F64)
    found = _orders("(pow x y)", "xy", [x, torch.zeros_like(x)], backend)
    assert found["value"] == [1.0, 1.0, 1.0] and found["x"] == [0.0, 0.0, 0.0]
    assert found["xy"] == pytest.approx((1 / x).tolist(), rel=1e-14) and found["yx"] == pytest.approx((1 / x).tolist(), rel=1e-14)
    # Where the reciprocal is too large for a number, too.
    least = torch.tensor([5e-324, 5e-309], dtype=F64)
    found = _orders("(pow x y)", "xy", [least, torch.zeros_like(least)], backend)
    assert found["value"] == [1.0, 1.0] and found["x"] == [0.0, 0.0]
    assert found["y"] == pytest.approx([math.log(5e-324), math.log(5e-309)], rel=1e-14)
    # Of the second derivatives, torch has infinity times 0 on the way.
    assert backend == "torch" or (found["xy"] == found["yx"] == [math.inf, math.inf] and found["xx"] == [0.0, 0.0])
    assert not any(math.isfinite(s) for s in [*found["xy"], *found["yx"]])
    # By hand: the slope by the base, differentiated by the exponent twice, is 2 log(x) / x.
    x = torch.tensor([2.0, 0.25], dtype=F64, requires_grad=True)
    y = torch.zeros_like(x, requires_grad=True)
    slope = torch.autograd.grad(compile_scheme("(pow x y)", backend=backend)(x, y).sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(slope.sum(), y, create_graph=True)[0]
    third = torch.autograd.grad(second.sum(), y)[0]
    assert third.tolist() == pytest.approx([math.log(2), 8 * math.log(0.25)], rel=1e-13)
    corner = _orders("(pow x y)", "xy", [torch.zeros(1, dtype=F64), torch.zeros(1, dtype=F64)], backend)
    assert corner["value"] == [1.0] and corner["y"] == [-math.inf]


SIZES = [1e-300, 1e-200, 1e-160, 1e-20, 0.5, 30.0, 1e8, 1e100, 1e150, 1e160, 1e200, 1e300]
PAIRS = [(a, b) for a in SIZES for b in SIZES]


@pytest.mark.parametrize("source", ["(lbeta x y)", "(atan x y)"])
@pytest.mark.parametrize("dtype", [torch.float32, F64], ids=str)
def test_large_and_small_arguments_give_the_native_numbers_or_none(source: str, dtype: torch.dtype) -> None:
    pairs = PAIRS if dtype is F64 else [(a, b) for a in SIZES32 for b in SIZES32]
    columns = [torch.tensor([p[k] for p in pairs], dtype=dtype) for k in (0, 1)]
    native, other = (_orders(source, "xy", columns, backend) for backend in ("native", "torch"))
    info, rel = torch.finfo(dtype), 1e-10 if dtype is F64 else 1e-3
    for key in native:
        for place, mine, theirs in zip(pairs, native[key], other[key]):
            # Of an angle on the diagonal the mixed derivative is a difference of two that are equal.
            if math.isnan(theirs) or (source.startswith("(atan") and place[0] == place[1] and key in ("xy", "yx")):
                continue
            assert theirs == pytest.approx(mine, rel=rel, abs=8 * info.tiny), (key, place, mine, theirs)
    # First slopes are numbers wherever they are.
    for key in ("x", "y"):
        assert not any(math.isnan(theirs) for mine, theirs in zip(native[key], other[key]) if math.isfinite(mine)), key


SIZES32 = [1e-30, 1e-20, 1e-10, 0.5, 30.0, 1e4, 1e10, 1e15, 1e20, 1e30]


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_lbeta_of_large_shapes_is_as_stirling_says(backend: str) -> None:
    # For a = b: the slope is digamma(a) - digamma(2 a), -log 2; the second one 1/a - 1/(2 a); the mixed one -1/(2 a).
    a = torch.tensor([1e20, 1e150, 1e160, 1e250, 1e300], dtype=F64)
    found = _orders("(lbeta x y)", "xy", [a, a], backend)
    assert found["x"] == pytest.approx([-math.log(2)] * 5, rel=1e-13)
    assert found["xx"] == pytest.approx((0.5 / a).tolist(), rel=1e-12) and found["xy"] == pytest.approx((-0.5 / a).tolist(), rel=1e-12)
    tiny = torch.tensor([1e-300, 1e-200, 1e-100], dtype=F64)
    # There it is -log a - log b + log(a + b), to every digit.
    assert _orders("(lbeta x y)", "xy", [tiny, tiny], backend)["x"] == pytest.approx((-0.5 / tiny).tolist(), rel=1e-13)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_the_logarithm_of_gamma_has_no_curvature_at_its_poles_but_an_infinite_one(backend: str) -> None:
    poles = torch.tensor([-1.0, -2.0, -1e15, -1e300], dtype=F64)
    found = _orders("(lgamma x)", "x", [poles], backend)
    assert found["value"] == [math.inf] * 4
    assert all(math.isnan(s) for s in found["x"]) and not any(math.isfinite(s) for s in found["xx"])


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_bessel_k0_of_the_smallest_number_is_a_number(backend: str) -> None:
    # -log(x/2) - gamma.
    value = _orders("(bessel-k0 x)", "x", [torch.tensor([5e-324], dtype=F64)], backend)["value"]
    assert value == pytest.approx([-math.log(5e-324) + math.log(2) - 0.5772156649015329], rel=1e-14)
