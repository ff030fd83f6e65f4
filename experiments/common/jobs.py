"""Work of an experiment as independent jobs. In: jobs, each a row of a table and a seed; out: one record per job.

A record is plain JSON. Jobs run in processes of one thread each, so that a run uses the cores it is given and a result does not
depend on how many there are. With `--resume`, records of earlier runs with the same arguments are taken over.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """`function(seed=number, **arguments)` gives the record of `row` in `table`."""

    table: str
    row: str
    function: Callable[..., Record]
    arguments: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    """None: what it finds is no matter of the draw, so that it belongs to a run of any seed."""

    @property
    def number(self) -> int:
        return self.seed or 0

    @property
    def key(self) -> str:
        return f"{self.table}/{self.row}/{self.number}"


def run(jobs: list[Job], workers: int, store: Path, resume: bool, title: str) -> None:
    """Runs the jobs; each record is in `store` as soon as it is there."""
    store.mkdir(parents=True, exist_ok=True)
    missing = [job for job in jobs if not (resume and _known(job, store))]
    with tqdm(total=len(jobs), initial=len(jobs) - len(missing), desc=title, unit="run", dynamic_ncols=True) as bar:
        for job, record in _completed(missing, workers):
            bar.update()
            bar.set_postfix_str(f"{job.row} {record['seconds']:.0f} s")
            _write(_place(job, store), record)


def known(jobs: list[Job], store: Path) -> list[Record]:
    """The records there are for these jobs, in their order."""
    return [record for job in jobs if (record := _known(job, store))]


def _completed(jobs: list[Job], workers: int) -> Iterable[tuple[Job, Record]]:
    if workers == 1:
        torch.set_num_threads(1)
        yield from ((job, _one(job)) for job in jobs)
        return
    pool = _pool(workers)
    waiting = {pool.submit(_one, job): job for job in jobs}
    for done in as_completed(waiting):
        yield waiting[done], done.result()


@cache
def _pool(workers: int) -> ProcessPoolExecutor:
    """One for all experiments of a run: a process that imports torch takes seconds to start."""
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,))


def _one(job: Job) -> Record:
    begun = time.perf_counter()
    torch.manual_seed(job.number)
    record = _finite(job.function(seed=job.number, **job.arguments))
    return {
        "table": job.table,
        "row": job.row,
        "seed": job.number,
        "arguments": _described(job),
        **record,
        "seconds": time.perf_counter() - begun,
    }


def _finite(value: Any) -> Any:
    """The same without infinities and NaN, which JSON does not have: they become None, and tables say so."""
    if isinstance(value, dict):
        return {name: _finite(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _described(job: Job) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(json.dumps({"function": job.function.__name__, **job.arguments}, default=repr))
    return described


def _place(job: Job, store: Path) -> Path:
    return store / (job.key.replace("/", "--").replace(" ", "_") + ".json")


def _known(job: Job, store: Path) -> Record | None:
    place = _place(job, store)
    if not place.exists():
        return None
    record: Record = json.loads(place.read_text(), parse_constant=lambda _: None)
    return record if record["arguments"] == _described(job) else None


def _write(place: Path, record: Record) -> None:
    begun = place.with_suffix(".part")
    begun.write_text(json.dumps(record, allow_nan=False))
    os.replace(begun, place)
