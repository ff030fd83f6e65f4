"""Equations inside programs, `(root …)`: values and derivatives of every order in PyTorch, by the native backend and as torch operations;
lanes without a root; fits, the estimator and exports."""

from __future__ import annotations

import neural_compiler as nc
import numpy as np
import pytest
import torch
from neural_compiler import compile_scheme

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
