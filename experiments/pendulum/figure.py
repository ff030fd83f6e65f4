"""The six panels of the paper's pendulum figure, and two more: phase space, and how the constants are found."""

from __future__ import annotations

from pathlib import Path

from ..common.figures import curves, dots, line_style, panels, save
from ..common.report import Records
from ..common.series import horizons, measured, recovery, sized
from .models import SYSTEM, TRUE
from .runs import NOISE

ROWS = (
    "compiled",
    "compiled, native",
    "hand-coded",
    "compiled, window as one program (ours)",
    "native fit, whole trajectory (ours)",
    "PINN, stated (S)",
    "PINN, released (R)",
    "PINN, tuned (ours)",
    "S2, compiled hybrid",
    "S2, hand-coded hybrid",
    "S2, network of the speed (ours)",
    "S2, native fit (ours)",
    "MLP",
    "neural ODE",
)
FORCED_ROWS = ("compiled", "hand-coded", "native fit, whole trajectory (ours)")
SHOWN = ("S2, compiled hybrid", "S2, network of the speed (ours)", "MLP", "neural ODE", "compiled, window as one program (ours)")


def draw(records: Records, out: Path) -> None:
    found = {row: r for row in ROWS if (r := records.first("models", row))}
    shown = {row: r for row, r in found.items() if row in SHOWN}
    clean, observed = SYSTEM.clean(5), SYSTEM.observed(NOISE, 0)
    end = SYSTEM.steps * SYSTEM.step
    figure, axes = panels(4, 2, "Damped pendulum")
    for axis, column, limit, title in (
        (axes[0, 0], 0, SYSTEM.steps, "angle, fit"),
        (axes[0, 1], 1, SYSTEM.steps, "speed, fit"),
        (axes[1, 0], 0, 5 * SYSTEM.steps, "angle, 5x extrapolation"),
    ):
        times = [i * SYSTEM.step for i in range(limit + 1)]
        axis.plot(times, clean[: limit + 1, column], color="black", lw=1, label="true")
        if limit == SYSTEM.steps:
            axis.scatter(SYSTEM.times, observed[:, column], s=3, color="#999999", label="observed")
        else:
            axis.axvline(end, color="red", ls="--", lw=0.7)
        for row, r in shown.items():
            axis.plot(times[::2], [p[column] for p in r["path"][: limit // 2 + 1]], label=sized(row, r), **line_style(row, 0.9))
        axis.set(title=title, xlabel="t", ylim=(-4, 4) if column else (-1.5, 1.5))
    rows = list(found)
    horizons(axes[1, 1], records, rows)
    curves(axes[2, 0], "error of the trajectory while training", measured(found, "tests"))
    learned = [row for row in rows if "constants" in found[row]]
    spreads = [records.values("models", row, lambda r: r["constants"]["g_L"]) for row in learned]
    dots(axes[2, 1], "g/L learned; the line is the truth", learned, [("", spreads)], log=False)
    axes[2, 1].axvline(TRUE["g_L"], color="black", lw=0.6)
    recovery(axes[3, 0], "g/L while training", found, "g_L", TRUE["g_L"])
    axes[3, 1].plot(clean[:, 0], clean[:, 1], color="black", lw=0.6, label="true")
    for row, r in shown.items():
        axes[3, 1].plot([p[0] for p in r["path"]], [p[1] for p in r["path"]], label=sized(row, r), **line_style(row, 0.6))
    axes[3, 1].set(title="phase space, 5x", xlabel="angle", ylabel="speed", xlim=(-1.5, 1.5), ylim=(-4, 4))
    save(figure, out, "pendulum")
