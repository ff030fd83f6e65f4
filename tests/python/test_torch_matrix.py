"""Every cell of `torch_matrix` works, or is refused as the documentation says; none is silently wrong.

Cells that compile or trace take seconds: of these, each derivative in each way is tried with one program and backend in turn.
NEURAL_COMPILER_FULL_MATRIX=1 tries them all (`make test-matrix`).
"""

from __future__ import annotations

import itertools
import os
import pathlib
import subprocess
import sys

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
        # No more than hand-written torch is.
        hand = matrix.PROGRAMS[program][1]
        by_hand = (
            _afresh(way, derivative, program) if (way, derivative) in matrix.SOMETIMES else matrix.verdict(way, derivative, hand, hand)
        )
        assert by_hand.startswith("refused: ") and refused in by_hand


def _afresh(way: str, derivative: str, program: str) -> str:
    """What hand-written torch gives in a process that has compiled nothing before, which decides in these cells."""
    code = f"import torch_matrix as m; h = m.PROGRAMS[{program!r}][1]; print(m.verdict({way!r}, {derivative!r}, h, h))"
    folder = pathlib.Path(__file__).parent
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("derivative", [d for _, d in sorted(matrix.SOMETIMES)])
def test_hand_written_torch_is_refused_where_the_matrix_says_sometimes(derivative: str) -> None:
    assert matrix.REFUSED["`torch.compile`", derivative][0] in _afresh("`torch.compile`", derivative, "straight")


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
@pytest.mark.parametrize("program", ["branch", "loop", "recursion"])
def test_backward_by_the_default_compiler(program: str, backend: str) -> None:
    torch._dynamo.reset()
    f, hand = matrix.module(program, backend), matrix.PROGRAMS[program][1]
    x = matrix.X.clone().requires_grad_()
    value = torch.compile(f)(x)
    (slope,) = torch.autograd.grad(value, x, matrix.V)
    assert torch.allclose(value, hand(matrix.X), rtol=1e-11)
    assert torch.allclose(slope, matrix.OUTSIDE["backward"](hand)(matrix.X), rtol=1e-11)


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
