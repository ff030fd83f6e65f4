"""The eight panels of the paper's Lotka-Volterra figure, and its phase-space figure."""

from __future__ import annotations

from pathlib import Path

from ..common.figures import curves, dots, line_style, panels, save
from ..common.report import Records
from ..common.series import horizons, measured, sized
from .models import SYSTEM, TRUE
from .runs import NOISE

ROWS = (
    "compiled",
    "compiled, native",
    "hand-coded",
    "compiled, window as one program (ours)",
    "compiled, window as one program, from 1 (ours)",
    "native fit, whole trajectory (ours)",
    "PINN, stated (S)",
    "PINN, released (R)",
    "PINN, tuned (ours)",
    "hybrid, compiled",
    "hybrid, hand-coded",
    "MLP",
    "neural ODE",
)
SHOWN = ("compiled", "compiled, window as one program (ours)", "hand-coded", "hybrid, compiled", "PINN, stated (S)", "MLP", "neural ODE")


def draw(records: Records, out: Path) -> None:
    found = {row: r for row in ROWS if (r := records.first("models", row))}
    shown = {row: r for row, r in found.items() if row in SHOWN}
    clean, observed = SYSTEM.clean(5), SYSTEM.observed(NOISE, 0)
    end = SYSTEM.steps * SYSTEM.step
    figure, axes = panels(4, 2, "Lotka-Volterra")
    for column, name in enumerate(("prey x", "predators y")):
        for line, (limit, title) in enumerate(((SYSTEM.steps, "fit"), (5 * SYSTEM.steps, "5x extrapolation"))):
            axis = axes[line, column]
            times = [i * SYSTEM.step for i in range(limit + 1)]
            axis.plot(times, clean[: limit + 1, column], color="black", lw=1, label="true")
            if line == 0:
                axis.scatter(SYSTEM.times, observed[:, column], s=4, color="#999999", label="observed")
            for row, r in shown.items():
                values = [p[column] for p in r["path"][: limit // 2 + 1]]
                axis.plot(times[::2], values, label=sized(row, r), **line_style(row, 0.9))
            axis.set(title=f"{name}: {title}", xlabel="t", ylim=(-1, 9))
            if line:
                axis.axvline(end, color="red", ls="--", lw=0.7)
    curves(axes[2, 0], "error of the trajectory while training", measured(found, "tests"))
    rows = list(found)
    horizons(axes[2, 1], records, rows)
    learned = [row for row in rows if "constants" in found[row]]
    spreads = [(n, [records.values("models", row, lambda r, n=n: r["constants"][n] / TRUE[n]) for row in learned]) for n in TRUE]
    dots(axes[3, 0], "constants, learned / true", learned, spreads, log=False, colours=("#1b9e77", "#d95f02", "#7570b3", "#e7298a"))
    axes[3, 0].axvline(1, color="black", lw=0.6)
    ranked = sorted(rows, key=lambda row: records.median("models", row, "x5") or 1e9)
    dots(axes[3, 1], "5x extrapolation MSE, ranked", ranked, [("", [records.values("models", row, "x5") for row in ranked])])
    save(figure, out, "lotka_volterra")
    figure, axes = panels(2, 4, "Lotka-Volterra: phase space, 5x", (3.0, 3.0))
    places = list(axes.flat)
    for axis, (row, r) in zip(places, shown.items()):
        axis.plot(clean[:, 0], clean[:, 1], color="black", lw=0.8)
        axis.plot([p[0] for p in r["path"]], [p[1] for p in r["path"]], **line_style(row, 0.8))
        axis.set(title=sized(row, r), xlabel="x", ylabel="y", xlim=(0, 8), ylim=(0, 7))
    for axis in places[len(shown) :]:
        axis.axis("off")
    save(figure, out, "lotka_volterra_phase")
