"""What an experiment says of its records: tables, claims with what was seen, and the numbers `expected.json` holds it to."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from .jobs import Record
from .tables import Table


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether this run bears it out, and what it saw."""

    text: str
    holds: bool
    seen: str


@dataclass
class Report:
    tables: list[Table] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def claim(self, text: str, holds: bool, seen: str) -> None:
        self.claims.append(Claim(text, bool(holds), seen))

    def data(self) -> dict[str, Any]:
        return {
            "tables": [t.markdown() for t in self.tables],
            "claims": [asdict(c) for c in self.claims],
            "notes": self.notes,
            "numbers": self.numbers,
        }


class Records:
    """Records by table and row, over seeds."""

    def __init__(self, records: list[Record]) -> None:
        self.all = records

    def of(self, table: str, row: str) -> list[Record]:
        return [r for r in self.all if r["table"] == table and r["row"] == row]

    def rows(self, table: str) -> list[str]:
        return list(dict.fromkeys(r["row"] for r in self.all if r["table"] == table))

    def first(self, table: str, row: str) -> Record | None:
        found = self.of(table, row)
        return found[0] if found else None

    def values(self, table: str, row: str, get: str | Callable[[Record], Any]) -> list[Any]:
        read = get if callable(get) else lambda r: r.get(get)
        return [read(r) for r in self.of(table, row)]

    def median(self, table: str, row: str, get: str | Callable[[Record], Any]) -> float | None:
        known = [v for v in self.values(table, row, get) if v is not None]
        return statistics.median(known) if known else None

    def same_digests(self, table: str, one: str, other: str) -> tuple[int, int]:
        """In how many of the seeds both have, loss, gradients and parameters had the same bits after every epoch."""
        first = {r["seed"]: r["digest"] for r in self.of(table, one)}
        second = {r["seed"]: r["digest"] for r in self.of(table, other)}
        shared = first.keys() & second.keys()
        return sum(first[s] == second[s] for s in shared), len(shared)


def cost_table(report: Report, record: Record | None, title: str, prefix: str = "") -> None:
    """The table of `cost.compare`, and its ratios as numbers to check."""
    if record is None:
        return
    table = Table(title, ("model", "time per epoch", "beside hand-coded"))
    for name, found in record["cost"].items():
        table.add(name, f"{1e6 * found['seconds']:,.0f} µs", f"{found['ratio']:.2f}x")
        report.numbers[f"{prefix}cost.{name}"] = found["ratio"]
    report.tables.append(table)


def identity(report: Report, records: Records, table: str, one: str, other: str) -> None:
    """Whether two rows had the same bits in loss, gradients and parameters after every epoch, as a claim and as a number to check."""
    same, shared = records.same_digests(table, one, other)
    if shared:
        report.numbers[f"identical.{table}.{one}"] = same == shared
        report.claim(
            f"{one} and {other} ({table}) train identically.",
            same == shared,
            f"the same bits in loss, gradients and parameters after every epoch for {same} of {shared} seeds",
        )
