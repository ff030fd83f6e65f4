"""Equations inside programs, `(root …)`: values and derivatives of every order in PyTorch, by the native backend and as torch operations;
lanes without a root; fits, the estimator and exports."""

from __future__ import annotations

from collections.abc import Callable

import neural_compiler as nc
import numpy as np
import pytest
import torch
from neural_compiler import compile_scheme, fx
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

F64 = torch.float64
KEPLER = "(root (E M) (- E (* e (sin E)) M))"
BRACKET = "(root (E (- M 1) (+ M 1)) (- E (* e (sin E)) M))"
SYSTEM = "(root (v [0.5 3]) [(- (+ (ref v 0) (ref v 1)) M) (- (* (ref v 0) (ref v 1)) e)])"


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("source", [KEPLER, BRACKET, SYSTEM])
def test_derivatives_of_every_order(source: str, backend: str) -> None:
    module = compile_scheme(source, inputs=["M", "e"], backend=backend).double()
    m = torch.tensor([2.9, 3.0, 3.3], dtype=F64, requires_grad=True)
    e = torch.tensor([0.5, 0.1, 0.9], dtype=F64, requires_grad=True)
    assert torch.autograd.gradcheck(module, (m, e))
    assert torch.autograd.gradgradcheck(module, (m, e))


def test_the_third_order_is_that_of_forty_digits() -> None:
    # tests/data/roots.py of the Rust tests: d³E/dM de² and d³E/de³ at M = 1, e = 1/2.
    for backend in ("native", "torch"):
        module = compile_scheme(KEPLER, inputs=["M", "e"], backend=backend).double()
        m, e = (torch.tensor(x, dtype=F64, requires_grad=True) for x in (1.0, 0.5))
        value = module(m, e)
        for _ in range(2):
            (value,) = torch.autograd.grad(value, e, create_graph=True)
        by_m, by_e = torch.autograd.grad(value, (m, e))
        assert abs(by_m.item() + 1.608275300005589) < 1e-11 and abs(by_e.item() + 2.8127892253186904) < 1e-11, backend


def test_no_root_names_its_lane() -> None:
    for backend in ("native", "torch"):
        module = compile_scheme("(root (x 1) (- (* x x) a))", backend=backend).double()
        with pytest.raises(nc.EvaluationError) as caught:
            module(torch.tensor([4.0, -1.0, 9.0], dtype=F64))
        assert caught.value.lane == 1 and caught.value.diagnostic.code == "no-root"


def test_fits_and_the_estimator() -> None:
    from neural_compiler.sklearn import EquationRegressor

    a = np.linspace(0.5, 4, 40)
    y = np.cbrt(2.5 * a)
    model = "(param k 1) (root (x 1) (- (* x x x) (* k a)))"
    assert abs(nc.fit(model, {"a": a, "y": y}).params["k"] - 2.5) < 1e-10
    assert np.allclose(EquationRegressor(model).fit(a[:, None], y).predict(a[:, None]), y, rtol=1e-10)


POINTS = torch.tensor([2.9, 3.0, 3.3], dtype=F64)
SHARES = torch.tensor([0.5, 0.1, 0.9], dtype=F64)
Of = Callable[[torch.Tensor], torch.Tensor]


def _solved(source: str, backend: str) -> Of:
    """The root, or its first number, of one variable."""
    module = compile_scheme(f"(ref {source} 0)" if source is SYSTEM else source, inputs=["M", "e"], backend=backend).double()
    return lambda m: module(m, SHARES.expand(m.shape) if m.dim() else SHARES[0])


def _exact(source: str, m: torch.Tensor) -> torch.Tensor:
    """The root by hand, with derivatives by autograd: Kepler's equation by steps of Newton's, each with one order more."""
    e = SHARES.expand(m.shape) if m.dim() else SHARES[0]
    if source is SYSTEM:
        return m / 2 - torch.sqrt(m * m / 4 - e)
    x = m
    for _ in range(40):
        x = x - (x - e * torch.sin(x) - m) / (1 - e * torch.cos(x))
    return x


def _duals(f: Of) -> Of:
    def of(m: torch.Tensor) -> torch.Tensor:
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(m, SHARES))).tangent
            assert tangent is not None, "the tangent is gone"
            return tangent.clone()

    return of


TRANSFORMS: dict[str, Callable[[Of], Of]] = {
    "grad": lambda f: grad(lambda m: f(m).sum()),
    "vjp": lambda f: lambda m: vjp(f, m)[1](SHARES)[0],
    "jvp": lambda f: lambda m: jvp(f, (m,), (SHARES,))[1],
    "dual numbers": _duals,
    "jacrev": lambda f: jacrev(f),
    "jacfwd": lambda f: jacfwd(f),
    "hessian": lambda f: hessian(lambda m: f(m).sum()),
    "grad of grad": lambda f: grad(lambda m: grad(lambda n: f(n).sum())(m).sum()),
    "jvp of grad": lambda f: lambda m: jvp(grad(lambda n: f(n).sum()), (m,), (SHARES,))[1],
    "jvp of jvp": lambda f: lambda m: jvp(lambda n: jvp(f, (n,), (SHARES,))[1], (m,), (SHARES,))[1],
    "vmap": lambda f: vmap(f),
    "vmap of grad": lambda f: vmap(grad(lambda m: f(m).sum())),
}


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("source", [KEPLER, BRACKET, SYSTEM], ids=["start", "bracket", "system"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_function_transforms(transform: str, source: str, backend: str) -> None:
    of = TRANSFORMS[transform]
    at = torch.stack([POINTS, POINTS + 0.1]) if transform.startswith("vmap") else POINTS
    found, expected = of(_solved(source, backend))(at), of(lambda m: _exact(source, m))(at)
    assert found.shape == expected.shape and torch.allclose(found, expected, rtol=1e-9, atol=1e-11), (found, expected)


def test_torch_code_has_both_derivatives() -> None:
    code = fx.lower(nc.compile(KEPLER).graph_json())
    order = {n.name: k for k, n in enumerate(nc.compile(KEPLER).inputs)}
    fixed = [SHARES, SHARES]

    def of(m: torch.Tensor) -> torch.Tensor:
        given = list(fixed)
        given[order["M"]] = m
        result: torch.Tensor = code(*given)[0]
        return result

    expected = torch.func.jvp(lambda m: _exact(KEPLER, m), (POINTS,), (SHARES,))[1]
    assert torch.allclose(torch.func.jvp(of, (POINTS,), (SHARES,))[1], expected, rtol=1e-12)
    assert torch.allclose(grad(lambda m: (of(m) * SHARES).sum())(POINTS), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="no `jvp` inside of a `jvp`"):
        TRANSFORMS["jvp of jvp"](of)(POINTS)
