"""Modules made of a parametrized one share the parametrization: their parameters are its originals, and their values follow."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
from neural_compiler import CompiledModule, compile_scheme, compose
from neural_compiler.nn import Param
from torch.nn.utils import parametrize, prune

X = torch.tensor(3.0, dtype=torch.float64)


class Positive(torch.nn.Module):
    """e^z, whose derivative by z is itself."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return torch.exp(z)

    def right_inverse(self, value: torch.Tensor) -> torch.Tensor:
        return torch.log(value)


class Sum(torch.nn.Module):
    """A value of two originals."""

    def forward(self, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        return low + high

    def right_inverse(self, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return value - 1, torch.ones_like(value)


def parametrized(backend: str = "auto") -> CompiledModule:
    """a x² with a = e^z = 2."""
    module = compile_scheme("(* a x x)", params={"a": 2.0}, backend=backend)
    parametrize.register_parametrization(module, "a", Positive())
    return module


def plus() -> CompiledModule:
    return compile_scheme("(+ t 1)")


# Each way to make a module of another, and its value for a and x = 3.
WAYS: dict[str, tuple[Callable[[CompiledModule], CompiledModule], Callable[[float], float]]] = {
    "after": (lambda m: m >> plus(), lambda a: 9 * a + 1),
    "before": (lambda m: compile_scheme("(+ t 1)") >> m, lambda a: 16 * a),
    "compose": (lambda m: compose({"t": m, "result": plus()}), lambda a: 9 * a + 1),
    "prefix": (lambda m: compose({"t": m, "result": plus()}, prefix=True), lambda a: 9 * a + 1),
    "twice": (lambda m: compose({"t": m, "s": m.renamed({"x": "t"}), "result": compile_scheme("(+ s t)")}), lambda a: 81 * a**3 + 9 * a),
    "renamed": (lambda m: m.renamed({"a": "b"}), lambda a: 9 * a),
    "grad": (lambda m: m.grad("x"), lambda a: 6 * a),
    "grad of grad": (lambda m: m.grad("x").grad("x"), lambda a: 2 * a),
    "jacobian": (lambda m: m.jacobian("x"), lambda a: 6 * a),
    "hessian": (lambda m: m.hessian("x"), lambda a: 2 * a),
    "copied": (lambda m: copy.deepcopy(m >> plus()), lambda a: 9 * a + 1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("replace", ["state", "attribute"])
def test_a_parameter_that_takes_another_s_place_does_so_in_modules_made_of_it(way: str, replace: str) -> None:
    base = compile_scheme("(* a x x)", params={"a": 2.0})
    make, value = WAYS[way]
    module = make(base)
    assert module(X).item() == value(2.0)
    if replace == "state":
        base.load_state_dict({"a": torch.tensor(5.0, dtype=torch.float64)}, assign=True)
    else:
        base.a = torch.nn.Parameter(torch.tensor(5.0, dtype=torch.float64))
    if way == "copied":
        assert module(X).item() == value(2.0)
        return
    assert module(X).item() == value(5.0) and next(module.parameters()) is base.a
    module(X).backward()
    assert base.a.grad is not None
    # What a module puts there itself is its own.
    own = torch.nn.Parameter(torch.tensor(7.0, dtype=torch.float64))
    setattr(module, next(name for name, _ in module.named_parameters()), own)
    base.a = torch.nn.Parameter(torch.tensor(3.0, dtype=torch.float64))
    assert module(X).item() == value(7.0) and base(X).item() == 27.0


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("way", WAYS)
def test_the_value_follows(way: str, backend: str) -> None:
    base = parametrized(backend)
    make, value = WAYS[way]
    module = make(base)
    (original,) = module.parameters()
    if way != "copied":
        assert original is base.parametrizations.a.original
    for z in (math.log(2.0), 0.7):
        with torch.no_grad():
            original.fill_(z)
        original.grad = None
        found = module(X)
        found.backward()
        a = math.exp(z)
        assert found.item() == pytest.approx(value(a), rel=1e-14)
        slope = (value(a * (1 + 1e-6)) - value(a * (1 - 1e-6))) / 2e-6  # By z, as a is e^z.
        assert original.grad is not None and original.grad.item() == pytest.approx(slope, rel=1e-8)


def test_several_originals_and_one_more_parametrization_later() -> None:
    base = compile_scheme("(* a x)", params={"a": 2.0})
    parametrize.register_parametrization(base, "a", Sum())
    module = base >> plus()
    assert [n for n, _ in module.named_parameters()] == ["parametrizations.a.original0", "parametrizations.a.original1"]
    with torch.no_grad():
        base.parametrizations.a.original0.fill_(4.0)
    assert module(X).item() == 16.0
    parametrize.register_parametrization(base, "a", Positive())
    assert module(X).item() == pytest.approx(3 * math.exp(5.0) + 1, rel=1e-15) and base.a.item() == module.a.item()


def test_a_vector_has_the_shape_of_its_value() -> None:
    base = compile_scheme("(* (vsum (* a v)) x)", params={"a": torch.tensor([1.0, 2.0])}, inputs={"v": 2, "x": ()})
    parametrize.register_parametrization(base, "a", Positive())
    found = base.grad("v")(v=torch.tensor([1.0, 1.0]), x=torch.tensor(3.0))
    assert torch.allclose(found, torch.tensor([3.0, 6.0]))


def test_different_parametrizations_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="both modules have a parameter `a`"):
        compose({"t": parametrized(), "result": parametrized().renamed({"x": "t"})})


def test_what_a_hook_computes_is_refused() -> None:
    base = compile_scheme("(* (vsum (* a v)) x)", params={"a": torch.tensor([1.0, 2.0])}, inputs={"v": 2, "x": ()})
    prune.l1_unstructured(base, "a", amount=1)
    for make in (lambda m: m.grad("x"), lambda m: m.renamed({"x": "y"}), lambda m: m >> plus()):
        with pytest.raises(ValueError, match="`a` is no parameter of this module any more.*make that module first"):
            make(base)


def test_bounds_are_kept_by_way_of_the_parametrization() -> None:
    base = compile_scheme("(* a x)", params={"a": Param(2.0, min=1.0, max=3.0)})
    parametrize.register_parametrization(base, "a", Positive())
    original = base.parametrizations.a.original
    before = original.item()
    base.project_()
    assert original.item() == before
    with torch.no_grad():
        original.fill_(5.0)
    base.project_()
    assert original.item() == pytest.approx(math.log(3.0), rel=1e-15)
