"""Experiment 2. The plan of its jobs and its tables; pictures are in `figure`, the work in `runs`."""

from __future__ import annotations

import sys

from ..common.cli import Experiment, main
from ..common.jobs import Job
from ..common.ode_jobs import EPOCHS, Plan, epochs, with_cost
from ..common.ode_tables import integrated, model_rows, native_beside_torch
from ..common.report import Records, Report, cost_table, identity
from ..common.tables import Table, percent
from . import runs
from .figure import ROWS, draw
from .models import KINDS, TRUE

Paper = tuple[str | None, str | None, str | None, str | None, str | None, str | None, str | None]
SAME: Paper = ("0.67 %", "0.59 %", "1.08 %", "0.23 %", "2.4e-3", "4.9e-3", "2.2e-2")
PINN: Paper = ("7.79 %", "7.21 %", "2.22 %", "1.48 %", "7.8e-4", "2.6e+0", "4.9e+0")
PAPER: dict[str, Paper] = {
    "compiled": SAME,
    "compiled, native": SAME,
    "hand-coded": SAME,
    "PINN, stated (S)": PINN,
    "PINN, released (R)": PINN,
    "MLP": (None, None, None, None, "4.9e-3", "9.4e-3", "4.2e-2"),
    "neural ODE": (None, None, None, None, "4.9e-3", "9.5e-3", "4.3e-2"),
}


def _models(quick: bool, seed: int) -> list[Job]:
    """Every model, once."""
    plan = Plan(seed)
    some = epochs(quick)
    for kind in KINDS:
        plan.add(kind, runs.known, kind=kind, start=0.5, epochs=some, noise=runs.NOISE)
    for start, row in ((0.5, "compiled, window as one program (ours)"), (1.0, "compiled, window as one program, from 1 (ours)")):
        plan.add(row, runs.whole, start=start, epochs=EPOCHS, noise=runs.NOISE)
    plan.add("native fit, whole trajectory (ours)", runs.fitted, noise=runs.NOISE, **({"starts": 3} if quick else {}))
    plan.add("hybrid, compiled", runs.hybrid, kind="compiled", epochs=some)
    plan.add("hybrid, hand-coded", runs.hybrid, kind="hand-coded", epochs=some)
    plan.add_learned(runs, quick)
    return plan.jobs


def jobs(quick: bool, seeds: range) -> list[Job]:
    return with_cost(runs, _models, quick, seeds)


def report(records: Records, quick: bool) -> Report:
    result = Report()
    table = Table(
        "Constants and trajectories",
        ("model", "parameters", *(f"error of {n}" for n in TRUE), "MSE to t = 12", "to 24", "to 60", "training time", "seeds"),
        text="2 % noise, windows of 25 steps, 3,000 epochs; constants start at 0.5 (so that beta and gamma start at their true values) "
        "or 1. Trajectories are integrated from the clean start; "
        "for PINNs they are the network's own output. Cells: median over seeds [least … greatest] / paper.",
    )
    model_rows(table, records, "models", ROWS, list(TRUE), PAPER)
    result.tables.append(table)
    integrated(result, records, ROWS, ("MSE to t = 12", "to 24", "to 60"))
    cost_table(result, records.first("cost", "cost"), "Cost of an epoch of 8 windows of 25 steps")
    identity(result, records, "models", "compiled", "hand-coded")
    identity(result, records, "models", "hybrid, compiled", "hybrid, hand-coded")
    numbers = result.numbers
    for key, row in (
        ("compiled", "compiled"),
        ("window", "compiled, window as one program (ours)"),
        ("window_from_1", "compiled, window as one program, from 1 (ours)"),
        ("fit", "native fit, whole trajectory (ours)"),
    ):
        numbers[f"worst_constant.{key}"] = records.median("models", row, lambda r: max(r["off"].values()))
        numbers[f"x5.{key}"] = records.median("models", row, "x5")
    numbers["native_beside_torch"] = native_beside_torch(records, TRUE)
    if not quick:
        _claims(result, records)
    return result


def _claims(result: Report, records: Records) -> None:
    def worst(row: str) -> float | None:
        return records.median("models", row, lambda r: max(r["off"].values()))

    ours = worst("compiled") if worst("compiled") is not None else worst("compiled, window as one program (ours)")
    if ours is not None:
        fit = worst("native fit, whole trajectory (ours)")
        more = f"; fitting the whole trajectory natively {percent(fit)}" if fit is not None else ""
        result.claim(
            "All four constants are recovered to within 1.1 %.",
            ours <= 0.011,
            f"worst constant {percent(ours)} (median over the seeds run){more}; the windows start at noisy states, which biases the "
            "constants",
        )
    each = [
        [records.median("models", row, lambda r, n=n: r["off"][n]) for n in TRUE]
        for row in ("compiled", "native fit, whole trajectory (ours)")
    ]
    if None not in each[0] and None not in each[1]:
        windows, whole = (", ".join(percent(v or 0.0) for v in values) for values in each)
        result.claim(
            "The constants are off by 0.67, 0.59, 1.08 and 0.23 % (alpha, beta, delta, gamma).",
            all((v or 0.0) <= p for v, p in zip(each[0], (0.0067, 0.0059, 0.0108, 0.0023))),
            f"medians {windows}; fitting the whole trajectory natively {whole}: the paper's figures are those of one draw of the noise",
        )
    stated, released, tuned = (worst(f"PINN, {k}") for k in ("stated (S)", "released (R)", "tuned (ours)"))
    if stated is not None and released is not None:
        last = f", tuned {percent(tuned)}" if tuned is not None else ""
        result.claim(
            "PINNs recover the constants worse than compiled models (up to 7.8 %).",
            min(released, tuned or 1) > (ours or 0),
            f"worst constant as stated {percent(stated)}, as released {percent(released)}{last}: a PINN that is set up with care "
            "recovers constants as well or better",
        )


EXPERIMENT = Experiment("lotka_volterra", "Experiment 2: Lotka-Volterra", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
