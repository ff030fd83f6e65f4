"""Fits: from model and data to constants, everything a user waits for included. One thread by processor time, several by the wall clock."""

from __future__ import annotations

import importlib
import statistics
import time
from typing import Any

from fits import NAMES
from fits.problems import PROBLEMS, Problem
from peers import NotSupported
from tqdm import tqdm

FEW = 2.0
"""Seconds after which a contender is not asked again."""


def run(job: dict[str, Any]) -> dict[str, Any]:
    """In: threads, whether to be quick. Out: versions of the contenders, and one record per problem."""
    modules, versions, missing = {}, {}, {}
    for name in NAMES:
        try:
            modules[name] = importlib.import_module(f"fits.{name}")
            versions[name] = modules[name].version()
        except (ImportError, OSError) as error:
            missing[name] = str(error).splitlines()[0]
            tqdm.write(f"skipping {name}: {missing[name]}")
    clock = time.process_time if job["threads"] == 1 else time.perf_counter
    records = []
    for problem in PROBLEMS:
        bar = tqdm(modules.items(), desc=problem.name, unit="contender")
        found = {name: measured(module, problem, clock, 3 if job["quick"] else 9) for name, module in bar}
        records.append(
            {
                "program": problem.name,
                "dtype": "float64",
                "gradient": False,
                "lanes": len(next(iter(problem.data.values()))),
                "threads": job["threads"],
                "contenders": found,
            }
        )
    return {"versions": versions, "missing": missing, "labels": {n: m.LABEL for n, m in modules.items()}, "records": records}


def measured(module: Any, problem: Problem, clock: Any, rounds: int) -> dict[str, Any]:
    """Seconds of the best of some fits, after one that is not timed; or why there are none. Wrong constants are said beside the time."""
    try:
        fit = module.prepare(problem)
        first = clock()
        wrong = problem.wrong(fit())
        first = clock() - first
        samples = [first] if first > FEW else []
        while len(samples) < rounds and first <= FEW:
            start = clock()
            fit()
            samples.append(clock() - start)
    except NotSupported as reason:
        return {"skipped": str(reason)}
    except Exception as error:  # whatever a library raises belongs in the table
        return {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"}
    said = {"off": wrong} if wrong else {}
    return said | {"best": min(samples), "median": statistics.median(samples), "rounds": len(samples)}
