"""Figures, each as PNG and SVG. In: numbers by row, over seeds; out: panels and files.

Colours stand for the same kind of model everywhere, dashes for variants of it. Panels without a legend of their own share one below
the figure. A number without a place on the axis (0 on a logarithmic one, or beyond its ends) is written at the edge, not left out."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

plt.rcParams.update(
    {
        "figure.dpi": 100,
        "font.size": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.hashsalt": "neural-compiler",
    }
)

COLOURS = (
    ("network of the speed", "#7570b3"),
    ("source of the place", "#7570b3"),
    ("projected", "#7570b3"),
    ("hybrid", "#1b9e77"),
    ("native", "#2166ac"),
    ("fit", "#084594"),
    ("compiled", "#4393c3"),
    ("hand", "#9970ab"),
    ("tuned", "#dfa23d"),
    ("pinn", "#8c510a"),
    ("neural ode", "#f4a582"),
    ("mlp", "#d6604d"),
    ("neural", "#d6604d"),
    ("true", "#000000"),
)
DASHES: tuple[tuple[str, Any], ...] = (("hand", "--"), ("native", ":"), ("one program", "-."), ("released", "--"), ("lr 1e-2", ":"))
MARKERS = "osD^vP"

Spread = Sequence[float | None]
"""One number over seeds; what overflowed is None."""


def colour(row: str) -> str:
    low = row.lower()
    return next((c for word, c in COLOURS if word in low), "#555555")


def line_style(row: str, width: float = 1.2) -> dict[str, Any]:
    low = row.lower()
    return {"color": colour(row), "ls": next((d for word, d in DASHES if word in low), "-"), "lw": width}


def panels(rows: int, columns: int, title: str, size: tuple[float, float] = (4.9, 3.2)) -> tuple[Any, Any]:
    figure, axes = plt.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, layout="constrained")
    figure.suptitle(title)
    return figure, axes


def save(figure: Any, folder: Path, name: str) -> None:
    _share_legend(figure)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png")
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def _share_legend(figure: Any) -> None:
    shared: dict[str, Any] = {}
    for axis in figure.axes:
        if axis.get_legend() is None:
            for handle, label in zip(*axis.get_legend_handles_labels()):
                shared.setdefault(label, handle)
    if shared:
        columns = max(1, int(figure.get_figwidth() / 2.6))
        figure.legend(shared.values(), shared.keys(), loc="outside lower center", ncols=columns, fontsize=7)


def curves(
    axis: Any, title: str, lines: Sequence[tuple[str, Sequence[tuple[float, float | None]]]], log: bool = True, what: str = "epoch"
) -> None:
    """Lines of (x, y) by name; what overflowed is a gap."""
    for name, points in lines:
        if points:
            axis.plot([x for x, _ in points], [math.nan if y is None else y for _, y in points], label=name, **line_style(name))
    if log:
        axis.set_yscale("log")
    axis.set(title=title, xlabel=what)


def dots(
    axis: Any,
    title: str,
    labels: Sequence[str],
    groups: Sequence[tuple[str, Sequence[Spread]]],
    log: bool = True,
    ends: tuple[float, float] = (-math.inf, math.inf),
    colours: Sequence[str] | None = None,
) -> None:
    """A line for each label, in it a dot for each group: the median over seeds, between the least and the greatest. A group without a
    name takes the colours of the labels."""
    step = 0.8 / len(groups)
    for g, (name, spreads) in enumerate(groups):
        for place, (label, spread) in enumerate(zip(labels, spreads, strict=True)):
            known = [v for v in spread if v is not None]
            if not known:
                continue
            y = place + (g - (len(groups) - 1) / 2) * step
            shade = colours[g] if colours else colour(name or label)
            middle = statistics.median(known)
            if not ends[0] <= middle <= ends[1] or (log and middle <= 0):
                right = middle > ends[1]
                text = "0" if middle == 0 else f"{middle:.0e} →" if right else f"← {middle:.0e}"
                edge, side = (0.99, "right") if right else (0.01, "left")
                axis.text(edge, y, text, transform=axis.get_yaxis_transform(), color=shade, fontsize=5, va="center", ha=side)
                continue
            inside = [v for v in known if ends[0] <= v <= ends[1] and (v > 0 or not log)]
            axis.plot([min(inside), max(inside)], [y, y], color=shade, lw=1, alpha=0.6)
            axis.plot([middle], [y], MARKERS[g % len(MARKERS)], color=shade, ms=3.5)
        if name:
            axis.plot([], [], MARKERS[g % len(MARKERS)], color=colours[g] if colours else colour(name), ms=3.5, label=name)
    if log:
        axis.set_xscale("log")
    axis.set_yticks(range(len(labels)), [textwrap.fill(label, 26) for label in labels], fontsize=6)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.grid(axis="x", color="#dddddd", lw=0.5)
    axis.set_title(title)
    if any(name for name, _ in groups):
        axis.legend(fontsize=6)
