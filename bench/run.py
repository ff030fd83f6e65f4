"""The benchmark. In: what to measure, on the command line; out: tables, bench.json, bench.txt and bench.svg in out/bench.

Our engine and its alternatives run side by side, in one process for each number of threads, on the same data. `make bench-env`
makes the environment, `make bench` runs everything, `make bench-quick` a smaller choice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import floors
import machine
import tables
from catalogue import PROGRAMS
from peers import NAMES

HERE = Path(__file__).parent
BATCHES = [1, 100, 10**4, 10**6]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[1].replace("\n", " "),
        epilog="Example: run.py --programs quadratic,gaussian --peers native,heyoka_cfunc --batches 10000",
    )
    listed = lambda text: text.split(",")
    parser.add_argument(
        "--suite",
        choices=["batches", "scaling", "module", "linear", "hybrid", "fit", "ensemble"],
        default="batches",
        help="batches: every contender on every program; scaling: our cost per lane from 10^4 to 10^7 lanes; module: our nn.Module "
        "against eager PyTorch; linear: the linear algebra of it alone; hybrid: a training step of the paper's hybrid models against "
        "physics by hand; fit: constants from data beside SciPy, PyTorch and diffrax; ensemble: 10^4 trajectories at once beside "
        "heyoka, diffrax and others",
    )
    parser.add_argument("--programs", type=listed, default=list(PROGRAMS), metavar="A,B", help=f"of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument(
        "--peers", type=listed, default=list(NAMES), metavar="A,B", help=f"of {', '.join(NAMES)} (default: all); ours are always measured"
    )
    parser.add_argument(
        "--batches", type=listed, default=[str(b) for b in BATCHES], metavar="N,M", help="sizes of batches (default: %(default)s)"
    )
    parser.add_argument(
        "--what",
        type=listed,
        default=["value", "gradient"],
        metavar="value,gradient",
        help="gradient: value and gradient in one call (default: both)",
    )
    parser.add_argument("--dtypes", type=listed, default=["float32"], metavar="float32,float64", help="number types (default: float32)")
    parser.add_argument(
        "--threads",
        type=listed,
        default=["1", "all"],
        metavar="1,all",
        help="numbers of threads, each in a process of its own (default: 1,all)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument(
        "--minutes",
        type=float,
        default=600,
        help="start no further case after so many minutes for each number of threads (default: %(default)g)",
    )
    parser.add_argument("--out", type=Path, default=HERE.parent / "out" / "bench", help="folder for the results (default: out/bench)")
    given = parser.parse_args()
    for what, known in (
        (given.programs, PROGRAMS),
        (given.peers, NAMES),
        (given.what, ("value", "gradient")),
        (given.dtypes, ("float32", "float64")),
    ):
        unknown = [w for w in what if w not in known]
        if unknown:
            parser.error(f"there is no {', '.join(unknown)}; known are {', '.join(known)}")
    try:
        given.batches = [int(b) for b in given.batches]
        given.threads = sorted({cores() if t == "all" else int(t) for t in given.threads})
    except ValueError as error:
        parser.error(str(error))
    if min(given.batches) < 1 or not 1 <= min(given.threads) <= max(given.threads) <= cores():
        parser.error(f"batches have at least one lane, and there are 1 to {cores()} threads")
    return given


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(threads: int) -> dict[str, str]:
    """What makes the libraries use so many threads; most read it once, when they are imported."""
    pinned = {
        name: str(threads)
        for name in (
            "OMP_NUM_THREADS",
            "MKL_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "NUMEXPR_NUM_THREADS",
            "NUMEXPR_MAX_THREADS",
            "RAYON_NUM_THREADS",
            "NPROC",
        )
    }
    pinned["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} intra_op_parallelism_threads={threads}"
    # Compiling in the background would disturb what is measured.
    pinned["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    return os.environ | pinned


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """Runs a process for each number of threads and puts their results together."""
    whole: dict[str, Any] = {"versions": {}, "missing": {}, "labels": {}, "records": []}
    for threads in given.threads:
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            job = {
                "suite": given.suite,
                "threads": threads,
                "quick": given.quick,
                "minutes": given.minutes,
                "programs": given.programs,
                "peers": [n for n in NAMES if n in given.peers or n.startswith("ours")],
                "batches": given.batches,
                "gradients": [w == "gradient" for w in given.what],
                "dtypes": given.dtypes,
                "result": str(result),
            }
            done = subprocess.run(
                [sys.executable, str(HERE / "worker.py")], input=json.dumps(job).encode(), env=environment(threads), check=False
            )
            if done.returncode != 0 or not result.exists():
                raise SystemExit(f"the process with {threads} threads ended with {done.returncode}; nothing was written")
            part = json.loads(result.read_text(encoding="utf-8"))
        for key in ("versions", "missing", "labels"):
            whole[key] |= part[key]
        whole["records"] += part["records"]
    return whole


def main() -> None:
    """Measures, prints and writes."""
    given = arguments()
    about = machine.describe(sys.argv)
    section = measured(given)
    verdicts = [v.record() for v in floors.judge(section["records"], given.suite)]
    report = {"machine": about, "quick": given.quick, given.suite: section, "floors": verdicts}
    shown = {
        "scaling": tables.scaling, "module": tables.module, "linear": tables.linear, "hybrid": tables.hybrid, "fit": tables.fits,
        "ensemble": tables.ensembles,
    }.get(given.suite, tables.batches)  # fmt: skip
    parts = [tables.text(t) for t in shown(section)]
    if verdicts:
        parts.append(tables.text(tables.floors(verdicts)))
    parts += [f"skipped {name}: {reason}" for name, reason in section["missing"].items()]
    said = "\n".join(parts)
    print(said)
    given.out.mkdir(parents=True, exist_ok=True)
    name = "bench" if given.suite == "batches" else given.suite
    write(given.out / f"{name}.json", json.dumps(report, indent=1))
    write(given.out / f"{name}.txt", said + "\n")
    if given.suite == "batches":
        import plot

        plot.draw(report, given.out / "bench.svg")
    print(f"written to {given.out}")


def write(path: Path, content: str) -> None:
    """All or nothing."""
    beside = path.with_suffix(path.suffix + ".part")
    beside.write_text(content, encoding="utf-8")
    beside.replace(path)


if __name__ == "__main__":
    main()
