"""Running independent pieces of work. In: a function, its arguments one by one, an executor; out: the results, as they are ready.

Invariants: work that was lost with its worker is done again, a bounded number of times; work that raised an exception of its own is not; at
most a window of pieces waits in the executor, so that a long list costs no memory there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any

WINDOW = 256
"""Pieces an executor is given at once."""

ATTEMPTS = 5
"""How often a piece is begun before its worker's end is taken for its own fault."""

# What engines raise where a worker has ended under a piece of work; they need not be installed here.
_LOST = {"BrokenExecutor", "KilledWorker", "WorkerCrashedError", "ActorDiedError", "NodeDiedError", "OutOfMemoryError"}


class RayExecutor(Executor):
    """Ray's tasks as an executor: `ray.init(…)` first. `options` are those of `ray.remote`, such as `num_cpus` and `max_retries`."""

    def __init__(self, **options: Any) -> None:
        import ray

        def call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return fn(*args, **kwargs)

        self._call = ray.remote(call).options(**options) if options else ray.remote(call)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        found: Future[Any] = self._call.remote(fn, args, kwargs).future()
        return found


def results(work: Callable[[Any], Any], pieces: list[Any], executor: Any) -> Iterator[tuple[int, Any]]:
    """Positions and results of all pieces, in the order in which they end; an exception of a piece is its result.

    `executor`: None for this thread, an executor, or a function that makes one: then one that broke is replaced.
    """
    if executor is None:
        yield from ((k, _tried(work, piece)) for k, piece in enumerate(pieces))
        return
    made = not hasattr(executor, "submit")
    pool = executor() if made else executor
    waiting, begun = list(range(len(pieces)))[::-1], [0] * len(pieces)
    running: dict[Future[Any], int] = {}
    try:
        while waiting or running:
            broken = False
            while waiting and len(running) < WINDOW and not broken:
                try:
                    future = pool.submit(work, pieces[waiting[-1]])
                except BrokenExecutor as error:
                    broken = _again(made, error)
                    break
                k = waiting.pop()
                running[future] = k
                begun[k] += 1
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                k = running.pop(future)
                failure = future.exception()
                if failure is None:
                    yield k, future.result()
                elif not lost(failure):
                    yield k, failure
                elif begun[k] >= ATTEMPTS:
                    raise RuntimeError(f"piece {k} of the work was lost with its worker {ATTEMPTS} times") from failure
                else:
                    waiting.append(k)
                    broken = broken or (isinstance(failure, BrokenExecutor) and _again(made, failure))
            if broken:
                # Whatever it still held is lost too.
                waiting.extend(running.values())
                running.clear()
                pool.shutdown(wait=False)
                pool = executor()
    finally:
        if made:
            pool.shutdown(wait=False, cancel_futures=True)


def _again(made: bool, error: BaseException) -> bool:
    if not made:
        raise RuntimeError(
            "the executor lost a worker and takes no more work: give a function that makes one, such as "
            "lambda: ProcessPoolExecutor(4), and it is replaced; with a folder, what is done is kept"
        ) from error
    return True


def lost(error: BaseException) -> bool:
    """Whether an exception says that a worker has ended, not that its work failed."""
    return any(c.__name__ in _LOST for c in type(error).__mro__)


def _tried(work: Callable[[Any], Any], piece: Any) -> Any:
    try:
        return work(piece)
    except Exception as error:
        return error
