"""The six panels of the paper's Feynman figure, and sample efficiency."""

from __future__ import annotations

from pathlib import Path

from ..common.figures import bars, panels, save
from ..common.report import Records
from .equations import EQUATIONS
from .tables import SAMPLES


def draw(records: Records, out: Path) -> None:
    setting = "R"
    names = [e.name for e in EQUATIONS]

    def medians(row: str, what: str) -> list[float | None]:
        return [records.median(setting, f"{row}: {n}", what) for n in names]

    figure, axes = panels(4, 2, "Feynman equations, settings as released (R)")
    for axis, what, title in ((axes[0, 0], "in", "in-distribution MSE"), (axes[0, 1], "out", "5x extrapolation MSE, safe part")):
        bars(axis, title, names, [(row, medians(row, what)) for row in ("compiled", "hand-coded", "MLP")])
    labels, true, adam, ours = [], [], [], []
    for e in EQUATIONS:
        for constant, value in e.true.items():
            labels.append(f"{e.name} {constant}")
            true.append(value)
            adam.append(records.median(setting, f"compiled: {e.name}", lambda r, c=constant: r["constants"][c]))
            ours.append(records.median("S", f"Gauss-Newton: {e.name}", lambda r, c=constant: r["constants"][c]))
    bars(
        axes[1, 0],
        "true and learned constants",
        labels,
        [("true", true), ("compiled", adam), ("native, Gauss-Newton (ours)", ours)],
        log=False,
    )

    def errors(found: list[float | None]) -> list[float | None]:
        return [abs(v / t - 1) if v is not None else None for v, t in zip(found, true)]

    bars(axes[1, 1], "relative error of constants", labels, [("compiled", errors(adam)), ("native, Gauss-Newton (ours)", errors(ours))])
    axes[1, 1].axhline(0.01, color="black", lw=0.6)
    bars(axes[2, 0], "trained numbers", names, [(row, medians(row, "parameters")) for row in ("compiled", "MLP")])
    ratios = []
    for what in ("in", "out"):
        ratios.append([n / c if n is not None and c else None for n, c in zip(medians("MLP", what), medians("compiled", what))])
    bars(axes[2, 1], "MLP error / compiled error", names, [("in-distribution", ratios[0]), ("extrapolation, MLP", ratios[1])])
    for axis, what, title in (
        (axes[3, 0], "in", "sample efficiency (heat), in-distribution"),
        (axes[3, 1], "out", "sample efficiency (heat), 5x"),
    ):
        for row in ("compiled, native", "MLP"):
            points = [(s, v) for s in SAMPLES if (v := records.median("samples", f"{row}: {s}", what)) is not None]
            axis.plot([s for s, _ in points], [v for _, v in points], marker="o", label=row, color="#2166ac" if row != "MLP" else "#d6604d")
        axis.set(xscale="log", yscale="log", xlabel="samples", title=title)
        axis.legend(fontsize=6)
    save(figure, out, "feynman")
