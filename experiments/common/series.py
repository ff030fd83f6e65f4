"""Lines and bars that several figures draw. In: the records shown, by row; out: named lines for `figures.curves`, or a drawn panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .dynamics import HORIZONS
from .figures import bars, curves
from .jobs import Record
from .report import Records

Shown = Mapping[str, Record | None]
Lines = list[tuple[str, list[tuple[float, float]]]]


def measured(found: Shown, what: str) -> Lines:
    """`tests` or `losses` while training, of the rows that have them; the number of parameters stands with the name."""
    return [(f"{row} ({r['parameters']:,})", r[what]) for row, r in found.items() if r and r.get(what)]


def recovery(axis: Any, title: str, found: Shown, constant: str, true: float) -> None:
    """A constant while training, and its true value."""
    lines = [
        (row, list(zip([epoch for epoch, _ in r["losses"]], r["followed"][constant])))
        for row, r in found.items()
        if r and r.get("followed", {}).get(constant)
    ]
    curves(axis, title, lines, log=False)
    axis.axhline(true, color="black", lw=0.6)


def horizons(axis: Any, records: Records, rows: Sequence[str]) -> None:
    """The trajectory's error of each model, one bar for each time it is followed to."""
    bars(axis, "trajectory MSE", rows, [(f"{m}x", [records.median("models", row, f"x{m}") for row in rows]) for m in HORIZONS])
    for shade, container in zip(("#bbbbbb", "#777777", "#333333"), axis.containers):
        for patch in container:
            patch.set_color(shade)
    axis.legend(fontsize=6)
