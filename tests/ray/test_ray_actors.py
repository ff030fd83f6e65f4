"""Programs, modules and fits inside actors of Ray, after this process has used them and its threads: `make test-ray`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
import ray
import torch

PROGRAM = nc.compile("(* x (sin (* x y)))")
X = np.linspace(0, 1, 50_000)
Y = torch.linspace(0, 1, 20_000, dtype=torch.float64)
TABLE = {"x": np.linspace(0, 1, 50), "y": 3 * np.exp(0.5 * np.linspace(0, 1, 50))}
LAW = "(param a 1) (param b 1) (* a (exp (* b x)))"


def gradient(module: Any) -> float:
    """The derivative of the sum of a module's results by its parameter."""
    module.zero_grad()
    module(x=Y).sum().backward()
    return float(module.k.grad)


class Worker:
    """What an actor does: with what it is given, and with what it compiles itself."""

    def __init__(self, program: nc.Program, module: Any) -> None:
        nc.set_num_threads(2)
        self.program, self.module = program, module

    def process(self) -> int:
        return os.getpid()

    def values(self, y: float) -> np.ndarray:
        return self.program(X, y)

    def gradient(self) -> float:
        return gradient(self.module)

    def fitted(self) -> dict[str, float]:
        return dict(nc.fit(LAW, TABLE, target="y", starts=4).params)


@pytest.fixture(scope="module")
def actors() -> Iterator[tuple[Any, list[Any]]]:
    """Two of them; threads are in use here before any is made."""
    before = nc.get_num_threads()
    nc.set_num_threads(4)
    PROGRAM(X, 0.5)
    module = nc.compile_scheme("(param k 2.0) (sin (* k x))").double()
    gradient(module)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield module, [ray.remote(Worker).remote(PROGRAM, module) for _ in range(2)]
    finally:
        ray.shutdown()
        nc.set_num_threads(before)


def test_actors_are_other_processes(actors: tuple[Any, list[Any]]) -> None:
    assert len({os.getpid(), *ray.get([a.process.remote() for a in actors[1]])}) == 3


def test_programs_have_the_same_bits(actors: tuple[Any, list[Any]]) -> None:
    found = ray.get([a.values.remote(y) for a in actors[1] for y in (0.5, 0.7)])
    for values, y in zip(found, (0.5, 0.7, 0.5, 0.7)):
        assert values.tobytes() == PROGRAM(X, y).tobytes()


def test_modules_have_the_same_gradients(actors: tuple[Any, list[Any]]) -> None:
    module, workers = actors
    assert ray.get([a.gradient.remote() for a in workers]) == [gradient(module)] * 2


def test_fits_are_the_same(actors: tuple[Any, list[Any]]) -> None:
    expected = dict(nc.fit(LAW, TABLE, target="y", starts=4).params)
    assert ray.get([a.fitted.remote() for a in actors[1]]) == [expected] * 2
    assert expected["a"] == pytest.approx(3, rel=1e-9)
