"""Lines and bars that several figures draw. In: the records shown, by row; out: named lines for `figures.curves`, or a drawn panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .dynamics import HORIZONS
from .figures import curves, dots
from .jobs import Record
from .report import Records

Shown = Mapping[str, Record | None]
Lines = list[tuple[str, list[tuple[float, float]]]]


SHADES = ("#a6bddb", "#3690c0", "#023858")


def sized(row: str, record: Record) -> str:
    """A model's name, with the number of its parameters."""
    return f"{row} ({record['parameters']:,})"


def measured(found: Shown, what: str) -> Lines:
    """`tests` or `losses` while training, of the rows that have them."""
    return [(sized(row, r), r[what]) for row, r in found.items() if r and r.get(what)]


def recovery(axis: Any, title: str, found: Shown, constant: str, true: float) -> None:
    """A constant while training, and its true value."""
    lines = [
        (sized(row, r), list(zip([epoch for epoch, _ in r["losses"]], r["followed"][constant])))
        for row, r in found.items()
        if r and r.get("followed", {}).get(constant)
    ]
    curves(axis, title, lines, log=False)
    axis.axhline(true, color="black", lw=0.6)
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, 0.0), min(high, 2 * true))  # a PINN's early excursions would flatten the others


def horizons(axis: Any, records: Records, rows: Sequence[str]) -> None:
    """The trajectory's error of each model, a dot for each time it is followed to."""
    spreads = [(f"to {m}x the time", [records.values("models", row, f"x{m}") for row in rows]) for m in HORIZONS]
    dots(axis, "trajectory MSE", rows, spreads, colours=SHADES)
