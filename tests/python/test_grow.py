"""`neural_compiler.grow`: the paper's claims about modules that grow: exact, frozen, interpretable, composable."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from pathlib import Path

import neural_compiler as nc
import pytest
import torch
from neural_compiler import grow
from torch import Tensor

EXAMPLE = Path(__file__).parents[2] / "examples/grow/continual.py"
U = torch.linspace(-2, 2, 41, dtype=torch.float64)
V = torch.linspace(0.5, 3, 41, dtype=torch.float64)
PROGRAMS = {"square": "(square x)", "double": "(* 2 x)", "decay": "(param k 3)\n(exp (- (* k t)))", "ratio": "(/ a b)"}


def bits(x: Tensor) -> bytes:
    return x.detach().numpy().tobytes()


def test_exact() -> None:
    model = grow.Growing(PROGRAMS)
    assert model.learn("q", {"u": U, "v": V}, U / V).program == "ratio"
    assert model.choice("q").columns == {"a": "u", "b": "v"} and model.choice("q").error == 0
    assert bits(model("q", u=U, v=V)) == bits(nc.compile_scheme("(/ a b)")(a=U, b=V))
    # Inputs the other way round are another choice, and gradients go through.
    assert model.learn("p", {"u": U + 5, "v": V}, V / (U + 5)).columns == {"a": "v", "b": "u"}
    w = V.clone().requires_grad_()
    model("q", u=U, v=w).sum().backward()
    assert w.grad is not None and torch.allclose(w.grad, -U / V**2)


def test_frozen() -> None:
    model = grow.Growing(PROGRAMS)
    model.learn("a", {"u": U}, U * U)
    model.learn("d", {"u": U}, torch.exp(-3 * U))
    before = {t: bits(model(t, u=U)) for t in ("a", "d")}
    state = {n: bits(p) for n, p in model.state_dict().items()}
    model.add("cube", "(* x x x)")
    model.learn("b", {"u": U}, U**3)
    assert {t: bits(model(t, u=U)) for t in ("a", "d")} == before
    assert {n: bits(p) for n, p in model.state_dict().items() if n in state} == state
    assert not any(p.requires_grad for p in model.parameters())
    for again in (lambda: model.add("cube", "(sin x)"), lambda: model.learn("a", {"u": U}, U)):
        with pytest.raises(ValueError, match="never changes"):
            again()


def test_interpretable() -> None:
    model = grow.Growing(PROGRAMS)
    model.learn("area", {"side": U}, U * U)
    said = model.explain("area")
    assert said == "area = square(x=side), exact: (square x)"
    assert bits(nc.compile_scheme(said.split(": ", 1)[1])(x=U)) == bits(model("area", side=U))
    with pytest.raises(KeyError, match="learned were area"):
        model.explain("volume")


def test_composable() -> None:
    model = grow.Growing(PROGRAMS)
    both = model.compose("square-of-double", "square", "double")
    assert bits(both(x=U)) == bits((2 * U) ** 2)
    assert model.learn("c", {"u": U}, 4 * U * U).program == "square-of-double"


def test_what_is_missing_is_asked_for_or_said() -> None:
    model = grow.Growing({"square": "(square x)", "log": "(log x)"})
    with pytest.raises(ValueError, match=r"no program computes `s`: the best is"):
        model.learn("s", {"u": U}, torch.sin(U))
    assert model.tasks == ()
    asked: list[str] = []

    def propose(task: str, columns: Mapping[str, Tensor], target: Tensor) -> Mapping[str, str]:
        asked.append(task)
        return {"sine": "(sin x)"}

    assert model.learn("s", {"u": U}, nc.compile_scheme("(sin x)")(x=U), propose=propose).program == "sine"
    assert model.learn("s2", {"u": V}, nc.compile_scheme("(sin x)")(x=V), propose=propose).program == "sine"
    assert asked == ["s"]


def test_modules_of_a_library(tmp_path: Path) -> None:
    library = nc.Library.init(tmp_path / "library")
    library.add("energy", "(* 0.5 m (square v))")
    library.add("twice", "(use energy@1)\n(* 2 (energy m v))")
    model = grow.Growing.from_library(library)
    choice = model.learn("e", {"speed": U, "mass": V}, V * U * U)
    assert choice.program == "twice@1" and choice.columns == {"m": "mass", "v": "speed"}


def test_ten_tasks_in_sequence_and_nothing_is_forgotten() -> None:
    example = runpy.run_path(str(EXAMPLE))
    model, then = example["grown"]()
    x = example["points"]()
    assert len(then) == 10 and {t: bits(model(t, u=x)) for t in then} == {t: bits(v) for t, v in then.items()}
    for task, (_, law) in example["TASKS"].items():
        assert model.choice(task).program == task
        assert torch.allclose(model(task, u=x), law(x), rtol=1e-14, atol=1e-15)
    # One network forgets: a few steps a task are enough to see that the test can fail.
    network, before = example["trained"](60)
    assert float((network(0, x).detach() - before["square"]).abs().max()) > 0.1


def test_the_nearest_program_is_taken_even_where_the_mixture_favours_another() -> None:
    near = {f"near{k}": f"(+ (* x x) (* {k} 0.01 y))" for k in range(1, 12)}
    model = grow.Growing({**near, "exact": "(+ (* x x) (* 0.055 (sin y)))"})
    x = torch.linspace(-1, 1, 40, dtype=torch.float64)
    y = x.flip(0) ** 3
    chosen = model.learn("task", {"a": x, "b": y}, x * x + 0.055 * torch.sin(y), steps=20)
    assert (chosen.program, chosen.error) == ("exact", 0.0)
    assert model.explain("task").startswith("task = exact(x=a, y=b), exact")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_learned_by_nobody(bad: float) -> None:
    model = grow.Growing({"square": "(square x)"})
    u = torch.linspace(-2, 2, 9, dtype=torch.float64)
    target = -7 * u**3
    with pytest.raises(ValueError, match="tolerance"):
        model.learn("cube", {"a": u}, target, tolerance=bad)
    target[3] = bad
    with pytest.raises(ValueError, match="target"):
        model.learn("cube", {"a": u}, target)
    with pytest.raises(ValueError, match="no rows"):
        model.learn("cube", {"a": u[:0]}, u[:0])
    assert model.tasks == ()
