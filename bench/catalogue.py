"""The programs the benchmark runs.

In: `programs/*.scm`, the text our compiler gets. Out: `PROGRAMS`, each with the same formula written by hand in Python, over a
namespace `m` (see `peers.Namespace`) that every peer provides for its own arrays or expressions.
Invariant: text and formula are the same operations in the same order; `measure.verify` holds every contender to the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from buffers import aligned

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Program:
    """One program: its inputs with the range each is drawn from, and the formula by hand."""

    name: str
    inputs: dict[str, tuple[float, float]]
    formula: Callable[..., Any]
    """`formula(m, *columns)`"""
    expression: str | None = None
    """The formula for numexpr; None where it is no single expression."""
    stacked: Callable[[Any, Any], Any] | None = None
    """`stacked(m, matrix)` over a matrix with one row per input, where a person would write it so."""
    largest: int = 10**7
    """Lanes at most: beyond them the inputs alone take gigabytes."""

    @cached_property
    def source(self) -> str:
        """The text of the program."""
        if self.name in GENERATED:
            return GENERATED[self.name]()
        return (HERE / "programs" / f"{self.name}.scm").read_text(encoding="utf-8")

    def columns(self, lanes: int, dtype: np.dtype) -> np.ndarray:
        """Data: one row per input, the same for every contender."""
        generator = np.random.default_rng(20_260_101)
        data = aligned((len(self.inputs), lanes), dtype)
        for row, (low, high) in zip(data, self.inputs.values()):
            row[:] = generator.uniform(low, high, lanes)
        return data


def chain_source() -> str:
    """250 nested additions of 1."""
    return "(+ " * 250 + "x" + " 1)" * 250


def tree_source() -> str:
    """1,000 products of two inputs each, summed pairwise."""
    level = [f"(* a{i} b{i})" for i in range(1000)]
    while len(level) > 1:
        level = [f"(+ {' '.join(pair)})" if len(pair) == 2 else pair[0] for pair in (level[i : i + 2] for i in range(0, len(level), 2))]
    return level[0]


GENERATED = {"chain_250": chain_source, "tree_1000": tree_source}


def chain(m: Any, x: Any) -> Any:
    """See `chain_source`."""
    for _ in range(250):
        x = x + 1
    return x


def tree(m: Any, *columns: Any) -> Any:
    """See `tree_source`."""
    level = [a * b for a, b in zip(columns[::2], columns[1::2])]
    while len(level) > 1:
        level = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in (level[i : i + 2] for i in range(0, len(level), 2))]
    return level[0]


def stacked_tree(m: Any, rows: Any) -> Any:
    """See `tree_source`: whole levels at once."""
    level = rows[0::2] * rows[1::2]
    while len(level) > 1:
        even = len(level) // 2 * 2
        sums = level[0:even:2] + level[1:even:2]
        level = sums if even == len(level) else m.concatenate([sums, level[even:]])
    return level[0]


def newton(m: Any, x: Any) -> Any:
    """Twenty rounds; the first starts at 1, so that y is an array from then on."""
    y = 0.5 * (1 + x)
    for _ in range(19):
        y = 0.5 * (y + x / y)
    return y


def three_body(m: Any, x: Any, y: Any, z: Any, px: Any, py: Any, pz: Any) -> Any:
    """Hamiltonian of the circular restricted three-body problem."""
    mu = 0.01215
    plane = y * y + z * z
    r1 = m.sqrt((x + mu) * (x + mu) + plane)
    r2 = m.sqrt((x - (1 - mu)) * (x - (1 - mu)) + plane)
    return 0.5 * (px * px + py * py + pz * pz) + (y * px - x * py) - (1 - mu) / r1 - mu / r2


def soft_clamp(m: Any, x: Any) -> Any:
    """A clamp whose branches compute."""
    return m.where(m.less(x, 0), m.exp(x) - 1, m.where(m.greater(x, 10), 10 + m.tanh(x - 10), x))


def _programs() -> Sequence[Program]:
    wide = (-5.0, 15.0)
    unit = (-2.0, 2.0)
    return [
        Program("add", dict(x=unit, y=unit), lambda m, x, y: x + y, "x + y"),
        Program("square_plus", dict(x=unit, y=unit), lambda m, x, y: x * x + y, "x * x + y"),
        Program("four_ops", dict(a=unit, b=unit, c=unit, d=unit), lambda m, a, b, c, d: a * b + (c - d), "a * b + (c - d)"),
        Program("abs", dict(x=unit), lambda m, x: m.where(m.greater(x, 0), x, 0 - x), "where(x > 0, x, 0 - x)"),
        Program(
            "clamp",
            dict(x=wide),
            lambda m, x: m.where(m.less(x, 0), m.number(0.0), m.where(m.greater(x, 10), m.number(10.0), x)),
            "where(x < 0, 0.0, where(x > 10, 10.0, x))",
        ),
        Program(
            "quadratic", dict(a=unit, b=unit, c=unit, x=unit), lambda m, a, b, c, x: a * (x * x) + b * x + c, "a * (x * x) + b * x + c"
        ),
        Program(
            "discriminant",
            dict(a=unit, b=unit, c=unit),
            lambda m, a, b, c: m.where(m.at_least(b * b - 4 * (a * c), 0), m.number(1.0), m.number(0.0)),
            "where(b * b - 4 * (a * c) >= 0, 1.0, 0.0)",
        ),
        Program(
            "dist_sq",
            dict(x1=unit, x2=unit, y1=unit, y2=unit),
            lambda m, x1, x2, y1, y2: (x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2),
            "(x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2)",
        ),
        Program(
            "dot4",
            {f"{k}{i}": unit for i in range(1, 5) for k in "ab"},
            lambda m, a1, b1, a2, b2, a3, b3, a4, b4: (a1 * b1 + a2 * b2) + (a3 * b3 + a4 * b4),
            "(a1 * b1 + a2 * b2) + (a3 * b3 + a4 * b4)",
        ),
        Program("chain_250", dict(x=unit), chain, "x" + " + 1" * 250),
        Program(
            "gaussian",
            dict(theta=(-5.0, 5.0), sigma=(1.0, 3.0)),
            lambda m, theta, sigma: m.exp((0 - theta * theta) / (2 * (sigma * sigma))),
            "exp((0 - theta * theta) / (2 * (sigma * sigma)))",
        ),
        Program(
            "barometric",
            dict(m=(0.5, 2.0), g=(5.0, 15.0), x=(0.0, 3.0), T=(1.0, 5.0)),
            lambda m, mass, g, x, T: 5 * m.exp((0 - mass) * (g * x) / (1.381 * T)),
            "5 * exp((0 - m) * (g * x) / (1.381 * T))",
        ),
        Program(
            "pendulum",
            dict(theta=(-3.0, 3.0), omega=unit),
            lambda m, theta, omega: -9.81 * m.sin(theta) + -0.3 * omega,
            "-9.81 * sin(theta) + -0.3 * omega",
        ),
        Program(
            "three_body",
            dict(x=(-2.0, 2.0), y=(0.2, 2.0), z=(-1.0, 1.0), px=unit, py=unit, pz=unit),
            three_body,
            "0.5 * (px * px + py * py + pz * pz) + (y * px - x * py)"
            " - 0.98785 / sqrt((x + 0.01215) * (x + 0.01215) + (y * y + z * z))"
            " - 0.01215 / sqrt((x - 0.98785) * (x - 0.98785) + (y * y + z * z))",
        ),
        Program("soft_clamp", dict(x=wide), soft_clamp, "where(x < 0, exp(x) - 1, where(x > 10, 10 + tanh(x - 10), x))"),
        Program("newton20", dict(x=(0.5, 5.0)), newton),
        Program("tree_1000", {f"{k}{i}": unit for i in range(1000) for k in "ab"}, tree, None, stacked_tree, largest=10**4),
    ]


PROGRAMS: dict[str, Program] = {p.name: p for p in _programs()}
