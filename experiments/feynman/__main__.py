"""Experiment 1. The plan of its jobs; tables are in `tables`, pictures in `figure`, the work in `runs`."""

from __future__ import annotations

import sys

from ..common.cli import Experiment, main
from ..common.jobs import Job
from . import runs
from .equations import EQUATIONS, PRINTED
from .figure import draw
from .tables import SAMPLES, report

STATED = {"epochs": 3_000, "samples": 10_000, "noise": 0.02}
RELEASED = {"epochs": 5_000, "samples": 1_024, "noise": 0.01}
STATED_NETWORKS = 2
"""Seeds of the MLPs at the stated settings: each takes two minutes, and those at the released settings have all seeds."""


def jobs(quick: bool, seeds: range) -> list[Job]:
    stated, released = (STATED, RELEASED) if not quick else ({**STATED, "epochs": 60, "samples": 1_024}, {**RELEASED, "epochs": 60})
    found: list[Job] = [Job("domain", "domain", runs.domain)]
    for seed in seeds:
        for equation in EQUATIONS:
            name = equation.name
            for setting, given in (("R", released), ("S", stated)):
                for kind in runs.KINDS:
                    found.append(Job(setting, f"{kind}: {name}", runs.descend, {"name": name, "kind": kind, **given}, seed))
            found.append(
                Job(
                    "S",
                    f"Gauss-Newton: {name}",
                    runs.second_order,
                    {"name": name, "batches": 100 if quick else 3_000, "samples": 10_000, "noise": 0.02},
                    seed,
                )
            )
            found.append(
                Job("S", f"native fit: {name}", runs.fitted, {"name": name, "samples": 50_000 if quick else 100_000, "noise": 0.02}, seed)
            )
            for setting, given in (("R", released), ("S", stated))[: 2 if seed < STATED_NETWORKS else 1]:
                found.append(Job(setting, f"MLP: {name}", runs.network, {"name": name, **given}, seed))
        for equation in PRINTED:
            for kind in ("compiled", "hand-coded"):
                arguments = {"name": equation.name, "kind": kind, **stated, "printed": True}
                found.append(Job("P", f"{kind}: {equation.name}", runs.descend, arguments, seed))
        for samples in SAMPLES:
            for kind in ("compiled, native", "MLP"):
                found.append(
                    Job(
                        "samples",
                        f"{kind}: {samples}",
                        runs.efficiency,
                        {"kind": kind, "samples": samples, "epochs": 60 if quick else 3_000},
                        seed,
                    )
                )
    for name in ("Planck", "Gravity", "Barometric"):
        found.append(Job("cost", name, runs.cost, {"name": name, "samples": 10_000, "rounds": 10 if quick else 60, "steps": 20}))
    return found


EXPERIMENT = Experiment("feynman", "Experiment 1: constants of the Feynman equations", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
