"""`odeint` and what a model declares: it solves what it knows, from where the model starts, or says why not. And transforms through it."""

from __future__ import annotations

import math
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
import torch
from neural_compiler import compile_scheme, odeint
from torch import Tensor

DECAY = "(param k 2) (state x 1) (derive x (* (- k) x))"


def test_a_map_is_no_differential_equation() -> None:
    text = "(param r 2) (state x 0.25) (next x (* r x (- 1 x)))"
    for y0 in (None, {"x": 0.5}, torch.tensor([0.5])):
        with pytest.raises(ValueError, match=r"a map \(`next`\).*`simulate`"):
            odeint(compile_scheme(text), y0, [0.0, 1.0, 2.0])
    assert nc.simulate(text, [0.0, 1.0, 2.0])["x"].tolist() == [0.25, 0.375, 0.46875]


def test_declared_values_hold_at_the_declared_time() -> None:
    text = "(time t :start 1) (state x 1) (derive x (* t x))"
    model = compile_scheme(text)
    for t in ([0.0, 1.0], torch.tensor([0.0, 1.0])):
        with pytest.raises(ValueError, match="declared values at 1, the first time is 0"):
            odeint(model, None, t)
    double = torch.tensor([1.0, 0.0], dtype=torch.float64)
    found = odeint(model, None, double, rtol=1e-10)["x"]
    assert found[-1].item() == pytest.approx(math.exp(-0.5), rel=1e-8)
    np.testing.assert_allclose(found.numpy()[::-1], nc.simulate(text, [0.0, 1.0], rtol=1e-10)["x"], rtol=1e-8)
    # What the caller says holds where the caller says.
    given = odeint(model, {"x": torch.tensor(1.0, dtype=torch.float64)}, [0.0, 1.0], rtol=1e-10)["x"]
    assert given[-1].item() == pytest.approx(math.exp(0.5), rel=1e-8)


def test_starts_the_model_computes_are_named() -> None:
    for start in ("(* k 3)", "(steady)"):
        model = compile_scheme(f"(param k 2) (state x {start}) (derive x (- k x))")
        with pytest.raises(TypeError, match="the start of `x` is one the model computes"):
            odeint(model, None, [0.0, 1.0])
        assert odeint(model, {"x": 2.0}, [0.0, 1.0])["x"].detach().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_initial_values_that_are_no_numbers_are_named(bad: float) -> None:
    with pytest.raises(ValueError, match="the initial value of `x` is not finite"):
        odeint(compile_scheme(DECAY), {"x": torch.tensor([1.0, bad])}, [0.0, 1.0])
    with pytest.raises(ValueError, match="the initial value of `y` is not finite"):
        odeint(lambda t, y: -y, torch.tensor([bad]), [0.0, 1.0])


def test_initial_values_are_read_as_inputs_are() -> None:
    model = compile_scheme(DECAY)
    found = odeint(model, {"x": np.array([3.0, 2.0, 1.0])[::-1]}, [0.0, 1.0])["x"]
    assert found[0].detach().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="`x` is a masked array"):
        odeint(model, {"x": np.ma.masked_array([1.0, 2.0], [0, 1])}, [0.0, 1.0])
    with pytest.raises(TypeError, match="`x` is complex"):
        odeint(model, {"x": 1 + 2j}, [0.0, 1.0])


@pytest.mark.parametrize("method", ["dopri5", "rosenbrock", "auto"])
@pytest.mark.parametrize("plain", [False, True])
def test_transforms_go_through_steps_that_choose_their_lengths(method: str, plain: bool) -> None:
    # x' = -x^2 from a: x(1) = a / (1 + a).
    model = compile_scheme("(state x 1) (derive x (* -1 x x))")

    def end(a: Tensor, t: Any = 1.0) -> Tensor:
        times = torch.stack([torch.zeros((), dtype=torch.float64), torch.as_tensor(t, dtype=torch.float64)])
        if plain:
            return odeint(lambda _, y: -y * y, a[None], times, method=method, rtol=1e-9)[-1, 0]
        return odeint(model, {"x": a}, times, method=method, rtol=1e-9)["x"][-1]

    a, one = torch.tensor(2.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    for transform in (torch.func.grad, torch.func.jacfwd, torch.func.jacrev):
        # By the time: -x^2 at the end.
        by_start, by_time = transform(end, argnums=(0, 1))(a, one)
        assert by_start.item() == pytest.approx(1 / 9, rel=1e-6) and by_time.item() == pytest.approx(-4 / 9, rel=1e-6)
    assert torch.func.hessian(end)(a).item() == pytest.approx(-2 / 27, rel=1e-5)
    with pytest.raises(RuntimeError, match=r'`torch.func.vmap` hides.*method="rk4"'):
        torch.func.vmap(end)(torch.stack([a, one]))


def test_transforms_go_through_checked_calls() -> None:
    root = compile_scheme("(sqrt x)")

    def checked(x: Tensor) -> Tensor:
        return root(x, check=True)

    for transform in (torch.func.grad, torch.func.jacfwd, torch.func.jacrev):
        assert transform(checked)(torch.tensor(4.0)).item() == 0.25
        with pytest.raises(nc.EvaluationError, match="leaves the safe domain"):
            transform(checked)(torch.tensor(-4.0))
    with pytest.raises(RuntimeError, match="check=True.*vmap"):
        torch.func.vmap(checked)(torch.ones(3))


def test_the_time_a_model_declares_is_the_time() -> None:
    model = nc.compile_scheme("(time s) (state x 0.0) (derive x s)")
    found = nc.odeint(model, {"x": torch.zeros((), dtype=torch.float64)}, [0.0, 1.0, 2.0], method="rk4")
    assert torch.allclose(found["x"], torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64), rtol=1e-12)
    with pytest.raises(ValueError, match="`s` is the time that the model declares"):
        nc.odeint(model, None, [0.0, 1.0], inputs={"s": 3.0})
    other = nc.compile_scheme("(state x 0.0) (derive x (* s t))", inputs=["s", "t"])
    found = nc.odeint(other, {"x": torch.zeros((), dtype=torch.float64)}, [0.0, 2.0], inputs={"s": 3.0}, method="rk4")
    assert found["x"][-1].item() == pytest.approx(6.0, rel=1e-12)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "rosenbrock"])
def test_times_that_single_precision_does_not_tell_apart_are_refused(method: str) -> None:
    def law(t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(y)

    late = [1.7e9 + i for i in range(5)]
    for times in (late, torch.tensor(late, dtype=torch.float64)):
        with pytest.raises(ValueError, match="lose their distance in torch.float32"):
            nc.odeint(law, torch.zeros(1), times, method=method)
        found = nc.odeint(law, torch.zeros(1, dtype=torch.float64), times, method=method)
        assert found[:, 0].tolist() == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0], abs=1e-6)
    assert nc.odeint(law, torch.zeros(1), [0.0, 0.01, 100.0, 100.01], method=method).shape == (4, 1)
