"""Many fits on clusters of Dask and Ray, of which a worker is killed: the bits of one process (`make test-engines`)."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Callable
from typing import Any

import dask
import distributed
import neural_compiler as nc
import numpy as np
import pytest
import ray
from neural_compiler import spread
from neural_compiler.spread import executors

DECAY = "(param a 1) (param k 1 :min 0) (* a (exp (- (* k t))))"
T = np.linspace(0, 4, 40)
NOISE = np.random.default_rng(3).normal(size=(6, 40))
TASKS = [
    {"model": DECAY, "data": {"t": T, "y": 3 * np.exp(-k * T) + 0.05 * e}, "starts": 2} for k, e in zip((0.2, 0.5, 0.9, 1.4, 2, 3), NOISE)
]


def bits(found: list[nc.FitResult]) -> list[bytes]:
    return [np.array([*one.params.values(), *one.covariance.ravel()]).tobytes() for one in found]


@pytest.fixture(scope="module")
def alone() -> list[bytes]:
    return bits(spread.fit_many(TASKS))


def fatal_once(marker: str) -> Callable[[Any], Any]:
    """Work that ends its process the first time that it is done anywhere."""

    def work(task: Any) -> Any:
        try:
            pathlib.Path(marker).touch(exist_ok=False)
        except FileExistsError:
            return nc.fit(**task)
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    return work


def with_a_loss(executor: Any, marker: pathlib.Path) -> list[bytes]:
    found = dict(executors.results(fatal_once(str(marker)), [{**task, "threads": 1} for task in TASKS], executor))
    assert marker.exists()
    return bits([found[k] for k in range(len(TASKS))])


@pytest.mark.parametrize("workers", [1, 2])
def test_dask(tmp_path: pathlib.Path, alone: list[bytes], workers: int) -> None:
    dask.config.set({"distributed.scheduler.allowed-failures": 5})
    with distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        assert bits(spread.fit_many(TASKS, executor=client.get_executor(pure=False))) == alone
        assert with_a_loss(client.get_executor(pure=False), tmp_path / "killed") == alone


@pytest.mark.parametrize("workers", [1, 2])
def test_ray(tmp_path: pathlib.Path, alone: list[bytes], workers: int) -> None:
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        assert bits(spread.fit_many(TASKS, executor=spread.RayExecutor())) == alone
        assert with_a_loss(spread.RayExecutor(max_retries=3), tmp_path / "killed") == alone
    finally:
        ray.shutdown()
