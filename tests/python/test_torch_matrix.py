"""Every cell of `torch_matrix` works, or is refused as the documentation says; none is silently wrong.

Cells that compile or trace take seconds: of these, each derivative in each way is tried with one program and backend in turn.
NEURAL_COMPILER_FULL_MATRIX=1 tries them all (ten minutes or so).
"""

from __future__ import annotations

import itertools
import os

import neural_compiler as nc
import pytest
import torch
import torch.utils.flop_counter
import torch_matrix as matrix

SLOW = [w for w in matrix.WAYS if "compile" in w or "export" in w or "make_fx" in w]
EACH = list(itertools.product(matrix.PROGRAMS, ("native", "torch")))


def _cells() -> list[tuple[str, str, str, str]]:
    cells = []
    for a, way in enumerate(matrix.WAYS):
        for b, derivative in enumerate(matrix.DERIVATIVES):
            whole = way not in SLOW or os.environ.get("NEURAL_COMPILER_FULL_MATRIX")
            chosen = EACH if whole else [EACH[(3 * a + b) % len(EACH)]]
            cells += [(way, derivative, *c) for c in chosen]
    return cells


@pytest.mark.parametrize(("way", "derivative", "program", "backend"), _cells())
def test_cell(way: str, derivative: str, program: str, backend: str) -> None:
    found = matrix.verdict(way, derivative, matrix.module(program, backend), matrix.PROGRAMS[program][1])
    refused = matrix.refused(way, derivative, program, backend)
    if refused is None or ((way, derivative) in matrix.SOMETIMES and found == "works"):
        assert found == "works"
    else:
        assert found.startswith("refused: ") and refused in found
        # No more than hand-written torch is, which an assertion of its own refuses by what the process has compiled before.
        hand = matrix.PROGRAMS[program][1]
        assert (way, derivative) in matrix.SOMETIMES or matrix.verdict(way, derivative, hand, hand).startswith("refused: ")


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("program", matrix.PROGRAMS)
def test_operations_are_counted_and_duals_keep_their_tangent(program: str, backend: str) -> None:
    f, hand = matrix.module(program, backend), matrix.PROGRAMS[program][1]
    for derivative in ("jvp", "jacfwd", "dual numbers"):
        with torch.utils.flop_counter.FlopCounterMode(display=False):
            found = matrix.DERIVATIVES[derivative](f)(matrix.X)
        assert torch.allclose(found, matrix.DERIVATIVES[derivative](hand)(matrix.X), rtol=1e-11), derivative


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("derivative", ["jvp", "jacfwd"])
def test_forward_mode_by_the_default_compiler(derivative: str, backend: str) -> None:
    torch._dynamo.reset()
    f, hand = matrix.module("straight", backend), matrix.PROGRAMS["straight"][1]
    found = torch.compile(matrix.TRANSFORMS[derivative](f))(matrix.X)
    assert torch.allclose(found, matrix.TRANSFORMS[derivative](hand)(matrix.X), rtol=1e-11)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("program", matrix.PROGRAMS)
def test_parameters_have_derivatives_in_one_graph(program: str, backend: str) -> None:
    text, hand = matrix.PROGRAMS[program]
    m = nc.compile_scheme(f"(param k 2.0) {text.replace('y', '(* 0.5 k y)')}", inputs=["x", "y"], backend=backend)
    torch._dynamo.reset()

    def of(k: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(m, {"k": k}, (x, matrix.Y)).sum()

    k = m.k.detach()
    pulled = torch.compile(torch.func.grad(of), backend="aot_eager", fullgraph=True)(k, matrix.X)
    pushed = torch.compile(
        lambda k, x: torch.func.jvp(lambda k: of(k, x), (k,), (torch.ones_like(k),))[1], backend="aot_eager", fullgraph=True
    )(k, matrix.X)
    before = matrix.Y.clone()
    step = 1e-6
    try:
        matrix.Y.copy_(before * (1 + step))
        above = hand(matrix.X).sum()
        matrix.Y.copy_(before * (1 - step))
        below = hand(matrix.X).sum()
    finally:
        matrix.Y.copy_(before)
    slope = (above - below) / (2 * step) * 0.5
    assert torch.allclose(pulled, slope, rtol=1e-7) and torch.allclose(pushed, pulled, rtol=1e-12)
