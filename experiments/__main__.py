"""All experiments: `python -m experiments [--quick] [--check] ...`, with the options of each. The exit code is 1 when one of them is not
as expected."""

from __future__ import annotations

import importlib
import sys
import time

from . import NAMES
from .common.cli import Experiment, main


def experiment(name: str) -> Experiment:
    module = importlib.import_module(f".{name}", __package__)
    if hasattr(module, "__path__"):
        module = importlib.import_module(f".{name}.__main__", __package__)
    found: Experiment = module.EXPERIMENT
    return found


if __name__ == "__main__":
    begun = time.perf_counter()
    failed = [name for name in NAMES if main(experiment(name), sys.argv[1:])]
    print(f"all experiments: {time.perf_counter() - begun:.0f} s" + (f"; not as expected: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)
