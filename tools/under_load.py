"""The tests of Python, again and again, beside processes that want every core: none may depend on how fast the machine is.

    .venv/bin/python tools/under_load.py --rounds 10            # `make test-load`; what comes after -- goes to pytest
    .venv/bin/python tools/under_load.py --at-once 2 --busy 0   # rounds in pairs, each the load of the other: in half the time

In: the extension as it was built last; out: a line per round with its counts, time and load, and what failed; ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """`count` processes that compute without end."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def round_passed(number: int, workers: int, options: list[str]) -> bool:
    """One round, told in a line; with its output where a test failed."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder", *options]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    counts = [line for line in run.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)][-1:]
    took, load = (time.monotonic() - begun) / 60, os.getloadavg()[1]
    print(f"round {number}: {' '.join(counts) or 'no test ran'}; {took:.1f} min, load {load:.1f}", flush=True)
    if run.returncode != 0:
        print(run.stdout, flush=True)
    return run.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--rounds", type=int, default=10, help="how often (default: %(default)s)")
    parser.add_argument("--busy", type=int, default=cores, help="processes beside the tests (default: one for each core, %(default)s)")
    parser.add_argument("--at-once", type=int, default=1, help="rounds that run beside each other (default: %(default)s)")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    given = parser.parse_args()
    with busy(given.busy), ThreadPoolExecutor(given.at_once) as rounds:
        failed = sum(not passed for passed in rounds.map(lambda k: round_passed(k, cores, given.pytest), range(1, given.rounds + 1)))
    print(f"{given.rounds - failed} of {given.rounds} rounds without a failure")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
