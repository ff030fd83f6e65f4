"""Loops without an end as torch operations: the native engine, asked whether a long run ends, says what limit it meets."""

from __future__ import annotations

import math

import pytest
import torch
from neural_compiler import compile_scheme
from neural_compiler.errors import EvaluationError
from neural_compiler.fx import machine
from neural_compiler.nn import run

F64 = torch.float64
COUNTED = "(loop ((i 0) (s 0)) (if (= i n) s (recur (+ i 1) (+ s x))))"
DEEP = "(define (f n) (if (< n 0) 0 (+ 1 (f n)))) (f x)"
"""Nested for ever where x is not below 0: natively an error within a blink."""


@pytest.mark.parametrize("gradient", [False, True])
def test_a_long_run_ends_as_the_native_engine_says(gradient: bool) -> None:
    x = torch.tensor([-1.0, -2.0, 1.0], dtype=F64, requires_grad=gradient)
    with pytest.raises(EvaluationError) as native:
        compile_scheme(DEEP)(x)
    module = compile_scheme(DEEP, backend="torch")
    for control in module._compiled.lowered((), ((),)).code.modules():
        if isinstance(control, machine.Control):
            # By itself torch code would go on beyond, and end in other words.
            control.regions.limits.depth = control.regions.limits.steps = machine.LONG + 64
    with pytest.raises(EvaluationError) as other:
        module(x)
    assert "nested more than 10000" in str(native.value).replace(",", "") and str(other.value) == str(native.value)
    assert other.value.lane == native.value.lane == 2


def test_it_is_asked_once_and_a_run_that_ends_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    asked = run._limit_met
    monkeypatch.setattr(machine, "LONG", 50)
    monkeypatch.setattr(run, "_limit_met", lambda *given: answers.append(asked(*given)))
    module = compile_scheme(COUNTED, inputs=["n", "x"], backend="torch")
    n, x = torch.tensor([200.0, 3.0], dtype=F64), torch.tensor(2.0, dtype=F64, requires_grad=True)
    found = module(n, x)
    found.sum().backward()
    assert found.tolist() == [400.0, 6.0] and x.grad is not None and x.grad.item() == 203.0 and answers == [None]
    assert torch.func.grad(lambda x: module(n[0], x))(x.detach()).item() == 200.0
    assert torch.func.vmap(lambda n: module(n, x.detach()))(n).tolist() == [400.0, 6.0] and set(answers) == {None}
    before = list(answers)
    short = module(torch.tensor(48.0), torch.tensor(1.0))
    assert short.item() == 48.0 and answers == before


def test_a_lane_of_nan_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native engine's own way to the limit takes a while: here it says at once what it would."""
    monkeypatch.setattr(machine, "LONG", 50)

    def says(*_: object) -> EvaluationError:
        try:
            compile_scheme(DEEP)(torch.ones(2))
        except EvaluationError as error:
            return error
        raise AssertionError("it has an end")

    monkeypatch.setattr(run, "_limit_met", says)
    module = compile_scheme(COUNTED, inputs=["n", "x"], backend="torch")
    with pytest.raises(EvaluationError, match="nested more than"):
        module(torch.tensor([3.0, math.nan, 4.0], dtype=F64), 1.0)
