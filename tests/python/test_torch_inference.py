"""Tensors of `torch.inference_mode` as inputs and parameters, and messages for values that are no numbers yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import neural_compiler as nc
import numpy as np
import polars as pl
import pytest
import torch
from neural_compiler import compile_scheme, odeint

STRAIGHT = "(* k (sin x))"
LOOP = "(loop ((i 0) (s (sin x))) (if (>= i 1) s (recur (+ i 1) (* k s))))"


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("source", [STRAIGHT, LOOP])
def test_inference_tensors_are_taken_where_autograd_looks_on(source: str, backend: str) -> None:
    with torch.inference_mode():
        x = torch.tensor([0.5, 1.0], dtype=torch.float64)
        made = compile_scheme(source, inputs=["x"], params={"k": 2.0}, backend=backend)
        assert made(x).is_inference()
    module = compile_scheme(source, inputs=["x"], params={"k": 2.0}, backend=backend)
    for m in (module, made):
        found = m(x)
        (slope,) = torch.autograd.grad(found.sum(), m.k)
        assert torch.allclose(found, 2 * torch.sin(x), rtol=1e-15) and slope.item() == pytest.approx(torch.sin(x).sum().item(), rel=1e-15)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("source", ["(* (exp k) x)", "(* (exp x) k)", LOOP])
def test_inference_tensors_keep_their_gradients_call_after_call(source: str, backend: str) -> None:
    with torch.inference_mode():
        made = compile_scheme(source, inputs=["x"], params={"k": 2.0}, backend=backend)
        x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    usual = compile_scheme(source, inputs=["x"], params={"k": 2.0}, backend=backend)
    other = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    wanted = torch.autograd.grad(usual(other).sum(), (usual.k, other))
    for module in (made, usual, made, usual):
        # The quick way of a later call begins with what the first one left.
        for given in (x, other, x.detach(), x):
            wrt = (module.k, given) if given.requires_grad else (module.k,)
            assert all(map(torch.equal, torch.autograd.grad(module(given).sum(), wrt), wanted))
        with torch.no_grad():
            assert torch.equal(module(x), usual(other))
    with torch.inference_mode():
        assert made(x).is_inference() and torch.equal(made(x), usual(other))


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_odeint_starts_at_inference_tensors(backend: str) -> None:
    with torch.inference_mode():
        start = torch.tensor(2.0, dtype=torch.float64)
    decay = compile_scheme("(param k 1.0) (state x 1.0) (derive x (* (- k) x))", backend=backend)
    end = odeint(decay, {"x": start}, torch.tensor([0.0, 1.0], dtype=torch.float64), rtol=1e-10)["x"][-1]
    (slope,) = torch.autograd.grad(end, decay.k)
    assert end.item() == pytest.approx(2 * np.exp(-1), rel=1e-8) and slope.item() == pytest.approx(-2 * np.exp(-1), rel=1e-7)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("method", ["rk4", "dopri5", "rosenbrock"])
def test_odeint_solves_models_made_in_inference_mode(method: str, backend: str) -> None:
    source = "(param k 1.0) (state x 1.0) (derive x (* (- k) x))"
    with torch.inference_mode():
        made = compile_scheme(source, backend=backend)
        starts = [torch.tensor(2.0, dtype=torch.float64, requires_grad=True), torch.tensor([[2.0], [3.0]], dtype=torch.float64)]
        starts.append(torch.tensor([[2.0], [3.0]], dtype=torch.float64, requires_grad=True))
    usual = compile_scheme(source, backend=backend)
    for start in starts:
        found = []
        for module, y0 in ((made, start), (made, start), (usual, start.clone().detach().requires_grad_(start.requires_grad))):
            end = odeint(module, y0 if y0.dim() else {"x": y0}, [0.0, 0.5, 1.0], method=method)
            end = (end if y0.dim() else end["x"])[-1]
            found.append((end, *torch.autograd.grad(end.sum(), (module.k, y0) if y0.requires_grad else (module.k,))))
        assert all(torch.equal(a, b) for other in found[:2] for a, b in zip(other, found[2], strict=True))


def test_odeint_differentiates_a_function_by_an_inference_tensor() -> None:
    with torch.inference_mode():
        start = torch.tensor([[2.0], [3.0]], dtype=torch.float64, requires_grad=True)
    for per_lane in (False, True):
        end = odeint(lambda t, y: -y, start, [0.0, 1.0], rtol=1e-10, per_lane=per_lane)[-1]
        np.testing.assert_allclose(torch.autograd.grad(end.sum(), start)[0].numpy(), np.exp(-1.0), rtol=1e-7)


LAZY = pl.DataFrame({"x": [1.0, 2.0]}).lazy()
HALF = np.array([1.0, 2.0], dtype=ml_dtypes.bfloat16)
CALLS: list[Callable[[Any], Any]] = [compile_scheme("(* 2 x)"), nc.compile("(* 2 x)")]


@pytest.mark.parametrize("call", CALLS, ids=["module", "program"])
def test_what_is_no_number_yet_is_refused_with_what_to_do(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"LazyFrame, which has no data yet: give a column of what its collect\(\) returns"):
        call(LAZY)
    with pytest.raises(TypeError, match=r"ndarray of bfloat16: convert it first, `.astype\(numpy.float32\)`"):
        call(HALF)


def test_lazy_frames_have_no_rows_to_map() -> None:
    with pytest.raises(TypeError, match=r"a LazyFrame has no data yet: give what its collect\(\) returns"):
        nc.compile("(* 2 x)").map_arrow(LAZY)
