"""Numbers as text. In: values over seeds and the paper's figure; out: Markdown.

A cell reads `median [least … greatest] / paper`: what we saw over the seeds, then what the paper prints. What overflowed has no value."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Format = Callable[[float], str]


def sci(value: float) -> str:
    """`2.3e-8`; zero is zero, to be told from a small number."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def percent(value: float) -> str:
    """A share as percent, with three digits that matter."""
    share = 100 * value
    if not math.isfinite(share):
        return str(share)
    return f"{share:.1f} %" if share >= 10 else f"{share:.3g} %" if share >= 1e-3 or share == 0 else f"{share:.0e} %"


def plain(value: float) -> str:
    return f"{value:.4g}"


def whole(value: float) -> str:
    return f"{value:,.0f}"


def seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2g} s"


def cell(values: Sequence[float | None], style: Format = sci, paper: str | None = None) -> str:
    known = [v for v in values if v is not None]
    if not known:
        ours = "not finite" if values else "–"
    else:
        ours = style(statistics.median(known))
        if len(known) > 1 and min(known) != max(known):
            ours += f" [{style(min(known))} … {style(max(known))}]"
        if len(known) < len(values):
            ours += f", {len(values) - len(known)} not finite"
    return ours if paper is None else f"{ours} / {paper}"


@dataclass
class Table:
    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    text: str = ""

    def add(self, *cells: str) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"the table `{self.title}` has {len(self.columns)} columns, the row {len(cells)} cells")
        self.rows.append(cells)

    def markdown(self) -> str:
        lines = [f"### {self.title}", ""]
        if self.text:
            lines += [self.text, ""]
        lines += ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"
