"""Experiment 6. Tables and figures; the work is in `runs`."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from ..common.cli import Experiment, main
from ..common.figures import dots, panels, save
from ..common.jobs import Job
from ..common.report import Records, Report
from ..common.tables import Table, cell, sci
from . import runs
from .chains import CHAINS, DEEP, name


def jobs(quick: bool, seeds: range) -> list[Job]:
    exact = Job("composition", "exact", runs.exact, {"samples": 10_000, "deep": True})
    epochs, samples = (200, 1_000) if quick else (5_000, 10_000)
    return [exact] + [Job("composition", "neural", runs.networks, {"epochs": epochs, "samples": samples}, seed) for seed in seeds]


def report(records: Records, quick: bool) -> Report:
    result = Report()
    exact, neural = records.first("composition", "exact"), records.of("composition", "neural")
    if exact is None:
        return result
    epochs = neural[0]["arguments"]["epochs"] if neural else 0
    table = Table(
        "Mean squared error of chains",
        (
            "chain",
            "depth",
            "compiled, [-2, 2]",
            "hand-coded",
            f"neural, {epochs:,} epochs, [-2, 2]",
            "compiled, [-8, 8]",
            "neural, [-8, 8]",
            "nodes of the one program",
            "seeds",
        ),
        text="Compiled against hand-written torch, and the native program against its stages run one by one; float32 and float64 alike. "
        "Cells: median over seeds [least … greatest] / paper.",
    )
    zero = 0.0
    for chain, inside, outside in CHAINS:
        found = exact["chains"][name(chain)]
        worst = {r: max(found[f"{kind}.{r}.{t}"]["mse"] for kind in ("torch", "native") for t in ("f32", "f64")) for r in ("in", "out")}
        zero = max(zero, *worst.values())
        seen = [n["chains"][name(chain)] for n in neural]
        table.add(
            name(chain),
            str(len(chain)),
            cell([worst["in"]], sci, "0"),
            "0 (the reference) / 0",
            cell([s["in"]["mse"] for s in seen], sci, inside),
            cell([worst["out"]], sci, "0"),
            cell([s["out"]["mse"] for s in seen], sci, outside),
            str(found["nodes"]),
            str(len(neural)),
        )
    deep = exact["chains"][name(DEEP)]
    deepest = max(deep[f"{kind}.{r}.{t}"]["mse"] for kind in ("torch", "native") for r in ("in", "out") for t in ("f32", "f64"))
    table.add(
        f"{name(DEEP)} (ours)", str(len(DEEP)), cell([deepest]), "0 (the reference)", "–", cell([deepest]), "–", str(deep["nodes"]), "–"
    )
    result.tables.append(table)
    rounding = max(found[f"rounding.{r}.f64"] for found in exact["chains"].values() if found["depth"] < 100 for r in ("in", "out"))
    result.numbers = {
        "worst_exact_mse": max(zero, deepest),
        "regions_per_chain": max(c["regions"] for c in exact["chains"].values()),
        "native_rounding_f64": rounding,
        "bound_kept": all(b["seen"] <= b["bound"] * (1 + 1e-4) for n in neural for b in n["bounds"]),
        "neural_worst_out": statistics.median(n["chains"][name(CHAINS[2][0])]["out"]["mse"] for n in neural) if neural else None,
    }
    result.claim(
        "Compiled chains have exactly zero error at all depths and ranges.",
        max(zero, deepest) == 0,
        f"largest error {sci(max(zero, deepest))}, also at depth {len(DEEP)}",
    )
    if neural:
        inside = [statistics.median(n["chains"][name(c)]["in"]["mse"] for n in neural) for c, _, _ in CHAINS]
        near = sum(0.5 <= seen / float(paper) <= 2 for seen, (_, paper, _) in zip(inside, CHAINS))
        result.claim(
            "The printed errors of neural chains on [-2, 2] are those of 5,000 epochs.",
            epochs == 5_000 and near == len(CHAINS),
            f"after {epochs:,} epochs {near} of {len(CHAINS)} are within a factor of 2 of the print",
        )
        blow = result.numbers["neural_worst_out"]
        result.claim("Neural chains blow up to 5.9e9 on [-8, 8].", 0.5 <= blow / 5.9e9 <= 2, f"{sci(blow)} for {name(CHAINS[2][0])}")
    return result


def draw(records: Records, out: Path) -> None:
    exact, neural = records.first("composition", "exact"), records.of("composition", "neural")
    if exact is None or not neural:
        return
    labels = [f"{len(c)}: {'→'.join(p[:3] for p in c)}" for c, _, _ in CHAINS]
    keys = [name(c) for c, _, _ in CHAINS]

    def seen(where: str, what: str) -> list[list[float]]:
        return [[n["chains"][k][where][what] for n in neural] for k in keys]

    figure, axes = panels(2, 3, "Composition: compiled chains are exact at any depth")
    for axis, where, title in ((axes[0, 0], "in", "error by depth, [-2, 2]"), (axes[0, 1], "out", "error by depth, [-8, 8] (4x)")):
        medians = [statistics.median(values) for values in seen(where, "mse")]
        axis.scatter([len(c) for c, _, _ in CHAINS], medians, color="#d6604d", label="neural")
        axis.plot([2, 6], [1e-18, 1e-18], color="#4393c3", label="compiled and hand-coded: exactly 0")
        axis.set(yscale="log", xlabel="depth", ylabel="MSE", title=title)
        axis.legend(fontsize=6)
    exactly = [[0.0]] * len(keys)
    dots(axes[0, 2], "worst absolute error, [-2, 2]", labels, [("neural", seen("in", "worst")), ("compiled", exactly)])
    operations = list(neural[0]["module_losses"])
    losses = [[n["module_losses"][op] for n in neural] for op in operations]
    dots(axes[1, 0], "training loss of each network", operations, [("neural", losses)])
    floor = max(statistics.mean(neural[0]["module_losses"].values()), 1e-30)
    ranges = (("[-2, 2]", "in"), ("[-8, 8]", "out"))
    growth = [(title, [[v / floor for v in values] for values in seen(where, "mse")]) for title, where in ranges]
    dots(axes[1, 1], "error of the chain / mean error of one network", labels, growth, colours=("#f4a582", "#b2182b"))
    example = neural[0]["example"]
    axes[1, 2].plot(example["x"], example["true"], label="compiled = by hand", color="#4393c3")
    axes[1, 2].plot(example["x"], example["neural"], label="neural", color="#d6604d", ls="--")
    axes[1, 2].axvspan(-2, 2, color="#eeeeee", zorder=0)
    axes[1, 2].set(title=name(CHAINS[4][0]), xlabel="x")
    axes[1, 2].legend(fontsize=6)
    save(figure, out, "composition")


EXPERIMENT = Experiment("composition", "Experiment 6: composition", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
