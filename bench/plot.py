"""The picture of a run. In: the content of bench.json; out: an SVG, one panel for values and one for gradients for each of two sizes.

Each dot is a contender: how many times as long as our engine from Rust it takes. Right of the line at 1 we are faster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from floors import times_of
from tables import power

STYLES = {
    "native": ("#222222", "D"),
    "ours": ("#d1495b", "o"),
    "heyoka_cfunc": ("#2e8b57", "s"),
    "jax_jit": ("#3d6fb6", "^"),
    "compile": ("#8e6bbf", "v"),
    "eager": ("#e08e28", "o"),
    "numexpr_evaluate": ("#7a7a7a", "X"),
    "casadi_map": ("#b0855a", "P"),
}


def draw(report: dict[str, Any], path: Path) -> None:
    """Writes the picture; a run without two contenders or without our engine from Rust has none."""
    section = report["batches"]
    records = [r for r in section["records"] if "ours_rust" in times_of(r)]
    if not records:
        return
    first = (records[0]["threads"], records[0]["dtype"])
    records = [r for r in records if (r["threads"], r["dtype"]) == first]
    sizes = sorted({r["lanes"] for r in records})
    sizes = [n for n in sizes if n >= 10**4][:2] or sizes[-1:]
    kinds = sorted({r["gradient"] for r in records})
    programs = list(dict.fromkeys(r["program"] for r in records))
    figure, axes = plt.subplots(
        len(sizes),
        len(kinds),
        figsize=(5.4 * len(kinds), 0.28 * len(programs) * len(sizes) + 1.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for row, lanes in zip(axes, sizes):
        for axis, gradient in zip(row, kinds):
            panel(axis, [r for r in records if r["lanes"] == lanes and r["gradient"] == gradient], programs)
            axis.set_title(f"{'value and gradient' if gradient else 'value'}, batch {power(lanes)}", fontsize=10, loc="left")
    handles = [
        plt.Line2D([], [], color=c, marker=m, linestyle="", label=section["labels"][n])
        for n, (c, m) in STYLES.items()
        if n in section["labels"]
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    threads = f"{first[0]} thread{'s' if first[0] > 1 else ''}"
    figure.suptitle(f"Time of each contender, in times of ours (Rust)   ·   {first[1]}, {threads}", fontsize=11, x=0.01, ha="left")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def panel(axis: Any, records: list[dict[str, Any]], programs: list[str]) -> None:
    """One size and kind."""
    axis.axvline(1, color="#d1495b", linewidth=1.2, zorder=1)
    for record in records:
        times = times_of(record)
        y = programs.index(record["program"])
        for name, (colour, marker) in STYLES.items():
            if name in times:
                axis.plot(
                    times[name] / times["ours_rust"],
                    y,
                    color=colour,
                    marker=marker,
                    markersize=5.5,
                    markeredgecolor="white",
                    markeredgewidth=0.5,
                    zorder=3,
                )
    axis.set_xscale("log")
    axis.set_yticks(range(len(programs)), programs, fontsize=8)
    axis.set_ylim(len(programs) - 0.5, -0.5)
    axis.tick_params(axis="x", labelsize=8)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}x")
    axis.grid(axis="both", color="#e6e6e6", linewidth=0.6, zorder=0)
    axis.spines[["top", "right"]].set_visible(False)
