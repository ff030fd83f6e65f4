"""Calls where no lane runs, or none of its numbers are there, calls where autograd looks for NaN in every one of its nodes, and exported
programs elsewhere."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import neural_compiler as nc
import pytest
import torch

F64 = torch.float64
LOOP = "(loop ((i 0) (s x)) (if (>= i n) s (recur (+ i 1) (* a s))))"
RECURSION = "(define (f n s) (if (< n 1) s (* a (f (- n 1) s)))) (f n x)"


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("source", [LOOP, RECURSION])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_comes_of_no_numbers_has_derivatives(source: str, device: str, backend: str) -> None:
    module = nc.compile_scheme(source, inputs=["x", "n"], params={"a": 0.5}, backend=backend).to(device)
    x, n = torch.zeros(0 if device == "cpu" else 4, device=device, requires_grad=True), torch.tensor(3.0, device=device)
    result = module(x, n)
    assert result.requires_grad and result.shape == x.shape
    first = torch.autograd.grad(result.sum(), (x, module.a), create_graph=True)
    (second,) = torch.autograd.grad(first[0].sum(), x)
    assert [first[0].shape, first[1].shape, second.shape] == [x.shape, (), x.shape]
    if device == "cpu":
        assert first[1].item() == 0.0
    frozen = module(x.detach(), n)
    assert frozen.requires_grad  # By `a`.
    with torch.no_grad():
        assert not module(x, n).requires_grad
    assert not module.freeze()(x.detach(), n).requires_grad


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_constant_side_has_derivatives_too(backend: str) -> None:
    module = nc.compile_scheme("(define (f n) (if (< n 1) -0.0 (+ x (f (- n 1))))) (f n)", inputs=["x", "n"], backend=backend)
    x = torch.tensor([1.0, 2.0], dtype=F64, requires_grad=True)
    for n in (0.0, torch.tensor([0.0, 0.0], dtype=F64), torch.tensor([0.0, 2.0], dtype=F64)):
        result = module(x, n)
        (slope,) = torch.autograd.grad(result.sum(), x)
        assert slope.tolist() == (n if isinstance(n, torch.Tensor) else x.detach() * 0).tolist()
        assert torch.signbit(result[0])


# Sides that are not finite where the other is taken, at points of both, of one alone, and nested.
GUARDED = {
    "log": ("(if (> x 0) (log x) x)", [1.0, 0.0, -2.0], lambda x: 1 / x if x > 0 else 1.0),
    "no lane": ("(if (> x 0) (log x) x)", [0.0], lambda x: 1.0),
    "beyond one": ("(if (> x 1) (log (- x 1)) (/ 1 (- 3 x)))", [1.0, 2.0, 3.0], lambda x: 1 / (x - 1) if x > 1 else 1 / (3 - x) ** 2),
    "nested": ("(if (> x 0) (if (> x 2) (sqrt (- x 2)) (log x)) 0)", [0.0, 1.0, 2.0, 3.0], lambda x: [0.0, 1.0, 0.5, 0.5][int(x)]),
    "function": ("(define (f z) (if (> z 0) (sqrt z) z)) (* 2 (f x))", [0.0, 4.0], lambda x: 0.5 if x else 2.0),
    "loop": ("(loop ((i 0) (s x)) (if (>= i 1) s (recur (+ i 1) (if (> s 0) (sqrt s) s))))", [0.0, 4.0], lambda x: 0.25 if x else 1.0),
}


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("name", GUARDED)
def test_a_guarded_program_passes_where_nan_is_looked_for(name: str, backend: str) -> None:
    source, at, slope = GUARDED[name]
    module = nc.compile_scheme(source, backend=backend)
    found = []
    # Before, within and after, by the same module: what it keeps of one must not run in the other.
    for looked_for in (False, True, False):
        with torch.autograd.set_detect_anomaly(looked_for):
            x = torch.tensor(at, dtype=F64, requires_grad=True)
            value = module(x)
            (first,) = torch.autograd.grad(value.sum(), x, create_graph=True)
            if first.requires_grad:
                torch.autograd.grad(first.sum(), x)
        found.append((value.detach(), first.detach()))
    assert found[0][1].tolist() == pytest.approx([slope(v) for v in at], rel=1e-14)
    for value, first in found[1:]:
        assert torch.equal(value, found[0][0]) and torch.equal(first, found[0][1])


def test_nan_of_the_program_itself_is_still_found() -> None:
    module = nc.compile_scheme("(if (> x 0) (log x) (* x (sqrt x)))", backend="torch")
    x = torch.tensor([1.0, 0.0], dtype=F64, requires_grad=True)
    with pytest.warns(UserWarning), torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        module(x).sum().backward()


def test_exported_programs_are_read_by_another_process(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "exported.pt2"
    module = nc.compile_scheme("(param k 3.0) (* k x)")
    torch.export.save(torch.export.export(module, (torch.ones(4, dtype=torch.float64),)), path)
    code = f"import torch, neural_compiler.nn; print(torch.export.load({str(path)!r}).module()(torch.ones(4).double()).tolist())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "[3.0, 3.0, 3.0, 3.0]", found.stderr
