"""Experiment 3. The plan of its jobs and its tables; pictures are in `figure`, the work in `runs`."""

from __future__ import annotations

import sys

from ..common.cli import Experiment, main
from ..common.jobs import Job
from ..common.ode_jobs import EPOCHS, Plan, epochs, with_cost
from ..common.ode_tables import integrated, model_rows, native_beside_torch
from ..common.report import Records, Report, cost_table, identity
from ..common.tables import Table, percent, sci
from . import runs
from .figure import FORCED_ROWS, ROWS, draw
from .models import KINDS

CONSTANTS = ("g_L", "b")
Paper = tuple[str | None, str | None, str | None, str | None, str | None]
SAME: Paper = ("0.08 %", "0.17 %", "1.5e-5", "4.0e-6", "5.0e-6")
PINN: Paper = ("41.1 %", "16.1 %", "1.9e-1", "1.2e-1", "5.3e-2")
MIXED: Paper = ("47.4 %", None, "1.2e-3", "7.7e-3", "5.0e-3")
NET: Paper = (None, None, "2.2e-2", "2.1e-2", "1.5e-2")
PAPER: dict[str, Paper] = {
    "compiled": SAME,
    "compiled, native": SAME,
    "hand-coded": SAME,
    "PINN, stated (S)": PINN,
    "PINN, released (R)": PINN,
    "S2, compiled hybrid": MIXED,
    "S2, hand-coded hybrid": MIXED,
    "MLP": NET,
    "neural ODE": NET,
}


def _models(quick: bool, seed: int) -> list[Job]:
    """Every model, once."""
    plan = Plan(seed)
    some = epochs(quick)
    for kind in KINDS:
        plan.add(kind, runs.s1, kind=kind, epochs=some, forced=False)
    plan.add("compiled, window as one program (ours)", runs.whole, epochs=EPOCHS)
    starts = {"starts": 3} if quick else {}
    plan.add("native fit, whole trajectory (ours)", runs.fitted, forced=False, **starts)
    plan.add("native fit, whole trajectory (ours)", runs.fitted, table="forced", forced=True, **starts)
    plan.add("S2, compiled hybrid", runs.s2, kind="compiled", epochs=some)
    plan.add("S2, hand-coded hybrid", runs.s2, kind="hand-coded", epochs=some)
    plan.add("S2, network of the speed (ours)", runs.s2_one_text, **({"epochs": 1_000, "lr": 3e-2} if quick else {"epochs": EPOCHS}))
    plan.add("S2, native fit (ours)", runs.s2_fitted, hidden="8" if quick else "32 32")
    plan.add_learned(runs, quick)
    for kind in ("compiled", "hand-coded"):
        plan.add(kind, runs.s1, table="forced", kind=kind, epochs=some, forced=True)
    return plan.jobs


def jobs(quick: bool, seeds: range) -> list[Job]:
    return with_cost(runs, _models, quick, seeds)


def report(records: Records, quick: bool) -> Report:
    result = Report()
    for name, rows, title in (
        ("models", ROWS, "Constants and trajectories, no push"),
        ("forced", FORCED_ROWS, "With a known push of 0.5 cos(2t/3)"),
    ):
        table = Table(
            title,
            ("model", "parameters", "error of g/L", "error of b", "MSE to t = 10", "to 20", "to 50", "training time", "seeds"),
            text="2 % noise, windows of 25 steps, 3,000 epochs. For PINNs the trajectory is the network's own output. Cells: median "
            "over seeds [least … greatest] / paper."
            if name == "models"
            else "",
        )
        model_rows(table, records, name, rows, CONSTANTS, PAPER if name == "models" else {})
        if table.rows:
            result.tables.append(table)
    integrated(result, records, ROWS, ("MSE to t = 10", "to 20", "to 50"))
    cost_table(result, records.first("cost", "cost"), "Cost of an epoch of 6 windows of 25 steps")
    identity(result, records, "models", "compiled", "hand-coded")
    identity(result, records, "models", "S2, compiled hybrid", "S2, hand-coded hybrid")
    identity(result, records, "forced", "compiled", "hand-coded")
    numbers = result.numbers
    for key, row in (
        ("compiled", "compiled"),
        ("window", "compiled, window as one program (ours)"),
        ("s2", "S2, compiled hybrid"),
        ("s2_ours", "S2, network of the speed (ours)"),
        ("s2_fit", "S2, native fit (ours)"),
        ("fit", "native fit, whole trajectory (ours)"),
    ):
        numbers[f"g_L.{key}"] = records.median("models", row, lambda r: r["off"]["g_L"])
        numbers[f"x5.{key}"] = records.median("models", row, "x5")
    numbers["native_beside_torch"] = native_beside_torch(records, CONSTANTS)
    if not quick:
        _claims(result, records)
    return result


def _claims(result: Report, records: Records) -> None:
    numbers = result.numbers

    def worst(row: str) -> float | None:
        return records.median("models", row, lambda r: r["off"]["g_L"])

    ours = numbers["g_L.window"] if numbers["g_L.compiled"] is None else numbers["g_L.compiled"]
    if ours is not None:
        result.claim("S1 recovers g/L to 0.08 %.", ours <= 0.0008, f"{percent(ours)} (median over the seeds run)")
    windows, whole = (records.median("models", row, lambda r: r["off"]["b"]) for row in ("compiled", "native fit, whole trajectory (ours)"))
    if windows is not None and whole is not None:
        result.claim(
            "S1 recovers b to 0.17 %.",
            windows <= 0.0017,
            f"{percent(windows)} (median over the seeds run), fitting the whole trajectory natively {percent(whole)}",
        )
    path, fit = (records.median("models", row, "x1") for row in ("compiled", "native fit, whole trajectory (ours)"))
    if path is not None and fit is not None:
        result.claim(
            "S1 follows the trajectory to 1.5e-5 in distribution.",
            path <= 1.5e-5,
            f"{sci(path)} (median over the seeds run), fitting the whole trajectory natively {sci(fit)}",
        )
    released, speed, fitted = (numbers[f"g_L.{key}"] for key in ("s2", "s2_ours", "s2_fit"))
    if released is not None and speed is not None and fitted is not None:
        result.claim(
            "In S2 g/L stays 47 % off, an inherent limitation of additive hybrids.",
            released > 0.2 and min(speed, fitted) > 0.02,
            f"{percent(released)} as described; {percent(fitted)} with the same network by the native fit, {percent(speed)} when it "
            "sees the speed only",
        )
    stated, released, tuned = (worst(f"PINN, {k}") for k in ("stated (S)", "released (R)", "tuned (ours)"))
    if stated is not None and released is not None:
        last = f", {percent(tuned)} tuned" if tuned is not None else ""
        result.claim(
            "A PINN recovers g/L with an error of 41 %.",
            min(released, tuned or 1) > 0.1,
            f"{percent(stated)} as stated, {percent(released)} as released{last}",
        )
    compiled, net = (records.median("models", row, "x1") for row in ("compiled", "MLP"))
    if compiled and net:
        result.claim("S1 is 731 times as accurate as the MLP in distribution.", net / compiled >= 731, f"{net / compiled:,.0f} times")


EXPERIMENT = Experiment("pendulum", "Experiment 3: damped pendulum", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
