"""Fits as tasks. In: the arguments of fits; out: their results in the same order.

Invariants: a task is a pure function of its arguments, so results have the same bits whatever runs them, in whatever order, and however
often; a finished task is kept in a file named by the hash of its arguments, plain data written whole or not at all and verified when it is
read (`plain.py`), so that a second run of the same list does only what is missing; a file that is anything else is done anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from .. import _native
from ..errors import FitError
from ..fitting import FitResult, fit
from ..fitting.columns import _items
from . import plain
from .executors import results

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NOT_PURE = {
    "budget": "a budget of time makes a result depend on the machine",
    "progress": "progress of single fits is not told; give `progress` to the whole",
}


def fit_many(
    tasks: Iterable[Mapping[str, Any]],
    *,
    executor: Any = None,
    folder: str | os.PathLike[str] | None = None,
    failures: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Independent fits: the results in the order of the tasks, each a mapping of the arguments of `fit` (`model`, `data`, options).

    `executor`: what runs them: None (this process), anything with the `submit` of `concurrent.futures` (a pool of processes, Dask's
    `client.get_executor()`, `RayExecutor`), or a function that makes one, so that a pool that lost a process is replaced. A task whose
    worker is lost runs again. `folder`: where finished tasks are kept; the same call later, after whatever happened, goes on from there. It
    holds plain data, JSON with hashes: what is broken or something else is done anew, and nothing of it is run. `failures`: "error" raises
    the error of the first task that cannot be fitted, "keep" puts the `FitError` in the place of its result. Tasks use one thread each
    where there is an executor, unless they say otherwise.

    Results have the same bits whatever the executor, the number of workers and what was kept.

    >>> import numpy as np
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> t = np.linspace(0, 1, 20)
    >>> tasks = [{"model": "(param k 1) (exp (* k t))", "data": {"t": t, "y": np.exp(k * t)}} for k in (0.5, 2.0)]
    >>> [round(found.params["k"], 6) for found in fit_many(tasks, executor=ThreadPoolExecutor(2))]
    [0.5, 2.0]
    """
    if failures not in ("error", "keep"):
        raise ValueError(f'failures is "error" or "keep", not {failures!r}')
    if executor is not None and not hasattr(executor, "submit") and not callable(executor):
        raise TypeError(f"an executor has `submit`, or is a function that makes one; {type(executor).__name__} is neither")
    listed = [_checked(task, None if executor is None else 1) for task in tasks]
    kept = None if folder is None else _Folder(Path(folder))
    found: list[Any] = [None if kept is None else kept.read(task) for task in listed]
    open_tasks = [k for k, known in enumerate(found) if known is None]
    done = len(listed) - len(open_tasks)
    for k, result in results(work, [listed[k] for k in open_tasks], executor):
        place = open_tasks[k]
        if isinstance(result, BaseException) and (failures == "error" or not isinstance(result, FitError)):
            raise result
        found[place] = result
        if kept is not None:
            kept.write(listed[place], result)
        done += 1
        if progress is not None:
            progress(done, len(listed))
    if failures == "error":
        for result in found:
            if isinstance(result, BaseException):
                raise result
    return found


def work(task: Mapping[str, Any]) -> FitResult:
    """Does a task."""
    return fit(**task)


def _checked(task: Mapping[str, Any], threads: int | None) -> dict[str, Any]:
    if not isinstance(task, Mapping):
        raise TypeError(f"a task has the arguments of `fit` by name, as a dict; not {type(task).__name__}")
    for name in ("model", "data"):
        if name not in task:
            raise TypeError(f"a task has the arguments of `fit`; `{name}` is missing")
    for name, why in _NOT_PURE.items():
        if task.get(name) is not None:
            raise ValueError(f"a task has no `{name}`: {why}")
    if not isinstance(task["model"], str):
        raise TypeError(f"a model is a text, not {type(task['model']).__name__}")
    return {"threads": threads, **task}


def task_hash(task: Mapping[str, Any]) -> str:
    """SHA-256 of all that decides a task's result: the version of this package, model, options, columns. Threads do not."""
    digest = sha256()
    said = {k: v for k, v in task.items() if k not in ("data", "events", "threads")}
    digest.update(json.dumps([_native.__version__, sorted(said.items())], default=_number).encode())
    for name in ("data", "events"):
        for column, values in [] if task.get(name) is None else _items(task[name]):
            array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
            raw = json.dumps([str(v) for v in array.ravel()]).encode() if array.dtype.kind == "O" else np.ascontiguousarray(array).tobytes()
            digest.update(json.dumps([name, str(column), array.dtype.str, list(array.shape), len(raw)]).encode())
            digest.update(raw)
            if isinstance(values, np.ma.MaskedArray):
                digest.update(np.ma.getmaskarray(values).tobytes())
    return digest.hexdigest()


def _number(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"the options of a task are numbers, texts and lists of them, so that it has a hash; {value!r} is none")


class _Folder:
    """Finished tasks, a file each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(parents=True, exist_ok=True)
        self._sweep()

    def _sweep(self) -> None:
        """Removes what processes that were killed left behind: what is being written is locked, and nobody locks it any more after them."""
        for part in self._path.glob(".fit-*.part") if fcntl is not None else ():
            if part.is_symlink() or not part.is_file():
                continue
            try:
                with part.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()
            except OSError:
                continue

    def read(self, task: Mapping[str, Any]) -> Any:
        name = task_hash(task)
        file = self._path / f"{name}.json"
        # A pipe would be waited for.
        return plain.read(file.read_bytes(), name, task.get("events")) if file.is_file() else None

    def write(self, task: Mapping[str, Any], result: Any) -> None:
        name = task_hash(task)
        content = plain.written(name, result)
        while True:
            handle, part = tempfile.mkstemp(dir=self._path, prefix=".fit-", suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    _lock(file)
                    file.write(content)
                os.replace(part, self._path / f"{name}.json")
                return
            except FileNotFoundError:
                # Somebody else swept it away before it was locked, or after it was closed.
                continue
            except BaseException:
                Path(part).unlink(missing_ok=True)
                raise


def _lock(file: Any) -> None:
    """Says that a file is being written, where that can be said."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
