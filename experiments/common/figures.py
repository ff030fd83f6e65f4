"""Figures, each as PNG and SVG. Colours stand for the same kind of model everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

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
    ("hybrid", "#1b9e77"),
    ("native", "#2166ac"),
    ("fit", "#084594"),
    ("compiled", "#4393c3"),
    ("hand", "#9970ab"),
    ("tuned", "#bf812d"),
    ("pinn", "#8c510a"),
    ("neural ode", "#f4a582"),
    ("mlp", "#d6604d"),
    ("neural", "#d6604d"),
)


def colour(row: str) -> str:
    low = row.lower()
    return next((c for word, c in COLOURS if word in low), "#555555")


def panels(rows: int, columns: int, title: str, size: tuple[float, float] = (4.6, 3.0)) -> tuple[Any, Any]:
    figure, axes = plt.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, layout="constrained")
    figure.suptitle(title)
    return figure, axes


def save(figure: Any, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png")
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def _number(value: float | None) -> float:
    """What overflowed is a gap."""
    return float("nan") if value is None else value


def curves(
    axis: Any, title: str, lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], log: bool = True, what: str = "epoch"
) -> None:
    """Lines of (x, y) by name."""
    for name, points in lines:
        if points:
            axis.plot(
                [x for x, _ in points],
                [_number(y) for _, y in points],
                label=name,
                color=colour(name),
                lw=1.2,
                ls="--" if "hand" in name.lower() else "-",
            )
    if log:
        axis.set_yscale("log")
    axis.set(title=title, xlabel=what)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=6)


def bars(axis: Any, title: str, labels: Sequence[str], groups: Sequence[tuple[str, Sequence[float | None]]], log: bool = True) -> None:
    """Groups of bars side by side; zeros on a logarithmic axis are written out."""
    width = 0.8 / len(groups)
    for g, (name, values) in enumerate(groups):
        places = [i + (g - (len(groups) - 1) / 2) * width for i in range(len(labels))]
        heights = [_number(v) for v in values]
        axis.bar(places, heights, width, label=name, color=colour(name) if len(groups) > 1 or name else [colour(x) for x in labels])
        if log:
            for place, v in zip(places, values):
                if v == 0:
                    axis.text(place, axis.get_ylim()[0], "0", ha="center", va="bottom", fontsize=6)
    if log:
        axis.set_yscale("log")
    axis.set_xticks(range(len(labels)), labels, rotation=45, ha="right", fontsize=6)
    axis.set_title(title)
    if any(name for name, _ in groups):
        axis.legend(fontsize=6)
