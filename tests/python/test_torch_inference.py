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
def test_odeint_starts_at_inference_tensors(backend: str) -> None:
    with torch.inference_mode():
        start = torch.tensor(2.0, dtype=torch.float64)
    decay = compile_scheme("(param k 1.0) (state x 1.0) (derive x (* (- k) x))", backend=backend)
    end = odeint(decay, {"x": start}, torch.tensor([0.0, 1.0], dtype=torch.float64), rtol=1e-10)["x"][-1]
    (slope,) = torch.autograd.grad(end, decay.k)
    assert end.item() == pytest.approx(2 * np.exp(-1), rel=1e-8) and slope.item() == pytest.approx(-2 * np.exp(-1), rel=1e-7)


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
