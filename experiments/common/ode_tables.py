"""Tables and numbers that Lotka-Volterra and the pendulum both have. In: records; out: rows of a table, or a number to check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .dynamics import HORIZONS
from .report import Records, Report
from .tables import Table, cell, percent, sci, seconds, whole


def model_rows(
    table: Table, records: Records, group: str, rows: Iterable[str], constants: Sequence[str], paper: Mapping[str, Sequence[str | None]]
) -> None:
    """A line for each model that was run: its constants' errors, its trajectory's errors, what training took. The paper's figures stand
    in the same order."""
    for row in rows:
        found = records.of(group, row)
        if not found:
            continue
        figures = paper.get(row, (None,) * (len(constants) + len(HORIZONS)))
        known = found[0].get("off", {})
        table.add(
            row,
            whole(found[0]["parameters"]),
            *(cell([r["off"][n] for r in found], percent, p) if n in known else "–" for n, p in zip(constants, figures)),
            *(cell([r[f"x{m}"] for r in found], sci, p) for m, p in zip(HORIZONS, figures[len(constants) :])),
            cell([r["training_seconds"] for r in found], seconds),
            str(len(found)),
        )


def integrated(result: Report, records: Records, rows: Iterable[str], ends: Sequence[str]) -> None:
    """What the constants of PINNs give when the law itself is integrated with them."""
    table = Table(
        "The constants PINNs learn, integrated",
        ("model", *ends),
        text="The same constants put into the equation: what is wrong far out is the network, not always its constants.",
    )
    for row in rows:
        found = records.of("models", row)
        if "PINN" in row and found:
            table.add(row, *(cell([r["integrated"][f"x{m}"] for r in found]) for m in HORIZONS))
    if table.rows:
        result.tables.append(table)


def native_beside_torch(records: Records, constants: Iterable[str]) -> float | None:
    """How far the constants of the native backend are from those of torch operations, at most."""
    names = list(constants)
    pairs = zip(records.of("models", "compiled, native"), records.of("models", "compiled"))
    return max((abs(a["constants"][n] / b["constants"][n] - 1) for a, b in pairs for n in names), default=None)
