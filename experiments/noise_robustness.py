"""Appendix B: how the constants of Lotka-Volterra suffer from noise."""

from __future__ import annotations

import sys
from pathlib import Path

from .common.cli import Experiment, main
from .common.figures import panels, save
from .common.jobs import Job
from .common.report import Records, Report
from .common.tables import Table, cell, percent
from .lotka_volterra import runs
from .lotka_volterra.models import TRUE

# Noise, then the paper's errors of alpha, beta, delta, gamma and the worst.
PAPER = {
    0.0: ("0.000 %", "0.000 %", "0.000 %", "0.000 %", "0.000 %"),
    0.01: ("0.663 %", "0.502 %", "0.198 %", "0.014 %", "0.663 %"),
    0.02: ("1.166 %", "0.945 %", "0.643 %", "0.140 %", "1.166 %"),
    0.05: ("1.923 %", "1.612 %", "3.232 %", "1.942 %", "3.232 %"),
    0.1: ("0.550 %", "0.960 %", "10.846 %", "8.772 %", "10.846 %"),
}
ROWS = ("compiled, windows", "native fit, whole trajectory (ours)")


def name(level: float) -> str:
    return f"{100 * level:g} %"


def jobs(quick: bool, seeds: range) -> list[Job]:
    found: list[Job] = []
    levels = (0.0, 0.05) if quick else tuple(PAPER)
    for level in levels:
        for seed in seeds:
            arguments = {"start": 0.5, "epochs": 1_500 if quick else 3_000, "noise": level}
            found.append(Job(ROWS[0], name(level), runs.whole, arguments, seed))
            found.append(Job(ROWS[1], name(level), runs.fitted, {"noise": level, **({"starts": 3} if quick else {})}, seed))
    return found


def worst(record: dict[str, dict[str, float]]) -> float:
    return max(record["off"].values())


def report(records: Records, quick: bool) -> Report:
    result = Report()
    for table_name in ROWS:
        table = Table(
            f"Errors of the constants: {table_name}",
            ("noise", *TRUE, "worst", "seeds"),
            text="The training of Experiment 2 (each window compiled as one program). Cells: median over seeds [least … greatest] / paper."
            if table_name == ROWS[0]
            else "The paper's training does not change with the method; its figures are repeated for comparison.",
        )
        for level, paper in PAPER.items():
            found = records.of(table_name, name(level))
            if found:
                cells = [cell([r["off"][n] for r in found], percent, p) for n, p in zip(TRUE, paper)]
                table.add(name(level), *cells, cell([worst(r) for r in found], percent, paper[4]), str(len(found)))
                result.numbers[f"worst.{table_name}.{name(level)}"] = records.median(table_name, name(level), worst)
        if table.rows:
            result.tables.append(table)
    if quick:
        return result
    for table_name in ROWS:
        seen = [(level, result.numbers.get(f"worst.{table_name}.{name(level)}")) for level in PAPER]
        if all(v is not None for _, v in seen):
            kept = [v <= float(PAPER[level][4].rstrip(" %")) / 100 + 1e-5 for level, v in seen if v is not None]
            what = ", ".join(f"{name(level)}: {percent(v)}" for level, v in seen if v is not None)
            result.claim(
                f"The worst constant is off by 0, 0.66, 1.17, 3.2, 10.8 % at 0, 1, 2, 5, 10 % noise ({table_name}).",
                all(kept),
                f"median worst constant {what}",
            )
    return result


def draw(records: Records, out: Path) -> None:
    figure, axes = panels(1, 2, "Lotka-Volterra: constants and noise")
    for axis, table_name in zip(axes[0], ROWS):
        for constant in TRUE:
            points = [
                (level, v)
                for level in PAPER
                if (v := records.median(table_name, name(level), lambda r, c=constant: r["off"][c])) is not None
            ]
            axis.plot([100 * x for x, _ in points], [100 * y for _, y in points], marker="o", label=constant)
        axis.plot(
            [100 * x for x in PAPER], [float(p[4].rstrip(" %")) for p in PAPER.values()], color="black", ls="--", label="worst, paper"
        )
        axis.set(title=table_name, xlabel="noise, %", ylabel="error, %")
        axis.legend(fontsize=6)
    save(figure, out, "noise_robustness")


EXPERIMENT = Experiment("noise_robustness", "Appendix B: noise", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
