"""The command line of one experiment. In: what the experiment is; out: `results.json`, `tables.md`, figures, and an exit code.

The exit code is 1 when a number breaks its rule in `expected.json`."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import expected, jobs, machine
from .jobs import Job, Record
from .report import Records, Report

SEEDS = 5
QUICK_SEEDS = 1


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    jobs: Callable[[bool, range], list[Job]]
    report: Callable[[Records, bool], Report]
    draw: Callable[[Records, Path], None]


def main(experiment: Experiment, words: list[str] | None = None) -> int:
    args = _arguments(experiment, words)
    out = args.out / experiment.name
    store = out / ("runs-quick" if args.quick else "runs")
    if not args.resume:
        shutil.rmtree(store, ignore_errors=True)
    every = QUICK_SEEDS if args.quick else SEEDS
    planned = experiment.jobs(args.quick, range(max(every, args.seeds or 0, (args.seed or 0) + 1)))
    begun = time.perf_counter()
    jobs.run([j for j in planned if _chosen(j, args, every)], args.jobs, store, args.resume, experiment.name)
    found = jobs.known(planned, store)
    report = experiment.report(Records(found), args.quick)
    mode = "quick" if args.quick else "full"
    complaints = expected.check(experiment.name, mode, report.numbers) if args.check else []
    run = {
        "name": experiment.name,
        "title": experiment.title,
        "mode": mode,
        "command": f"python -m experiments.{experiment.name}" + (" --quick" if args.quick else ""),
        "seconds": time.perf_counter() - begun,
        "seeds": _seeds(planned, found),
        "not_run": _not_run(planned, found),
        "machine": machine.description(),
        **report.data(),
    }
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "results.json", json.dumps({**run, "records": found}, indent=1))
    text = f"# {experiment.title}\n\n" + "\n".join(run["tables"]) + _claims(run["claims"])
    _write(out / "tables.md", text)
    if not args.no_figures:
        experiment.draw(Records(found), out)
    if not args.silent:
        print(text)
    print(f"{experiment.name}: {run['seconds']:.0f} s; results, tables and figures are in {out}")
    for complaint in complaints:
        print(f"{experiment.name}: not as expected: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def _arguments(experiment: Experiment, words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{experiment.name}", description=experiment.title)
    parser.add_argument("--quick", action="store_true", help="minutes instead of hours: one seed, fewer epochs for what only has to run")
    parser.add_argument("--seed", type=int, help="run this seed only")
    parser.add_argument("--seeds", type=int, help=f"how many seeds, from 0 (default: {SEEDS}, quick: {QUICK_SEEDS})")
    parser.add_argument("--rows", default="*", help="run only rows that match, such as 'compiled*'; several with semicolons")
    parser.add_argument("--out", type=Path, default=Path("out/experiments"), help="where results go (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="runs at a time, one thread each (default: %(default)s)"
    )
    parser.add_argument("--resume", action="store_true", help="keep runs of before that had the same settings")
    parser.add_argument("--check", action="store_true", help="hold the numbers to expected.json")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing")
    parser.add_argument("--silent", action="store_true", help="do not print the tables")
    args = parser.parse_args(words)
    if args.jobs < 1 or (args.seeds is not None and args.seeds < 1) or (args.seed is not None and args.seed < 0):
        parser.error("--jobs and --seeds are at least 1, --seed at least 0")
    return args


def _chosen(job: Job, args: argparse.Namespace, every: int) -> bool:
    seed = job.seed is None or (job.seed == args.seed if args.seed is not None else job.seed < (args.seeds or every))
    return seed and any(fnmatch.fnmatch(job.row, pattern.strip()) for pattern in args.rows.split(";"))


def _seeds(planned: list[Job], found: list[Record]) -> list[int]:
    """The seeds of the rows that have such; 0 where none has."""
    any_seed = {(j.table, j.row) for j in planned if j.seed is None}
    return sorted({r["seed"] for r in found if (r["table"], r["row"]) not in any_seed}) or [0]


def _not_run(planned: list[Job], found: list[Record]) -> list[str]:
    """Rows without a single run, so that a page made of these results can say so."""
    there = {(r["table"], r["row"]) for r in found}
    return list(dict.fromkeys(f"{j.row} ({j.table})" for j in planned if (j.table, j.row) not in there))


def _claims(claims: list[dict[str, Any]]) -> str:
    if not claims:
        return ""
    lines = [f"- {'holds' if c['holds'] else '**does not hold**'}: {c['text']} Seen: {c['seen']}" for c in claims]
    return "\n### Claims\n\n" + "\n".join(lines) + "\n"


def _write(place: Path, text: str) -> None:
    begun = place.with_suffix(place.suffix + ".part")
    begun.write_text(text)
    os.replace(begun, place)
