"""The six panels of the paper's Feynman figure, and sample efficiency."""

from __future__ import annotations

from pathlib import Path

from ..common.figures import curves, dots, panels, save
from ..common.report import Records
from .equations import EQUATIONS
from .tables import SAMPLES


def draw(records: Records, out: Path) -> None:
    setting = "R"
    names = [e.name for e in EQUATIONS]

    def spreads(row: str, what: str) -> list[list[float | None]]:
        return [records.values(setting, f"{row}: {n}", what) for n in names]

    figure, axes = panels(4, 2, "Feynman equations, settings as released (R); dots are medians, lines all seeds", (4.9, 3.6))
    models = ("compiled", "hand-coded", "MLP")
    dots(axes[0, 0], "in-distribution MSE", names, [(row, spreads(row, "in")) for row in models])
    dots(axes[0, 1], "5x extrapolation MSE, safe part", names, [(row, spreads(row, "out")) for row in models], ends=(0, 1e20))
    labels, true, adam, ours = [], [], [], []
    for e in EQUATIONS:
        for constant, value in e.true.items():
            labels.append(f"{e.name} {constant}")
            true.append(value)
            adam.append(records.values(setting, f"compiled: {e.name}", lambda r, c=constant: r["constants"][c]))
            ours.append(records.values("S", f"Gauss-Newton: {e.name}", lambda r, c=constant: r["constants"][c]))
    second = "native, Gauss-Newton (ours)"
    dots(axes[1, 0], "true and learned constants", labels, [("true", [[t] for t in true]), ("compiled", adam), (second, ours)], log=False)

    def errors(found: list[list[float | None]]) -> list[list[float | None]]:
        return [[abs(v / t - 1) if v is not None else None for v in values] for values, t in zip(found, true)]

    dots(axes[1, 1], "relative error of constants; the line is 1 %", labels, [("compiled", errors(adam)), (second, errors(ours))])
    axes[1, 1].axvline(0.01, color="black", lw=0.6)
    dots(axes[2, 0], "trained numbers", names, [(row, spreads(row, "parameters")) for row in ("compiled", "MLP")])

    def ratio(equation: str, what: str) -> list[float | None]:
        net, compiled = (records.median(setting, f"{row}: {equation}", what) for row in ("MLP", "compiled"))
        return [net / compiled] if net is not None and compiled else []

    gains = [("in-distribution", [ratio(n, "in") for n in names]), ("5x", [ratio(n, "out") for n in names])]
    dots(axes[2, 1], "MLP error / compiled error; the line is 1", names, gains, colours=("#555555", "#d95f02"))
    axes[2, 1].axvline(1, color="black", lw=0.6)
    for axis, what, title in (
        (axes[3, 0], "in", "sample efficiency (heat), in-distribution"),
        (axes[3, 1], "out", "sample efficiency (heat), 5x"),
    ):
        lines = [
            (row, [(n, v) for n in SAMPLES if (v := records.median("samples", f"{row}: {n}", what)) is not None])
            for row in ("compiled, native", "MLP")
        ]
        curves(axis, title, lines, what="samples")
        axis.set_xscale("log")
    save(figure, out, "feynman")
