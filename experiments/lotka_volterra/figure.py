"""The eight panels of the paper's Lotka-Volterra figure, and its phase-space figure."""

from __future__ import annotations

from pathlib import Path

from ..common.figures import bars, colour, curves, panels, save
from ..common.report import Records
from ..common.series import horizons, measured
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
                axis.plot(
                    times[::2], values, label=f"{row} ({r['parameters']:,})", color=colour(row), lw=0.9, ls="--" if "hand" in row else "-"
                )
            axis.set(title=f"{name}: {title}", xlabel="t", ylim=(-1, 9))
            if line:
                axis.axvline(end, color="red", ls="--", lw=0.7)
        axes[0, column].legend(fontsize=5)
    curves(axes[2, 0], "error of the trajectory while training", measured(found, "tests"))
    rows = list(found)
    horizons(axes[2, 1], records, rows)
    learned = [row for row in rows if "constants" in found[row]]
    bars(
        axes[3, 0],
        "constants, true and learned",
        list(TRUE),
        [("true", list(TRUE.values()))] + [(row, [found[row]["constants"][n] for n in TRUE]) for row in learned],
        log=False,
    )
    axes[3, 0].legend(fontsize=5)
    ranked = sorted(rows, key=lambda row: records.median("models", row, "x5") or 1e9)
    bars(axes[3, 1], "5x extrapolation, ranked", ranked, [("", [records.median("models", row, "x5") for row in ranked])])
    save(figure, out, "lotka_volterra")
    figure, axes = panels(2, 4, "Lotka-Volterra: phase space, 5x", (3.0, 3.0))
    places = list(axes.flat)
    for axis, (row, r) in zip(places, shown.items()):
        axis.plot(clean[:, 0], clean[:, 1], color="black", lw=0.8, label="true")
        axis.plot([p[0] for p in r["path"]], [p[1] for p in r["path"]], color=colour(row), lw=0.8, label=row)
        axis.set(title=f"{row} ({r['parameters']:,})", xlabel="x", ylabel="y", xlim=(0, 8), ylim=(0, 7))
    for axis in places[len(shown) :]:
        axis.axis("off")
    save(figure, out, "lotka_volterra_phase")
