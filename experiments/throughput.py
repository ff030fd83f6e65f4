"""Section 4 and appendix C: what compiling and running costs, beside the same formula written by hand in torch.

`make bench` measures the engine in earnest; this is the paper's own table, measured where the other experiments run."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import neural_compiler
import torch
from torch import Tensor

from .common.cli import Experiment, main
from .common.figures import dots, panels, save
from .common.jobs import Job, Record
from .common.report import Records, Report
from .common.tables import Table
from .pendulum import runs as pendulum

Hand = Callable[..., Tensor]


def _tree(width: int) -> tuple[str, list[str], Hand]:
    """Products of two inputs each, summed pairwise."""
    terms = [f"(* a{i} b{i})" for i in range(width)]
    while len(terms) > 1:
        terms = [f"(+ {a} {b})" for a, b in zip(terms[::2], terms[1::2])] + terms[len(terms) - len(terms) % 2 :]
    names = [f"{letter}{i}" for i in range(width) for letter in "ab"]

    def hand(*columns: Tensor) -> Tensor:
        values = [a * b for a, b in zip(columns[::2], columns[1::2])]
        while len(values) > 1:
            values = [a + b for a, b in zip(values[::2], values[1::2])] + values[len(values) - len(values) % 2 :]
        return values[0]

    return terms[0], names, hand


def _chain(depth: int) -> tuple[str, list[str], Hand]:
    def hand(x: Tensor) -> Tensor:
        for _ in range(depth):
            x = x + 1
        return x

    return "(+ " * depth + "x" + " 1)" * depth, ["x"], hand


def programs() -> dict[str, tuple[str, list[str], Hand]]:
    found: dict[str, tuple[str, list[str], Hand]] = {
        "add": ("(+ x y)", ["x", "y"], lambda x, y: x + y),
        "square_plus": ("(+ (* x x) y)", ["x", "y"], lambda x, y: x * x + y),
        "four_ops": ("(+ (* a b) (- c d))", list("abcd"), lambda a, b, c, d: a * b + (c - d)),
        "abs": ("(if (> x 0) x (- 0 x))", ["x"], lambda x: torch.where(x > 0, x, 0 - x)),
        "clamp": ("(if (< x 0) 0 (if (> x 10) 10 x))", ["x"], lambda x: torch.where(x < 0, 0.0, torch.where(x > 10, 10.0, x))),
        "quadratic": ("(+ (+ (* a (* x x)) (* b x)) c)", list("axbc"), lambda a, x, b, c: a * (x * x) + b * x + c),
        "discriminant": (
            "(let ((d (- (* b b) (* 4 (* a c))))) (if (>= d 0) 1 0))",
            list("bac"),
            lambda b, a, c: torch.where(b * b - 4 * (a * c) >= 0, 1.0, 0.0),
        ),
        "dist_sq": (
            "(+ (* (- x1 x2) (- x1 x2)) (* (- y1 y2) (- y1 y2)))",
            ["x1", "x2", "y1", "y2"],
            lambda x1, x2, y1, y2: (x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2),
        ),
        "dot4": _tree(4),
        "chain_250": _chain(250),
        "tree_1000": _tree(1000),
    }
    return found


# The paper's samples per second for batches of 1, 100 and 10,000 (RTX 4090).
PAPER = {
    "add": ("201K", "11.0M", "2.0B"),
    "square_plus": ("202K", "8.2M", "585M"),
    "four_ops": ("141K", "5.9M", "878M"),
    "quadratic": ("115K", "4.5M", "365M"),
    "discriminant": ("28K", "2.0M", "135M"),
    "dot4": ("85K", "3.6M", "457M"),
    "chain_250": ("–", "–", "333M"),
    "tree_1000": ("–", "–", "9.7M"),
}
BATCHES = (1, 100, 10_000)


def timed(work: Callable[[], Any], budget: float) -> float:
    """Seconds per call: the median of rounds that fill the budget."""
    work()
    begun = time.perf_counter()
    work()
    once = max(time.perf_counter() - begun, 1e-7)
    per_round = max(1, int(budget / 10 / once))
    rounds = []
    for _ in range(10):
        begun = time.perf_counter()
        for _ in range(per_round):
            work()
        rounds.append((time.perf_counter() - begun) / per_round)
    return statistics.median(rounds)


def measure(name: str, budget: float, seed: int) -> Record:
    source, names, hand = programs()[name]
    draw = torch.Generator().manual_seed(seed)

    def fresh() -> Any:
        # A comment makes the text new, so that nothing found before is used again.
        fresh.count += 1  # type: ignore[attr-defined]
        return neural_compiler.compile(f"{source} ; {fresh.count}", names)  # type: ignore[attr-defined]

    fresh.count = 0  # type: ignore[attr-defined]
    found: Record = {"compile": timed(fresh, budget)}
    module = neural_compiler.compile_scheme(source, names)
    found["nodes"] = sum(len(region["nodes"]) for region in module.graph.to_dict()["regions"])
    with torch.no_grad():
        for batch in BATCHES:
            columns = [10 * torch.rand(batch, generator=draw) - 2 for _ in names]
            found[f"native.{batch}"] = timed(lambda: module(*columns), budget)
            found[f"hand.{batch}"] = timed(lambda: hand(*columns), budget)
            found[f"equal.{batch}"] = torch.equal(module(*columns), hand(*columns))
    return found


def jobs(quick: bool, seeds: range) -> list[Job]:
    found = [Job("programs", name, measure, {"name": name, "budget": 0.02 if quick else 0.5}) for name in programs()]
    return [*found, Job("training", "pendulum", pendulum.cost, {"rounds": 3 if quick else 30, "steps": 2})]


def _rate(seconds: float, batch: int) -> str:
    rate = batch / seconds
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if rate >= size:
            return f"{rate / size:.3g}{letter}"
    return f"{rate:.3g}"


def report(records: Records, quick: bool) -> Report:
    result = Report()
    table = Table(
        "Samples per second, one thread",
        (
            "program",
            "nodes",
            "compile",
            *(f"batch {b:,}: ours / paper" for b in BATCHES),
            *(f"batch {b:,}: torch by hand" for b in BATCHES),
        ),
        text="Native modules called through PyTorch. The paper's figures are those of an RTX 4090 (it prints the same ones as CPU "
        "figures elsewhere); ours are one core.",
    )
    names = [name for name in programs() if records.of("programs", name)]
    for name in names:
        r = records.of("programs", name)[0]
        ours = [f"{_rate(r[f'native.{b}'], b)} / {p}" for b, p in zip(BATCHES, PAPER.get(name, ("–",) * 3))]
        table.add(name, str(r["nodes"]), f"{1e6 * r['compile']:,.0f} µs", *ours, *(_rate(r[f"hand.{b}"], b) for b in BATCHES))
    result.tables.append(table)
    small = [records.of("programs", n)[0] for n in names if n not in ("chain_250", "tree_1000")]
    result.numbers["equal"] = all(r[f"equal.{b}"] for n in names for r in records.of("programs", n) for b in BATCHES)
    if small:
        slowest = max(r["compile"] for r in small)
        result.numbers["slowest_compile_seconds"] = slowest
        result.claim("Compiling takes 30 to 150 µs.", slowest < 150e-6, f"at most {1e6 * slowest:.0f} µs for the paper's nine programs")
        calls = [r["native.1"] for r in small]
        result.claim(
            "A single call takes 12 to 95 µs.", max(calls) < 95e-6, f"{1e6 * min(calls):.1f} to {1e6 * max(calls):.1f} µs through PyTorch"
        )
    training = records.first("training", "pendulum")
    if training is not None:
        cost = training["cost"]
        mlp = cost["MLP"]["seconds"]
        beside = Table(
            "Training cost of the pendulum, an epoch beside that of the MLP", ("model", "time per epoch", "beside the MLP", "paper")
        )
        for row, paper in (
            ("compiled", "3.8x"),
            ("compiled, native", "3.8x"),
            ("hand-coded", "–"),
            ("compiled, window as one program (ours)", "–"),
            ("S2, compiled", "2.5x"),
            ("S2, compiled, native", "2.5x"),
            ("S2, hand-coded", "–"),
            ("MLP", "1x"),
        ):
            beside.add(row, f"{1e3 * cost[row]['seconds']:.1f} ms", f"{cost[row]['seconds'] / mlp:.2f}x", paper)
        result.tables.append(beside)
        ratio = cost["compiled"]["seconds"] / mlp
        result.claim(
            "Known structure costs 3.8 times the training of an MLP.",
            2.5 <= ratio <= 5,
            f"{ratio:.2f} times through torch operations, {cost['compiled, window as one program (ours)']['seconds'] / mlp:.2f} times "
            "as one program",
        )
    return result


def draw(records: Records, out: Path) -> None:
    names = [name for name in programs() if records.of("programs", name)]
    figure, axes = panels(1, 3, "Throughput, one thread")
    for axis, batch in zip(axes[0], BATCHES):
        groups = [
            (label, [[batch / records.of("programs", n)[0][f"{key}.{batch}"]] for n in names])
            for label, key in (("compiled, native", "native"), ("hand-coded torch", "hand"))
        ]
        dots(axis, f"samples per second, batch {batch:,}", names, groups)
    save(figure, out, "throughput")


EXPERIMENT = Experiment("throughput", "Section 4 and appendix C: cost", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
