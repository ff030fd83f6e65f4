"""torch's own exporter to ONNX takes modules of both backends, and onnxruntime gives their numbers, in the tails too."""

from __future__ import annotations

import functools
import io
import math

import neural_compiler as nc
import numpy as np
import onnxruntime
import pytest
import torch

onnxruntime.set_default_logger_severity(4)


FLOATS = [torch.float32, torch.float64]


@functools.cache
def program(text: str, backend: str, places: tuple[float, ...], dtype: torch.dtype) -> torch.onnx.ONNXProgram:
    """A program of numbers as ONNX gets it. Large ones take up to half a minute, so that none is made twice."""
    return to_onnx(nc.compile_scheme(text, inputs=["x"], backend=backend), torch.tensor(places, dtype=dtype))


def to_onnx(module: torch.nn.Module, x: torch.Tensor) -> torch.onnx.ONNXProgram:
    made = torch.onnx.export(module, (x,), dynamo=True, verbose=False)
    assert made is not None
    return made


def run(made: torch.onnx.ONNXProgram, x: torch.Tensor) -> np.ndarray:
    stored = io.BytesIO()
    made.save(stored)
    session = onnxruntime.InferenceSession(stored.getvalue(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]


def exported(module: torch.nn.Module, x: torch.Tensor) -> np.ndarray:
    return run(to_onnx(module, x), x)


def operations(text: str, backend: str, places: tuple[float, ...], dtype: torch.dtype) -> list[str]:
    """The operations of the graph that ONNX gets, in order."""
    return [node.op_type for node in program(text, backend, places, dtype).model.graph]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("backend", ["torch", "native"])
def test_lengths(backend: str, dtype: torch.dtype) -> None:
    # Each of a vector of its own, so that they share nothing.
    text = "(concat (norm v) (normalize w))"
    module = nc.compile_scheme(text, inputs={"v": 3, "w": 3}, backend=backend)
    x = torch.tensor([[1.0, -2.0, 2.0]], dtype=dtype) * torch.tensor([[1.0], [1e-30], [1e30], [2e-38]], dtype=dtype)

    class Both(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return module(x, x)

    np.testing.assert_allclose(exported(Both(), x), module(x, x).detach().numpy(), rtol=4 * torch.finfo(dtype).eps)


ERROR_PLACES = (-9.0, -3.0, -1.0, -0.3, -1e-6, 0.0, 1e-9, 0.2, 0.6, 1.0, 2.5, 6.0, 7.1, 7.3, 8.5, 9.0, 1e6)
ERROR_FUNCTIONS = ["erf", "erfc", "erfcx", "normal-cdf", "normal-log-cdf"]


@pytest.mark.parametrize(
    ("name", "dtype"),
    # In single precision erfc and normal-cdf are left out: they are half of normal-log-cdf, which shows their tail, and 1 - erf.
    [*((name, torch.float64) for name in ERROR_FUNCTIONS), *((name, torch.float32) for name in ("erf", "erfcx", "normal-log-cdf"))],
    ids=str,
)
def test_error_functions(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor(ERROR_PLACES, dtype=dtype)
    # The oracle is the native operation in double precision.
    want = nc.compile_scheme(f"({name} x)")(x.double()).detach().numpy()
    found = run(program(f"({name} x)", "native", ERROR_PLACES, dtype), x)
    tiny = torch.finfo(dtype).smallest_normal
    # e^(-x^2) has so many digits as its exponent leaves.
    np.testing.assert_allclose(found, want, rtol=400 * torch.finfo(dtype).eps, atol=tiny)


@pytest.mark.parametrize("backend", ["torch", "native"])
def test_constants_of_double_programs_stay_double(backend: str) -> None:
    x = torch.tensor([0.5, 1.1, 3.0], dtype=torch.float64)
    # One program: an export costs a second, whatever it holds.
    text = "[(+ 0.1 (* 3.3 x)) (- 0.1 (/ x 0.3)) (if (> x 1.1) 0.1 (/ 0.7 x)) (max x 1.3) (min 0.7 x)]"
    module = nc.compile_scheme(text, backend=backend)
    np.testing.assert_allclose(exported(module, x), module(x).detach().numpy(), rtol=4e-16)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("backend", ["torch", "native"])
def test_constants_next_to_0_and_1_are_neither(backend: str, dtype: torch.dtype) -> None:
    # Optimisers took 1e-9 for 0 and 1.000001 for 1, and left out the operation.
    x = torch.tensor([1e-9, -3e-8, 0.0, 1.5], dtype=dtype)
    sums = "(+ x 1e-9) (- x 3e-9) (- 1e-9 x) (+ x 1e-20)"
    products = "(* x 1.000001) (/ x 0.999997) (* x 0.99999) (/ 1e-9 (+ x 1e-8))"
    module = nc.compile_scheme(f"[{sums} {products}]", backend=backend)
    np.testing.assert_allclose(exported(module, x), module(x).detach().numpy(), rtol=2 * torch.finfo(dtype).eps, atol=0)


GAMMA_PLACES = (1e-300, 1e-9, 0.3, 0.5, 0.7, 1 - 1e-9, 1 + 1e-9, 1.3, 1.5, 2 - 1e-9, 2 + 1e-12, 3.7, 11.0, 39.9, 40.1, 120.0)
FAR, LEFT = (1e4, 1e9), (-0.3, -1.7, -20.2)
SMALL = ("(expm1 x)", "(if (> x 1) (log1p x) (* 0.1 x))")


@pytest.mark.parametrize(
    ("text", "places", "dtype"),
    [
        ("(erf x)", ERROR_PLACES, torch.float64),
        ("(digamma x)", (*GAMMA_PLACES, *FAR, *LEFT), torch.float64),
        *((text, (0.5, 1.1, 3.0), dtype) for text in SMALL for dtype in FLOATS),
    ],
    ids=str,
)
def test_both_backends_are_exported_as_the_same_graph(text: str, places: tuple[float, ...], dtype: torch.dtype) -> None:
    """So the functions above and below, whose exports take seconds, are looked at in one backend only."""
    assert operations(text, "native", places, dtype) == operations(text, "torch", places, dtype)


@pytest.mark.parametrize(
    ("name", "left"), [("lgamma", True), ("gamma", True), ("digamma", True), ("trigamma", True), ("lbeta", False), ("beta", False)]
)
def test_gamma_and_its_kin(name: str, left: bool) -> None:
    places = (*GAMMA_PLACES, *(FAR if name != "gamma" else ()), *(LEFT if left else ()))
    x = torch.tensor(places, dtype=torch.float64)
    text = f"({name} x)" if left else f"({name} x 2.5)"
    # The oracle is the native operation, which is within 1 ULP.
    want = nc.compile_scheme(text)(x).detach().numpy()
    found = run(program(text, "native", places, torch.float64), x)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13 if name in ("lgamma", "digamma") else 0)


WIDE = (-1e30, -745.0, -90.0, -20.2, -2.0, -1.0, -0.7, -1e-9, -1e-320, -0.0, 0.0, 1e-320, 1e-9, 0.3, 0.999, 1.0, 1.0001, 2.5, 8.0, 709.0)
WIDE += (1000.0, 1e22, 1e30, float("inf"), float("-inf"), float("nan"))
WITHIN_1 = (-1.1, -1.0, -0.999999, -0.5, -1e-9, -0.0, 0.0, 1e-300, 1e-20, 1e-3, 0.2, 0.2499, 0.25, 0.26, 0.499, 0.5, 0.6, 0.75, 0.76, 0.99)
WITHIN_1 += (1 - 1e-9, 1 - 2**-53, 1.0, 1.1, float("nan"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("[(log2 x) (log10 x) (sigmoid x) (softplus x) (sinh x) (cosh x) (atan x)]", WIDE),
        ("[(asin x) (acos x) (normal-quantile x)]", WITHIN_1),
    ],
    ids=["anywhere", "within 1"],
)
def test_functions_that_others_lack_or_have_too_few_digits_of(text: str, places: tuple[float, ...], dtype: torch.dtype) -> None:
    x = torch.tensor(places, dtype=dtype)
    found = run(program(text, "native", places, dtype), x)
    # Next to 0 onnxruntime may take subnormal numbers of single precision for 0.
    want, tiny = nc.compile_scheme(text)(x).numpy(), torch.finfo(dtype).smallest_normal if dtype == torch.float32 else 0
    np.testing.assert_allclose(found, want, rtol=4 * torch.finfo(dtype).eps, atol=tiny)
    np.testing.assert_array_equal(np.signbit(found[np.isfinite(want)]), np.signbit(want[np.isfinite(want)]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_remainders_and_angles(dtype: torch.dtype) -> None:
    numbers = torch.tensor(
        [-300.0, -2.0, -0.3, -0.0, 0.0, 1e-5, 0.4, 3.0, 8.0, 1e30, float("inf"), float("-inf"), float("nan")], dtype=dtype
    )
    x, y = (grid.flatten() for grid in torch.meshgrid(numbers, numbers, indexing="ij"))
    module = nc.compile_scheme("[(modulo x y) (remainder x y) (atan x y)]", inputs=["x", "y"])

    class OfBoth(torch.nn.Module):
        def forward(self, both: torch.Tensor) -> torch.Tensor:
            return module(both[:, 0], both[:, 1])

    found, want = exported(OfBoth(), torch.stack([x, y], -1)), module(x, y).numpy()
    np.testing.assert_allclose(found, want, rtol=4 * torch.finfo(dtype).eps, atol=0)
    np.testing.assert_array_equal(np.signbit(found[:, 2]), np.signbit(want[:, 2]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_linear_algebra(dtype: torch.dtype) -> None:
    text = "(concat (total (inv a)) (solve a v) (det a) (ref (matvec (inv a) v) 0))"
    module = nc.compile_scheme(text, inputs={"a": (3, 3), "v": 3})
    regular = [[[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.0, -1.0, 5.0]], [[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [2.0, 1.0, 0.0]]]
    # Without a first pivot, with a last one that is 0, and nothing at all.
    singular = [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 2.0, 3.0]], [[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]], [[0.0] * 3] * 3]
    a = torch.tensor([*regular, *singular, [[float("nan")] * 3] * 3], dtype=dtype)
    v = torch.tensor([1.0, -2.0, 0.5], dtype=dtype)

    class AtOne(torch.nn.Module):
        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return module(a, v)

    want = module(a, v).numpy()
    assert np.isfinite(want[:2]).all() and np.isnan(want[2:5, 0]).all() and (want[2:5, 4] == 0).all()
    np.testing.assert_allclose(exported(AtOne(), a), want, rtol=20 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_matrices_that_hold_nan(dtype: torch.dtype) -> None:
    nan = math.nan
    # A row that is done when NaN is met, and others; the last is regular.
    matrices = [[[1, 2], [0, nan]], [[0, 0], [nan, 0]], [[1, 2], [nan, 3]], [[0, nan], [0, 1]], [[-1, 0], [0, 0]], [[2, 1], [1, 1]]]
    a = torch.tensor(matrices, dtype=dtype)
    v = torch.tensor([1.0, -2.0], dtype=dtype)
    module = nc.compile_scheme("(concat (ref (inv a) 0) (ref (inv a) 1) (solve a v))", inputs={"a": (2, 2), "v": 2})

    class AtOne(torch.nn.Module):
        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return module(a, v)

    found, want = exported(AtOne(), a), module(a, v).numpy()
    assert np.isnan(want[:5]).all() and np.isfinite(want[5]).all()
    np.testing.assert_allclose(found, want, rtol=20 * torch.finfo(dtype).eps, atol=0)


def test_large_determinants_of_singular_matrices_and_of_nan() -> None:
    module = nc.compile_scheme("(det a)", inputs={"a": (7, 7)})
    a = -torch.eye(7, dtype=torch.float64).repeat(5, 1, 1)
    a[0, 3, 3] = a[1, 6, 6] = 0
    a[2, 6, 6] = a[3, 0, 6] = a[4, 6, 0] = math.nan
    found, slopes = exported(module, a), exported(module.grad("a"), a)
    np.testing.assert_array_equal(found, module(a).numpy())
    assert not np.signbit(found[:2]).any()
    np.testing.assert_array_equal(slopes, module.grad("a")(a).numpy())
    assert np.isnan(slopes).all()


def test_large_determinants() -> None:
    # Above 6 rows it is no sum of minors.
    module = nc.compile_scheme("(det a)", inputs={"a": (7, 7)})
    a = torch.randn(3, 7, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    a[1, 3] = 0
    np.testing.assert_allclose(exported(module, a), module(a).numpy(), rtol=1e-14, atol=0)


@pytest.mark.parametrize("times", [1, 2])
def test_derivatives_of_trigamma(times: int) -> None:
    module = nc.compile_scheme("(trigamma x)")
    for _ in range(times):
        module = module.grad("x")
    x = torch.tensor(
        [-20.2, -2.0, -1.7, -0.3, 0.0, -1e-3, 1e-9, 0.2, 0.5, 1.0, 1.5, 20.0, 1e5, float("inf"), float("nan")], dtype=torch.float64
    )
    np.testing.assert_allclose(exported(module, x), module(x).numpy(), rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_small_differences_stay_small(dtype: torch.dtype) -> None:
    x = torch.tensor([-0.9, -1e-3, -1e-12, 0.0, 1e-20, 1e-9, 1e-4, 0.5, 3.0, 30.0], dtype=dtype)
    module = nc.compile_scheme("[(expm1 x) (log1p x)]", backend="torch")
    np.testing.assert_allclose(exported(module, x), module(x).detach().numpy(), rtol=8 * torch.finfo(dtype).eps)


def test_the_voigt_profile() -> None:
    module = nc.compile_scheme("(voigt x 0.3 0.01)", inputs=["x"], backend="torch")
    x = torch.tensor([0.0, 0.2, -1.0, 7.0, 1e3], dtype=torch.float64)
    np.testing.assert_allclose(exported(module, x), module(x).detach().numpy(), rtol=1e-12)
