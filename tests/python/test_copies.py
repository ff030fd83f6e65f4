"""Copies of what holds a program (modules, programs, graphs, fits, modules of users' own) give what the original gives, value and
gradients, after each way to copy and each type moved to; and what is changed in a deep copy is changed there alone."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
import torch
from neural_compiler.compiler import compile_scheme as compile_graph
from neural_compiler.evaluator import DirectModule
from neural_compiler.nn import Param
from torch import Tensor, nn

F64 = torch.float64
BACKENDS = pytest.mark.parametrize("backend", ["native", "torch"])
V = torch.tensor([[0.3, 0.8], [1.4, -0.2]], dtype=F64)


def _saved(held: Any) -> Any:
    written = io.BytesIO()
    torch.save(held, written)
    written.seek(0)
    return torch.load(written, weights_only=False)


DEEP: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda held: pickle.loads(pickle.dumps(held)),
    "pickle, oldest": lambda held: pickle.loads(pickle.dumps(held, protocol=2)),
    "torch.save": _saved,
    "pickle of a deepcopy": lambda held: pickle.loads(pickle.dumps(copy.deepcopy(held))),
}
WAYS = {"copy": copy.copy, **DEEP}


class Flow(nn.Module):
    """A user's module that solves an equation whose constant is a program's, from a start of its own."""

    def __init__(self, method: str, backend: str) -> None:
        super().__init__()
        self.law = nc.compile_scheme("(param k 0.7) (state x 1) (derive x (* (- k) x (dot w w)))", inputs={"w": 2}, backend=backend)
        self.start = nn.Parameter(torch.tensor(1.5, dtype=F64))
        self.method = method

    def forward(self, v: Tensor) -> Tensor:
        t = torch.linspace(0, 1, 5, dtype=v.dtype)
        start = self.start.to(v.dtype).expand(v.shape[:-1])
        found: Tensor = nc.odeint(self.law, {"x": start}, t, method=self.method, inputs={"w": v})["x"]
        return found[-1]


class Wave(nn.Module):
    """A program, a derivative of it and what is composed of both, which share their parameters."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.u = nc.compile_scheme("(param k 2.0) (param a [1.0 3.0]) (* k (sin (dot a v)))", inputs={"v": 2}, backend=backend)
        self.slope = self.u.grad("v")
        self.after = self.u >> nc.compile_scheme("(* b z z)", params={"b": Param(0.5, min=0)}, backend=backend)

    def forward(self, v: Tensor) -> Tensor:
        return self.u(v) + self.slope(v).sum(-1) + self.after(v)


class Direct(nn.Module):
    """A graph as a module called with a dict: it has no parameters."""

    def __init__(self, **limits: int) -> None:
        super().__init__()
        text = "(loop ((i 0) (a (dot v v))) (if (>= i 3) a (recur (+ i 1) (sin (* 2 a)))))"
        self.direct = DirectModule(compile_graph(text, inputs={"v": 2}), **limits)

    def forward(self, v: Tensor) -> Tensor:
        return self.direct({"v": v})


MODULES: dict[str, Callable[[str], nn.Module]] = {
    "program": lambda backend: nc.compile_scheme("(param k 2.0) (* k (dot v v))", inputs={"v": 2}, backend=backend),
    "loop": lambda backend: nc.compile_scheme(
        "(param k 2.0) (loop ((i 0) (a (dot v v))) (if (>= i 3) a (recur (+ i 1) (sin (* k a)))))", inputs={"v": 2}, backend=backend
    ),
    "derivative": lambda backend: nc.compile_scheme("(param k 2.0) (* k (dot v v) (dot v v))", inputs={"v": 2}, backend=backend).grad("v"),
    "shared": Wave,
    "odeint": lambda backend: Flow("rk4", backend),
    "odeint, stiff": lambda backend: Flow("rosenbrock", backend),
    "direct": lambda backend: Direct(),
    "direct with limits": lambda backend: Direct(max_iter=10),
}


def _value_and_gradients(module: nn.Module, v: Tensor) -> list[Tensor]:
    v = v.clone().requires_grad_()
    found = module(v)
    return [found.detach(), *torch.autograd.grad((found * found).sum(), [v, *module.parameters()])]


@BACKENDS
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MODULES)
def test_modules_compute_and_differentiate_after_a_copy(kind: str, way: str, backend: str) -> None:
    module = MODULES[kind](backend)
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(1.25)  # Not what the text declares.
    # Before and after its first call.
    for _ in range(2):
        again = WAYS[way](module)
        assert repr(again) == repr(module)
        assert [n for n, _ in again.named_parameters()] == [n for n, _ in module.named_parameters()]
        expected = _value_and_gradients(module, V)
        for found, e in zip(_value_and_gradients(again, V), expected, strict=True):
            assert torch.equal(found, e)
        if way in DEEP:
            with torch.no_grad():
                for p in again.parameters():
                    p.mul_(3)
            for found, e in zip(_value_and_gradients(module, V), expected, strict=True):
                assert torch.equal(found, e)


@BACKENDS
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MODULES)
def test_copies_move_to_single_precision(kind: str, way: str, backend: str) -> None:
    module = MODULES[kind](backend)
    expected = _value_and_gradients(module, V)
    moved = WAYS[way](copy.deepcopy(module)).to(torch.float32)
    # A copy of what is moved, too.
    for again in (moved, WAYS[way](moved)):
        for found, e in zip(_value_and_gradients(again, V.float()), expected, strict=True):
            assert found.dtype is torch.float32 and torch.allclose(found.double(), e, rtol=2e-5, atol=2e-6)
    for found, e in zip(_value_and_gradients(module, V), expected, strict=True):
        assert torch.equal(found, e)


PROGRAMS: dict[str, Callable[[], nc.Program]] = {
    "program": lambda: nc.compile("(param k 2.0) (* k (dot v v))", inputs={"v": 2}),
    "derivative": lambda: nc.compile("(param k 2.0) (* k (dot v v) (dot v v))", inputs={"v": 2}).grad("v"),
    "given": lambda: nc.compile("(* k (dot v w))", inputs={"v": 2}, params={"k": 3.0, "w": [0.5, 2.0]}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_programs_compute_and_differentiate_after_a_copy(kind: str, way: str) -> None:
    program = PROGRAMS[kind]()
    program.params["k"] = np.array(1.7)
    v = V.numpy()
    for _ in range(2):
        again = WAYS[way](program)
        assert repr(again) == repr(program) and again.hash == program.hash
        for dtype in (np.float64, np.float32):
            expected = program(v.astype(dtype))
            assert again(v.astype(dtype)).dtype == dtype and np.array_equal(again(v.astype(dtype)), expected)
        if kind != "derivative":
            for found, e in zip(again.value_and_grad(v), program.value_and_grad(v)):
                assert np.array_equal(found, e)
        if way in DEEP:
            expected = program(v)
            again.params["k"] = np.array(5.0)
            for held in again.params.values():
                held *= 2
            assert np.array_equal(program(v), expected)


@pytest.mark.parametrize("way", WAYS)
def test_graphs_are_copied(way: str) -> None:
    graph = nc.compile_scheme("(param k 2.0) (* k (dot v v))").graph_for(v=2)
    again = WAYS[way](graph)
    assert repr(again) == repr(graph) and again.to_dict() == graph.to_dict()


FITS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "formula": ("(param a 1) (param k 0.5 :min 0) (* a (exp (* (- k) t)))", lambda t: 2 * np.exp(-0.7 * t)),
    "states": ("(param k 0.5 :min 0) (param a 1) (state y a) (derive y (* (- k) y))", lambda t: 2 * np.exp(-0.7 * t)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", FITS)
def test_fits_predict_after_a_copy(kind: str, way: str) -> None:
    text, law = FITS[kind]
    t = np.linspace(0, 3, 25)
    y = law(t) + 0.01 * np.sin(37 * t)
    found = nc.fit(text, {"t": t, "y": y}, target="y", **({"time": "t"} if kind == "states" else {}))
    again = WAYS[way](found)
    assert again.summary() == found.summary() and repr(again) == repr(found)
    assert again.params == found.params and [p.stderr for p in again.params.values()] == [p.stderr for p in found.params.values()]
    later = {"t": np.array([0.0, 0.5, 4.0])}
    for bands in (False, True):
        first, second = again.predict(later, bands=bands), found.predict(later, bands=bands)
        assert repr(first) == repr(second)
    assert np.array_equal(again.covariance, found.covariance) and again._repr_svg_() == found._repr_svg_()
    if kind == "formula":
        at = torch.tensor([0.5, 1.0], dtype=F64)
        results = []
        for module in (again.module, found.module):
            value = module(t=at)
            results.append([value.detach(), *torch.autograd.grad(value.sum(), list(module.parameters()))])
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
