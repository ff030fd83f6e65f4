"""Ensembles: 10^4 trajectories with different constants, each contender as accurate as it must be for the same error. One thread, by the
processor's time; all take turns in one run."""

from __future__ import annotations

import importlib
import statistics
import time
from typing import Any

from ensembles import NAMES
from ensembles.problem import SETS, Problem
from tqdm import tqdm


def run(job: dict[str, Any]) -> dict[str, Any]:
    """In: threads, whether to be quick. Out: versions of the contenders, and one record."""
    clock = time.process_time if job["threads"] == 1 else time.perf_counter
    problem = Problem(SETS // 10 if job["quick"] else SETS)
    modules, versions, missing, found, ready = {}, {}, {}, {}, {}
    for name in tqdm(NAMES, desc="tolerances", unit="contender"):
        try:
            modules[name] = importlib.import_module(f"ensembles.{name}")
            versions[name] = modules[name].version()
            ready[name], tolerance, error = problem.tuned(modules[name].prepare)
            found[name] = {"tolerance": tolerance, "error": error, "samples": []}
        except (ImportError, OSError) as error:
            missing[name] = str(error).splitlines()[0]
            tqdm.write(f"skipping {name}: {missing[name]}")
            modules.pop(name, None)
        except Exception as error:  # whatever a library raises belongs in the table
            found[name] = {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"}
    for _ in tqdm(range(3 if job["quick"] else 7), desc="rounds"):
        for name, solve in ready.items():
            start = clock()
            solve()
            found[name]["samples"].append((clock() - start) * getattr(modules[name], "SHARE", 1))
    for one in found.values():
        if samples := one.pop("samples", None):
            one |= {"best": min(samples), "median": statistics.median(samples), "rounds": len(samples)}
    record = {
        "program": "Lotka-Volterra, 21 times", "dtype": "float64", "gradient": False, "lanes": len(problem.constants),
        "threads": job["threads"], "contenders": found,
    }  # fmt: skip
    return {"versions": versions, "missing": missing, "labels": {n: m.LABEL for n, m in modules.items()}, "records": [record]}
