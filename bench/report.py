"""The page of results. In: the folder with bench.json and, where they were measured, threads/bench.json, scaling.json, module.json,
hybrid.json, fit.json and memory.json; out: docs/benchmarks.md and its picture. Of linear.json: docs/linear-algebra.md.

Everything on the page comes from those files: nothing is typed in by hand, misses included.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import floors
import tables

DOCS = Path(__file__).parent.parent / "docs"


CAUSES = """What is known of the causes:

- chain_250 beside JAX: XLA folds the 250 additions into x + 250 (its optimised HLO says so), and 1,638 of 10,000 f32 results differ from
  the sum as written; ours does what the text says.
- gradients beside heyoka: those of short programs write several columns and take about as long as the native loop, so memory is what
  remains. Those of newton20 and three_body wait for divisions.
- soft_clamp: both sides of a choice are computed, `exp` and `tanh` each to the last bit, where the native loop makes one exponential do;
  and the derivative of tanh is sech² from `cosh`, which keeps its digits where the native loop's 1 - t² has none left.
- add beside PyTorch eager: a single operation is one loop there too; ours takes about the time of the native loop.
- batch 1: chain_250 waits for 250 additions, one after the other, as the native loop does; tree_1000 brings 2,000 inputs one by one.
- at 10^6 and with two threads memory, and whatever else the machine did, decide: see the load above."""


def read(path: Path) -> Any:
    """JSON, or None where it was not measured."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def merged(bench: dict[str, Any], threads: dict[str, Any] | None) -> dict[str, Any]:
    """A run with one thread and one with all of them, as one; the promises are judged anew."""
    if threads is None:
        return bench
    key = lambda r: (r["program"], r["dtype"], r["gradient"], r["lanes"], r["threads"])
    records = {key(r): r for r in bench["batches"]["records"]} | {key(r): r for r in threads["batches"]["records"]}
    section = bench["batches"] | {"records": list(records.values())}
    about = bench["machine"] | {"command, all threads": threads["machine"]["command"], "load, all threads": threads["machine"]["load"]}
    return bench | {"machine": about, "batches": section, "floors": [v.record() for v in floors.judge(section["records"], "batches")]}


def suite(name: str, title: str, said: str, report: dict[str, Any]) -> list[str]:
    """A part of the page: what was promised, the misses, the times."""
    shown = {"module": tables.module, "hybrid": tables.hybrid, "fit": tables.fits}[name]
    verdicts = report["floors"]
    met = sum(v["met"] for v in verdicts)
    about = report["machine"]
    quick = " **A quick run: fewer and shorter rounds.**" if report["quick"] else ""
    return [
        f"## {title}",
        f"{said} {met} of {len(verdicts)} promises are met.{quick}",
        without_title(tables.markdown(tables.floors(verdicts))),
        *(tables.markdown(t) for t in shown(report[name])),
        f"Measured at commit {about['commit']}, load {about['load']}, by `{about['command']}`.",
    ]


MODULE = """`compile_scheme` as an `nn.Module` beside the same formula in eager PyTorch, called and differentiated alike; programs of five
operations or more. *Empty Function* hands a tensor through `torch.autograd.Function` and computes nothing: what PyTorch itself charges
for a call and, with a gradient, for its backward pass. Where a miss has little or nothing *allowed over empty*, PyTorch's own charge is
its cause; a program with many inputs pays it for each of them."""

HYBRID = """Zero the gradients, forward, loss, backward, Adam: the paper's three patterns with our physics and with the same physics by
hand. Both start from the same weights and give the same loss and gradients before they are timed. Most of a step is the network and the
optimiser, the same on both sides. Timed apart, the physics and its backward pass take less time compiled than by hand; in a step, the
loss and the optimiser that come after take longer than they do after physics by hand. So they do after any call of our code, one on NumPy
arrays included: 4 to 5 % for the 200 µs that follow. The cause is not known; vectors of half the width change nothing."""

FIT = "Constants from data, everything a user waits for included."


def page(bench: dict[str, Any], parts_of: dict[str, Any]) -> str:
    """The whole page, of the batches and of what else was measured: `scaling`, `module`, `hybrid`, `fit`, `memory`."""
    scaling, memory = parts_of.get("scaling"), parts_of.get("memory")
    section = bench["batches"]
    missed = [v for v in bench["floors"] if not v["met"] and v["ours"] == "ours_rust"]
    judged = [v for v in bench["floors"] if v["ours"] == "ours_rust"]
    parts = [
        "# Benchmarks",
        "Our engine and its alternatives, side by side in one process on the same data. This page is made by `bench/report.py` from the "
        "files of one run; `make bench` repeats it. What the programs are: [bench/programs](../bench/programs) and "
        "[bench/catalogue.py](../bench/catalogue.py).",
        "\n".join(f"- {key}: {value}" for key, value in bench["machine"].items())
        + "\n"
        + "\n".join(f"- {section['labels'][name]}: {version}" for name, version in section["versions"].items()),
    ]
    if bench["quick"]:
        parts.append("**A quick run: fewer and shorter rounds.**")
    parts += [
        "## How it is measured",
        "Every contender computes the same columns and is first held to NumPy in f64, its derivatives to the complex step; one that is "
        "wrong is not timed. Then all take turns, round after round, and the best round of each counts. With one thread the process is "
        "pinned to one core and its processor time is taken, with several the wall clock. *ours (Rust)* and *native loop* are called "
        "from Rust, all others from Python, as their users do. The native "
        "loops are written by hand with the vectors of the crate `wide` (whose `exp`, `sin` and `cos` promise no bound on their error; "
        "ours is 1 ULP) and compiled "
        "with `target-cpu=native`; *ours* is a plain release build. casadi knows f64 only. A gradient is the value and the derivatives "
        "with respect to every input, for every lane. In brackets: how many times as long as *ours (Rust)*.",
        "![Time of each contender, in times of ours](benchmarks.svg)",
        "## Floors",
        f"{len(judged) - len(missed)} of {len(judged)} are met from Rust; the misses stand below with their ratio.",
        without_title(tables.markdown(tables.floors(bench["floors"]))),
        CAUSES,
        "## Times",
        *(tables.markdown(t) for t in tables.batches(section)),
    ]
    notes = reasons(section)
    if notes:
        parts += ["Empty cells:", notes]
    if scaling:
        parts += [
            "## Cost per lane",
            *(without_title(tables.markdown(t)) for t in tables.scaling(scaling["scaling"])),
            f"Measured at commit {scaling['machine']['commit']}.",
        ]
    for name, title, said in (("module", "The PyTorch module", MODULE), ("hybrid", "Hybrid models", HYBRID), ("fit", "Fits", FIT)):
        if parts_of.get(name):
            parts += suite(name, title, said.replace("\n", " "), parts_of[name])
    if memory:
        lines = ["| rows | file | peak memory | time |", "| ---: | ---: | ---: | ---: |"]
        lines += [
            f"| {m['rows']:,} | {m['file_bytes'] / 1e6:.1f} MB | {m['peak_bytes'] / 1e6:.1f} MB | {m['seconds']:.2f} s |" for m in memory
        ]
        parts += ["## Memory of `neuralc eval`", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def linear_page(report: dict[str, Any]) -> str:
    """The page of the suite `linear`."""
    about, section = report["machine"], report["linear"]
    times = [
        (c["module"]["best"], c["eager"]["best"])
        for c in (r["contenders"] for r in section["records"])
        if "best" in c["module"] and "best" in c["eager"]
    ]
    met = sum(ours <= eager for ours, eager in times)
    parts = [
        "# Linear algebra beside PyTorch",
        "Products, dot products and sums as an `nn.Module` beside batched PyTorch by hand. Every lane has operands of its own unless a "
        "row says *shared*; gradients are "
        "those of all operands. Results are held to NumPy in f64 first, then all take turns and the best round of each counts, "
        "processor time on one core. Ours sum in "
        "the order of the [language](../spec/operations.md), the same bits on every machine. Beside another Python thread, which could "
        "exchange a tensor's memory, a module copies inputs first: there the rows that "
        "read much and compute little take up to three times as long. This page is made by `make bench-linear`.",
        "\n".join(f"- {key}: {value}" for key, value in about.items()) + f"\n- torch: {section['versions']['eager']}",
        *(["**A quick run: fewer and shorter rounds.**"] if report["quick"] else []),
        f"{met} of {len(times)} rows take at most the time of eager PyTorch.",
        *(tables.markdown(t) for t in tables.linear(section)),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def without_title(text: str) -> str:
    """A table alone."""
    return text.split("\n\n", 1)[1].rstrip("\n")


def reasons(section: dict[str, Any]) -> str:
    """Why cells are empty, each reason once."""
    found: dict[str, set[str]] = {}
    for record in section["records"]:
        if "skipped" in record:
            found.setdefault(record["skipped"], set()).add(record["program"])
        for name, cell in record.get("contenders", {}).items():
            for kind in ("skipped", "failed", "wrong"):
                if kind in cell:
                    what = "" if kind == "skipped" else f" ({kind})"
                    found.setdefault(f"{section['labels'][name]}{what}: {cell[kind]}", set()).add(record["program"])
    for name, reason in section["missing"].items():
        found[f"{name} is missing: {reason}"] = set()
    programs = lambda names: f" ({', '.join(sorted(names))})" if 0 < len(names) < 8 else ""
    return "\n".join(f"- {reason}{programs(names)}" for reason, names in found.items())


def main() -> None:
    """Writes the page."""
    folder = Path(sys.argv[1])
    bench, linear = read(folder / "bench.json"), read(folder / "linear.json")
    if linear is not None:
        (DOCS / "linear-algebra.md").write_text(linear_page(linear), encoding="utf-8")
        print(f"written to {DOCS / 'linear-algebra.md'}")
        if bench is None:
            return
    threads = read(folder / "threads" / "bench.json")
    if bench is None:
        raise SystemExit(f"{folder} has no bench.json: run bench/run.py first")
    (DOCS / "benchmarks.md").write_text(
        page(merged(bench, threads), {name: read(folder / f"{name}.json") for name in ("scaling", "module", "hybrid", "fit", "memory")}),
        encoding="utf-8",
    )
    shutil.copyfile(folder / "bench.svg", DOCS / "benchmarks.svg")
    print(f"written to {DOCS / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
