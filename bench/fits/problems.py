"""What is fitted: data with known constants, the same for every contender, and where everybody starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """One fit."""

    name: str
    model: str
    """For our compiler."""
    start: dict[str, float]
    truth: dict[str, float]
    data: dict[str, np.ndarray]
    options: dict[str, Any]
    """For our `fit`."""
    formula: Callable[..., Any] | None
    """`formula(m, x, *constants)` of an algebraic model, over the functions of a namespace; None for a model with states."""

    def wrong(self, found: dict[str, float]) -> str | None:
        """What is wrong with constants, if anything: each should be within 5 % of the truth, the noise allows far less."""
        off = {k: abs(found[k] / v - 1) for k, v in self.truth.items()}
        worst = max(off, key=lambda k: off[k])
        return f"{worst} is {100 * off[worst]:.0f} % off" if not off[worst] < 0.05 else None


def decay(points: int) -> Problem:
    """A decay to a level, 10,000 points with noise."""
    generator = np.random.default_rng(7)
    x = generator.uniform(0, 5, points)
    truth = {"a": 3.0, "k": 0.7, "c": 0.5}
    y = truth["c"] + truth["a"] * np.exp(-truth["k"] * x) + 0.05 * generator.standard_normal(points)
    start = dict.fromkeys(truth, 1.0)
    declared = " ".join(f"(param {k} {v})" for k, v in start.items())
    return Problem(
        f"decay, {points:,} points",
        f"{declared} (+ c (* a (exp (- (* k x)))))",
        start,
        truth,
        {"x": x, "y": y},
        {},
        lambda m, x, a, k, c: c + a * m.exp(-k * x),
    )


def predator_and_prey() -> Problem:
    """The paper's Lotka-Volterra record: 121 points with 2 % noise, every constant from 0.5."""
    truth = {"alpha": 1.0, "beta": 0.5, "delta": 0.25, "gamma": 0.5}

    def law(s: np.ndarray) -> np.ndarray:
        x, y = s
        return np.array([truth["alpha"] * x - truth["beta"] * x * y, truth["delta"] * x * y - truth["gamma"] * y])

    states = [np.array([4.0, 1.0])]
    for _ in range(120):
        s, h = states[-1], 0.1
        a = law(s)
        b = law(s + h / 2 * a)
        c = law(s + h / 2 * b)
        d = law(s + h * c)
        states.append(s + h / 6 * (a + 2 * b + 2 * c + d))
    clean = np.array(states)
    noisy = clean + 0.02 * np.abs(clean).mean() * np.random.default_rng(7).standard_normal(clean.shape)
    start = dict.fromkeys(truth, 0.5)
    declared = " ".join(f"(param {k} {v} :min 0)" for k, v in start.items())
    model = f"{declared} (state x 4) (state y 1) (derive x (- (* alpha x) (* beta (* x y)))) (derive y (- (* delta (* x y)) (* gamma y)))"
    data = {"t": 0.1 * np.arange(121), "x": noisy[:, 0].copy(), "y": noisy[:, 1].copy()}
    return Problem("Lotka-Volterra, 121 points", model, start, truth, data, {"method": "rk4"}, None)


PROBLEMS = (decay(10_000), predator_and_prey())
