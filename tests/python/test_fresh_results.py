"""Results lie in memory of their own, in order, whatever runs the program: changing one changes no input, parameter or other result."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from neural_compiler import compile_scheme
from neural_compiler.fx import lower
from torch import Tensor

V = torch.arange(6, dtype=torch.float64).reshape(2, 3)
M = torch.arange(8, dtype=torch.float64).reshape(2, 2, 2)
X = torch.tensor([0.5, 2.0], dtype=torch.float64)

PROGRAMS: dict[str, tuple[str, Any, Tensor]] = {
    "the input": ("x", ["x"], X),
    "the input of a loop": ("(loop ((i 0)) (if (>= i 3) x (recur (+ i 1))))", ["x"], X),
    "a parameter": ("k", ["x"], X),
    "a parameter of a loop": ("(loop ((i 0)) (if (>= i 3) k (recur (+ i 1))))", ["x"], X),
    "a constant": ("2", ["x"], X),
    "an element": ("(ref v 0)", {"v": 3}, V),
    "the vector": ("v", {"v": 3}, V),
    "one number, repeated": ("(fill x 3)", ["x"], X),
    "a transpose": ("(transpose m)", {"m": (2, 2)}, M),
    "a transpose, and more": ("(* 2 (transpose m))", {"m": (2, 2)}, M),
    "a side of a branch": ("(if (> 1 0) x 0)", ["x"], X),
    "a comparison": ("(> x 1)", ["x"], X),
}


def assert_own(found: Tensor, given: list[Tensor]) -> None:
    assert found.is_contiguous(), found.stride()
    memory = found.untyped_storage().data_ptr()
    assert all(memory != other.untyped_storage().data_ptr() for other in given)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("derived", [None, "grad", "jacobian"])
@pytest.mark.parametrize("what", PROGRAMS)
def test_results_are_their_own(what: str, derived: str | None, backend: str) -> None:
    text, inputs, given = PROGRAMS[what]
    module = compile_scheme(text, inputs, {"k": 2.0} if "k" in text.split() or "k (" in text else {}, backend=backend)
    name = next(iter(inputs))
    scalar = what not in ("the vector", "one number, repeated") and "transpose" not in what
    if derived == "grad" and not scalar:
        module = module.jacobian(name)
    elif derived:
        module = getattr(module, derived)(name)
    for batch in (given, given[0]):
        before = batch.clone()
        with torch.no_grad():
            for _ in range(2):  # The second call goes a quicker way.
                found = module(batch)
                expected = found.clone()
                assert_own(found, [batch, *module.parameters()])
                found.add_(1)
                assert torch.equal(batch, before)
                assert torch.equal(module(batch), expected)


def test_no_two_results_share_memory() -> None:
    module = compile_scheme("(* x y)", backend="torch").hessian("x", "y")
    found = module(X, X)
    assert len({r.untyped_storage().data_ptr() for r in found}) == 4
    assert all(r.is_contiguous() for r in found)


def test_torch_code_gives_results_of_its_own() -> None:
    (found,) = lower(compile_scheme("(transpose m)", {"m": (2, 2)}).graph.to_dict())(M)
    assert_own(found, [M])


@pytest.mark.parametrize("text", ["(loop ((i 0)) (if (>= i 3) x (recur (+ i 1))))", "x", "(ref (vec x 1) 0)"])
def test_compiled_code_changes_nothing_of_the_caller(text: str) -> None:
    module = compile_scheme(text, ["x"], backend="torch")

    def changed(x: Tensor) -> Tensor:
        found = module(x * 1)
        found.add_(1)
        return found

    x = X.clone()
    assert torch.equal(torch.compile(changed, backend="aot_eager")(x), X + 1)
    assert torch.equal(x, X)


@pytest.mark.parametrize(
    "text", ["(loop ((i 0) (s x)) (if (>= i n) s (recur (+ i 1) (* s s))))", "(loop ((i 0)) (if (>= i n) 2 (recur (+ i 1))))"]
)
def test_loops_compiled_by_inductor_have_the_strides_they_announce(text: str) -> None:
    module = compile_scheme(text, ["x", "n"], backend="torch")
    x, n = X.clone().requires_grad_(), torch.tensor(2.0, dtype=torch.float64)
    found = torch.compile(module)(x, n)
    (slope,) = torch.autograd.grad(found.sum(), x)
    quartic = "(s x)" in text
    torch.testing.assert_close(found.detach(), X**4 if quartic else torch.full_like(X, 2), rtol=1e-15, atol=0)
    torch.testing.assert_close(slope, 4 * X**3 if quartic else torch.zeros_like(X), rtol=1e-15, atol=0)
