"""Programs, modules and fits in other processes, after this one has used them and its threads. Once `torch.compile` or `torch.export`
has traced a backward pass, PyTorch refuses backward passes in children of a fork, so gradients there are tried in interpreters that have
not."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

import neural_compiler as nc
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import soak

PROGRAM = nc.compile("(* x (sin (* x y)))")
X = np.linspace(0, 1, 50_000)


def value(k: int) -> float:
    return float(PROGRAM(X, k / 10).sum())


def fitted(k: int) -> float:
    x = np.linspace(0, 1, 50)
    found = nc.fit(
        "(param a 1) (param b 1) (* a (exp (* b x)))", {"x": x, "y": (2 + k) * np.exp(0.5 * x)}, target="y", starts=4, profile=True
    )
    return float(found.params["a"])


def item(k: int) -> float:
    import torch

    module = nc.compile_scheme("(* x (sin x))")
    return float(module(x=torch.full((20_000,), float(k))).sum())


def slopes(k: int) -> list[float]:
    """Gradients by an input and a parameter, of both backends, and through `odeint`; the second derivative by the input. As many lanes as
    our threads share, but fewer than PyTorch's would: after work of those, its own operations hang in a child of `fork`."""
    import torch

    found = []
    for backend, lanes in (("native", 20_000), ("torch", 500)):
        module = nc.compile_scheme("(param a 1.5) (* a x (sin (* a x)))", backend=backend)
        x = torch.linspace(0, 1 + k, lanes, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(module(x=x).sum(), x, create_graph=True)
        slope.square().sum().backward()
        law = nc.compile_scheme("(param a 1.5) (state x 1) (derive x (* (- a) x))", backend=backend)
        end = nc.odeint(law, {"x": torch.linspace(0, 1 + k, 50, dtype=torch.float64)}, [0.0, 1.0], method="rk4")["x"][-1]
        end.sum().backward()
        found += [float(slope.detach().sum()), float(x.grad.sum()), float(module.a.grad), float(law.a.grad)]
    return found


class Slopes:
    """A dataset of PyTorch's whose items are gradients."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, k: int) -> list[float]:
        return slopes(k)


class Items:
    """A dataset of PyTorch's whose items a program computes."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, k: int) -> float:
        return value(k)


@pytest.fixture(autouse=True)
def _threads() -> None:
    """Threads are in use here before any other process is made."""
    before = nc.get_num_threads()
    nc.set_num_threads(4)
    value(0)
    yield
    nc.set_num_threads(before)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_processes(method: str) -> None:
    expected = [value(k) for k in range(6)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(value, range(6)).get(timeout=300) == expected


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_fits_in_other_processes(method: str) -> None:
    expected = [fitted(k) for k in range(2)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(fitted, range(2)).get(timeout=300) == expected


def test_modules_after_a_fork() -> None:
    pytest.importorskip("torch")
    expected = [item(k) for k in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(item, range(4)).get(timeout=300) == expected


@pytest.mark.fresh
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_gradients_after_a_backward_pass_in_the_parent(method: str) -> None:
    pytest.importorskip("torch")
    expected = [slopes(k) for k in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(slopes, range(4)).get(timeout=300) == expected
    assert slopes(3) == expected[3]


def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def steepest(k: int) -> float:
    """Of a batch that PyTorch's own threads share."""
    import torch

    module = nc.compile_scheme("(param a 1.5) (* a x (sin (* a x)))", backend="torch")
    x = torch.linspace(0, 1 + k, 200_000, dtype=torch.float64, requires_grad=True)
    return float(torch.autograd.grad(module(x=x).sum(), x)[0].max())


@pytest.mark.fresh
def test_torch_operations_after_a_fork_with_one_thread_each() -> None:
    pytest.importorskip("torch")
    expected = [steepest(k) for k in range(2)]
    with multiprocessing.get_context("fork").Pool(2, one_thread) as pool:
        assert pool.map_async(steepest, range(2)).get(timeout=300) == expected


@pytest.mark.fresh
def test_gradients_in_workers_of_a_data_loader_after_a_backward_pass_in_the_parent() -> None:
    data = pytest.importorskip("torch.utils.data")
    expected = [slopes(k) for k in range(4)]
    for _ in range(2):
        loader = data.DataLoader(Slopes(), batch_size=None, num_workers=2, timeout=300, multiprocessing_context="fork")
        assert [[float(x) for x in item] for item in loader] == expected


def test_workers_of_a_data_loader() -> None:
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader(Items(), batch_size=2, num_workers=2, timeout=300)
    found = [float(x) for batch in loader for x in batch]
    assert found == [value(k) for k in range(8)]


def test_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    for backend in ("loky", "multiprocessing", "threading"):
        assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(value)(k) for k in range(4)) == [value(k) for k in range(4)]


@pytest.mark.fresh
def test_joblib_with_modules_that_lives_while_others_fork() -> None:
    joblib = pytest.importorskip("joblib")
    pytest.importorskip("torch")
    expected = [item(k) for k in range(4)]

    def with_loky() -> list[float]:
        found: list[float] = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(item)(k) for k in range(4))
        return found

    # Workers of loky stay for the next call; the threads that look after them are not there in a child.
    assert with_loky() == expected
    soak.forks(count=10)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(item, range(4)).get(timeout=300) == expected
    assert with_loky() == expected


@pytest.mark.fresh
def test_a_hundred_forks() -> None:
    soak.forks(count=100)
    assert os.getpid() > 0
