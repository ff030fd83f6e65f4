"""Parameters that `fully_shard` (FSDP2) spreads over two processes: each step of training is that of one process with all rows. Whole
numbers spread over them are refused by both where one holds what float64 does not, and all that are spread by the native backend."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from queue import Empty
from typing import Any

import neural_compiler as nc
import pytest
import torch
import torch.distributed as distributed
import torch.multiprocessing as processes
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

F64 = torch.float64
X = torch.tensor([0.3, 0.8, 1.4, -0.6, 0.1, 2.2, -1.3, 0.9], dtype=F64)
RANKS = 2


class Model(torch.nn.Module):
    """A program and its derivative, which share their parameters: a vector that is cut in two, one of a single number, which one process
    holds; and a scalar, which `fully_shard` takes for none: every process has it whole."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        law = "(* (ref k 0) (+ (sin (* x (ref w 0))) (* x (ref w 1)) (exp (* x (ref w 2) (ref w 3)))))"
        self.u = nc.compile_scheme(f"(param w [0.5 -1.2 0.7 0.3]) (param k [2.0]) {law}", inputs=["x"], backend=backend)
        self.du = self.u.grad("x")
        self.offset = nc.compile_scheme("(param c 0.25) (+ z c)", backend=backend).freeze()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.offset(self.u(x=x)) * self.du(x=x)


OPTIMISERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.05),
}


def _loss(model: torch.nn.Module, rank: int) -> torch.Tensor:
    """Of the rows of a process."""
    found: torch.Tensor = (model(X[rank::RANKS]) - 1).square().mean()
    return found


def _numbers(model: torch.nn.Module) -> dict[str, list[float]]:
    return {n: (p.full_tensor() if hasattr(p, "full_tensor") else p).detach().ravel().tolist() for n, p in model.named_parameters()}


def _whole_numbers() -> list[Any]:
    """The results of a program on tensors over all processes, or why there is none."""
    mesh, found = init_device_mesh("cpu", (RANKS,)), []
    module = nc.compile_scheme("(- y x)", inputs=["x", "y"], backend="torch")
    for way in (Replicate(), Shard(0)):
        for last in (2**53, 2**53 + 1):
            x, y = (distribute_tensor(t, mesh, [way]) for t in (torch.ones(4, dtype=F64), torch.tensor([3, 4, 5, last])))
            try:
                found.append(module(x, y).full_tensor().tolist())
            except TypeError as error:
                found.append(str(error))
    return found


def _by_class(backend: str) -> str | list[float]:
    """The result of a program on a tensor over all processes, or why there is none."""
    x = distribute_tensor(torch.ones(4, dtype=F64), init_device_mesh("cpu", (RANKS,)), [Shard(0)])
    try:
        found: list[float] = nc.compile_scheme("(+ x x)", backend=backend)(x).full_tensor().tolist()
        return found
    except TypeError as error:
        return str(error)


def _rank(rank: int, meeting: str, backend: str, queue: Any) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    found = {}
    for name, optimiser_of in OPTIMISERS.items():
        model = Model(backend)
        fully_shard(model, mesh=init_device_mesh("cpu", (RANKS,)), ignored_params=set(model.offset.parameters()))
        local = model.u.w.to_local().numel()
        optimiser = optimiser_of(model.parameters())
        steps = []
        for _ in range(2):
            optimiser.zero_grad()
            _loss(model, rank).backward()
            optimiser.step()
            steps.append(_numbers(model))
        found[name] = (local, model.u.w is model.du.w, steps)
    found["whole"] = _whole_numbers()
    found["class"] = _by_class(backend)
    queue.put((rank, found))
    distributed.barrier()
    distributed.destroy_process_group()


def _alone(backend: str, optimiser_of: Callable[[Any], torch.optim.Optimizer]) -> list[dict[str, list[float]]]:
    model = Model(backend)
    optimiser = optimiser_of(model.parameters())
    steps = []
    for _ in range(2):
        optimiser.zero_grad()
        (sum(_loss(model, r) for r in range(RANKS)) / RANKS).backward()
        optimiser.step()
        steps.append(_numbers(model))
    return steps


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_two_steps_of_two_processes_are_those_of_one(backend: str) -> None:
    context = processes.get_context("spawn")
    queue, found = context.Queue(), {}
    # They meet in a file: no port another process could take first. However slow the machine, only a dead worker ends the wait.
    with tempfile.TemporaryDirectory() as folder:
        workers = [context.Process(target=_rank, args=(r, f"{folder}/meeting", backend, queue)) for r in range(RANKS)]
        [w.start() for w in workers]
        while len(found) < RANKS:
            try:
                rank, told = queue.get(timeout=1)
                found[rank] = told
            except Empty:
                assert all(w.exitcode in (None, 0) for w in workers), "a worker ended"
        [w.join() for w in workers]
    refused = "the input `y` has whole numbers beyond 2^53, which float64 does not hold: subtract an offset first"
    assert all(found[rank]["whole"] == [[2.0, 3.0, 4.0, 2.0**53 - 1], refused] * 2 for rank in range(RANKS))
    for rank in range(RANKS):
        said = found[rank]["class"]
        assert said == [2.0] * 4 if backend == "torch" else "`x` is a DTensor" in said and "`x.full_tensor()`" in said
    for name, optimiser_of in OPTIMISERS.items():
        expected = _alone(backend, optimiser_of)
        assert expected[0] != expected[1]
        for rank in range(RANKS):
            held, shared, steps = found[rank][name]
            assert held == 2 and shared
            for step, e in zip(steps, expected, strict=True):
                # Without the second names of what modules share.
                assert step.keys() == e.keys()
                for n, numbers in step.items():
                    assert numbers == pytest.approx(e[n], rel=1e-15, abs=0), (name, n)
