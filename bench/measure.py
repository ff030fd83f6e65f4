"""Times contenders side by side. In: a case and the contenders; out: seconds per call of each, or why it has none.

All contenders of a case are made ready and verified first; then they take turns, round after round, so that whatever else the
machine does hits all alike. Their order is drawn anew for each round and a call that is not timed comes before each sample, because
helper threads of one library, still spinning, and its columns in the caches would be charged to whoever always follows it. The best
round counts: noise only ever adds. One thread is timed by the processor time of the whole
process (helper threads of a library included), which does not run while others have the core; several by the wall clock.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from peers import Case, NotSupported, Prepared
from reference import verify


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    sample: float
    """Seconds a sample of one contender should last; calls are repeated until it does."""
    budget: float
    """Seconds for all samples of one contender; slow ones get fewer rounds, two at least."""


FULL = Effort(rounds=80, sample=0.0006, budget=0.5)
QUICK = Effort(rounds=30, sample=0.0004, budget=0.1)


@dataclass
class Contender:
    """One that takes part in the rounds."""

    repeat: Callable[[int], None]
    clock: Callable[[], float]
    times: int = 1
    rounds: int = 2


def ready(module: ModuleType, case: Case) -> Contender | dict[str, str]:
    """Prepares and verifies; a mistake of one contender is its own problem and is written down."""
    try:
        prepared = module.prepare(case)
        out = prepared.run()
        wrong = verify(case, prepared.results(out)) if prepared.results else None
    except NotSupported as reason:
        return {"skipped": str(reason)}
    except Exception as error:  # whatever a library raises belongs in the table
        return {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"}
    return (
        {"wrong": wrong}
        if wrong
        else Contender(prepared.repeat or repeated(prepared), time.process_time if case.threads == 1 else time.perf_counter)
    )


def repeated(prepared: Prepared) -> Callable[[int], None]:
    """Calls from Python, as a user makes them."""
    run = prepared.run

    def repeat(times: int) -> None:
        for _ in range(times):
            run()

    return repeat


def seconds(contender: Contender, times: int) -> float:
    """One sample: seconds per call."""
    start = contender.clock()
    contender.repeat(times)
    return (contender.clock() - start) / times


def calibrate(contender: Contender, effort: Effort) -> None:
    """How often to call for one sample, and how many samples fit the budget. Warms up on the way: a first call may compile."""
    one = min(seconds(contender, 1) for _ in range(3))
    times = 1
    while one * times < effort.sample / 2 and times < 10**7:
        times = min(times * 10, max(times + 1, int(effort.sample / max(one, 1e-9))))
        one = seconds(contender, times)
    contender.times = max(1, round(effort.sample / max(one, 1e-9)))
    contender.rounds = max(2, min(effort.rounds, int(effort.budget / max(one * contender.times, 1e-9))))


def measure(case: Case, modules: dict[str, ModuleType], effort: Effort) -> dict[str, dict[str, Any]]:
    """By contender: `best` and `median` seconds per call and the number of rounds; or `skipped`, `failed` or `wrong`."""
    return race({name: ready(module, case) for name, module in modules.items()}, effort)


def race(found: dict[str, Contender | dict[str, str]], effort: Effort) -> dict[str, dict[str, Any]]:
    """Those that are ready take turns; of the others what they said."""
    racing = {name: c for name, c in found.items() if isinstance(c, Contender)}
    for contender in racing.values():
        calibrate(contender, effort)
    samples: dict[str, list[float]] = {name: [] for name in racing}
    shuffled = random.Random(0)
    gc.collect()
    gc.disable()
    try:
        for turn in range(effort.rounds):
            for name in shuffled.sample(list(racing), len(racing)):
                if turn < racing[name].rounds:
                    racing[name].repeat(1)
                    samples[name].append(seconds(racing[name], racing[name].times))
    finally:
        gc.enable()
    return {
        name: {"best": min(samples[name]), "median": statistics.median(samples[name]), "rounds": len(samples[name])}
        if name in racing
        else c
        for name, c in found.items()
    }
