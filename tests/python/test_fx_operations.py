"""Every operation of the table in torch: the list is complete, and each agrees with the native kernel and its derivative rule."""

from __future__ import annotations

import math
from fractions import Fraction

import neural_compiler as nc
import numpy as np
import pytest
import torch
from fx_compare import DTYPES, close, gradient, listed
from neural_compiler.fx import lower
from neural_compiler.fx.operations import OPERATIONS

ELEMENTWISE = [o for o in nc.operations() if o.elementwise and o.surface]

# Where torch's derivative follows another convention, or loses the digits native rules keep: (operation, probe) -> why.
CONVENTIONS = {
    "Min": lambda x, y: math.isnan(x) or math.isnan(y),  # torch hands the slope of a NaN to both
    "Max": lambda x, y: math.isnan(x) or math.isnan(y),
    "Relu": math.isnan,
    "Abs": math.isnan,
    # Where the value is infinite: -inf or NaN. Of a negative base only whole powers are real: no slope by y, where torch has NaN.
    "Pow": lambda x, y: (x == 0 and y <= 0) or x < 0,
    "Modulo": lambda x, y: y == 0 or math.isinf(x),  # the value is NaN
    "Remainder": lambda x, y: y == 0 or math.isinf(x),
    "BetaP": lambda a, b, x: x > 1,
    "BetaQ": lambda a, b, x: x > 1,
    "Atan2": lambda y, x: (x == 0 and y == 0) or math.isinf(x) or math.isinf(y),  # torch: 0 at the origin, which has no angle
}

# What torch has these special functions made of loses digits, and has no value of its own at poles and far away: twelve digits (in f32
# four) are asked for, at arguments of ordinary size. The native kernels are held to their own bounds elsewhere.
SPECIAL = {"Erfcx", "Gamma", "Lgamma", "Digamma", "Trigamma", "Beta", "Lbeta", "NormalCdf", "NormalLogCdf", "GammaP", "GammaQ"}
SPECIAL |= {"Voigt", "BetaP", "BetaQ", "BesselJ0", "BesselJ1", "BesselI0", "BesselI1", "BesselK0", "BesselK1"}


def test_the_list_is_complete() -> None:
    # Composite operations are made of others by the compiler: no graph has them as nodes.
    assert set(OPERATIONS) == {o.op for o in nc.operations() if not o.composite}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("operation", ELEMENTWISE, ids=lambda o: o.op)
def test_agrees_on_the_table_s_probes(operation: nc.Operation, dtype: torch.dtype) -> None:
    names = "xyz"[: len(operation.probes[0])]
    program = nc.compile(f"({operation.name} {' '.join(names)})", inputs=list(names))
    # Ratios beyond the largest number are out of the range of torch's fmod.
    probes = [p for p in operation.probes if not (operation.op in ("Modulo", "Remainder") and p == (1e300, 1e-300))]
    special = operation.op in SPECIAL
    if special:
        probes = [p for p in probes if all(0.01 < x < 30 for x in p)]
    assert probes
    columns = [torch.tensor([p[k] for p in probes], dtype=dtype) for k in range(len(names))]
    xs = [c.clone().requires_grad_() for c in columns]
    (value,) = lower(program.graph_json())(*xs)
    with np.errstate(all="ignore"):
        expected = torch.from_numpy(program(*(c.numpy() for c in columns)))
        slopes = listed(program.grad(*names)(*(c.numpy() for c in columns)), len(names))
    for k in range(len(probes)):
        # Four units in the last place: the library of torch has functions that are off by more than one. (Both number formats flush
        # or keep the smallest numbers; those differ by less than the smallest normal number.)
        digits = {torch.float64: 1e-12, torch.float32: 1e-4}[dtype] if special else 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(value[k].detach(), expected[k], rtol=digits, atol=torch.finfo(dtype).tiny, equal_nan=True)
    odd = CONVENTIONS.get(operation.op, lambda *_: False)
    usual = torch.tensor([not odd(*p) for p in zip(*(c.tolist() for c in columns))])
    for name, slope, want in zip(names, gradient(value, xs), slopes):
        for found, should in zip(slope[usual], torch.from_numpy(np.asarray(want))[usual]):
            # torch's rules for asin, tanh and sigmoid cancel where the native ones do not.
            cancels = operation.op in ("Asin", "Acos", "Sigmoid", "Tanh")
            tolerance = (
                1e-10
                if special and dtype == torch.float64
                else 1e-3
                if special
                else 0.25 * torch.finfo(dtype).eps ** 0.5
                if cancels
                else 128 * torch.finfo(dtype).eps
            )
            torch.testing.assert_close(
                found, should, rtol=tolerance, atol=1e-15 if dtype == torch.float64 else 1e-7, equal_nan=True, msg=f"d/d{name}"
            )


@pytest.mark.parametrize("operation", ELEMENTWISE, ids=lambda o: o.op)
def test_applies_to_vectors_and_constants(operation: nc.Operation) -> None:
    count = len(operation.probes[0])
    generator = torch.Generator().manual_seed(7)
    values = [torch.rand(4, 3, dtype=torch.float64, generator=generator) * 0.8 + 0.1 for _ in range(count)]
    names = "xyz"[:count]
    whole = nc.compile(f"({operation.name} {' '.join(names)})", inputs=dict.fromkeys(names, 3))
    close(
        lower(whole.graph_json())(*values)[0],
        torch.from_numpy(whole(*(v.numpy() for v in values))),
        4000 if operation.op in SPECIAL else 4,
        operation.op,
    )
    for constant in range(count) if count > 1 else ():
        parts = [n if k != constant else "0.3" for k, n in enumerate(names)]
        program = nc.compile(f"({operation.name} {' '.join(parts)})", inputs={n: 3 for k, n in enumerate(names) if k != constant})
        given = [v for k, v in enumerate(values) if k != constant]
        close(
            lower(program.graph_json())(*given)[0],
            torch.from_numpy(program(*(v.numpy() for v in given))),
            4000 if operation.op in SPECIAL else 4,
            f"{operation.op} {parts}",
        )


def test_whole_division_is_exact() -> None:
    # x / y rounds up to a whole number in each of these; the true quotient lies below it.
    pairs = [(2.9999999999999996, 1.0), (0.99999999999999989, 0.1), (1.0, 0.1), (-1.0, 0.1), (4503599627370497.5, 0.5), (1e15 + 0.3, 0.1)]
    program = nc.compile("(quotient x y)", inputs=["x", "y"])
    x, y = (torch.tensor([p[k] for p in pairs], dtype=torch.float64) for k in (0, 1))
    (value,) = lower(program.graph_json())(x, y)
    assert value.tolist() == [float(math.trunc(Fraction(a) / Fraction(b))) for a, b in pairs]
    assert value.tolist() == program(x.numpy(), y.numpy()).tolist()


def test_scheme_s_signs() -> None:
    x, y = torch.tensor([7.0, -7.0, 7.0, -7.0]), torch.tensor([2.0, 2.0, -2.0, -2.0])
    found = {
        op: lower(nc.compile(f"({op} x y)", inputs=["x", "y"]).graph_json())(x, y)[0].tolist() for op in ("modulo", "remainder", "quotient")
    }
    assert found == {"modulo": [1, 1, -1, -1], "remainder": [1, -1, 1, -1], "quotient": [3, -3, -3, 3]}


def test_nothing_is_clamped() -> None:
    x = torch.tensor([-1.0, 0.0, 4.0], dtype=torch.float64)
    root, log, inverse = (lower(nc.compile(f"({op} x)").graph_json())(x)[0].tolist() for op in ("sqrt", "log", "/"))
    assert math.isnan(root[0]) and root[1:] == [0.0, 2.0]
    assert math.isnan(log[0]) and log[1] == -math.inf
    assert inverse == [-1.0, math.inf, 0.25]


def test_small_results_of_the_normal_distribution():
    module = nc.compile_scheme("(normal-cdf x)", backend="torch")
    assert float(module(torch.tensor(-12.2, dtype=torch.float64))) == pytest.approx(1.55411978638961e-34, rel=1e-12)


def test_digamma_at_poles_of_the_tangent():
    """Derivatives of higher order are those of the native operation, which polygamma(2, -1.5) of mpmath 1.3 stands for."""
    x = torch.tensor([-1.5, -4.5, -6.5, -2.5, -0.5, -1.5 + 1e-8, -1.5 + 1e-6, 0.3, 1.0, 2.5], dtype=torch.float64, requires_grad=True)

    def orders(module):
        values = [module(x)]
        for _ in range(3):
            values += torch.autograd.grad(values[-1].sum(), x, create_graph=True)
        return [v.detach() for v in values]

    ours, native = orders(nc.compile_scheme("(digamma x)", backend="torch")), orders(nc.compile_scheme("(digamma x)"))
    assert float(ours[2][0]) == pytest.approx(-0.2362040516417274, rel=1e-12)
    for order, (found, should) in enumerate(zip(ours, native, strict=True)):
        torch.testing.assert_close(found, should, rtol=1e-9, atol=1e-12, msg=f"order {order}")


def test_digamma_has_no_value_at_its_poles():
    poles = torch.tensor([-1.0, -2.0, -1e15], dtype=torch.float64)
    assert nc.compile_scheme("(digamma x)", backend="torch")(poles).isnan().all()
    assert nc.compile_scheme("(digamma x)")(poles).isnan().all()
