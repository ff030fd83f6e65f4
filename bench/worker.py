"""One process of the benchmark: a fixed number of threads. In: a job as JSON on standard input; out: JSON in the file it names.

Libraries decide at import how many threads they use, so `run.py` starts a process for each number of threads, with the
environment set, and this file pins the process to its cores before it imports any of them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

JOB = json.load(sys.stdin)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-JOB["threads"] :])

import importlib  # noqa: E402


def main() -> None:
    """Runs one suite."""
    suite = importlib.import_module(f"suites.{JOB['suite']}")
    Path(JOB["result"]).write_text(json.dumps(suite.run(JOB)), encoding="utf-8")


main()
