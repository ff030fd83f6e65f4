"""The problem: Lotka and Volterra's equations with 10^4 sets of constants, 21 times on 0..20, and how far from right a solution is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODEL = """(param a 1) (param b 1) (param c 1) (param d 1) (state x 1) (state y 1)
(derive x (- (* a x) (* b x y))) (derive y (- (* c x y) (* d y)))"""
TIMES = np.linspace(0.0, 20.0, 21)
SETS = 10_000
WANTED = 1e-6
"""The error a solution may have: of the worst number of all, relative to the largest value of its state in its trajectory."""


def constants(sets: int = SETS) -> NDArray[np.float64]:
    """A set in each row: a, b, c, d between 0.5 and 1.5."""
    return np.random.default_rng(0).uniform(0.5, 1.5, (sets, 4))


def reference(chosen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some sets, solved by DOP853 to 1e-13."""
    from scipy.integrate import solve_ivp

    def one(p: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b, c, d = p
        found = solve_ivp(
            lambda t, s: [a * s[0] - b * s[0] * s[1], c * s[0] * s[1] - d * s[1]],
            (0.0, 20.0), [1.0, 1.0], "DOP853", TIMES, rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        return np.asarray(found.y.T)

    return np.stack([one(p) for p in chosen])


class Problem:
    """Sets of constants, and reference solutions of some of them."""

    def __init__(self, sets: int = SETS, compared: int = 100) -> None:
        self.constants = constants(sets)
        self.chosen = np.linspace(0, sets - 1, compared).astype(int)
        self.reference = reference(self.constants[self.chosen])

    def error(self, found: NDArray[np.float64]) -> float:
        """The worst error of the sets compared."""
        off = np.abs(found[self.chosen] - self.reference)
        return float((off / np.abs(self.reference).max(1, keepdims=True)).max())

    def tuned(self, prepare: Callable[[Problem, float], Callable[[], Any]]) -> tuple[Callable[[], Any], float, float]:
        """The loosest tolerance, in steps of half a decade, with which a contender meets the error wanted: what solves, that tolerance, the
        error. Tolerances differ in what they mean, errors do not."""
        for power in np.arange(-5.0, -13.0, -0.5):
            tolerance = float(10**power)
            solve = prepare(self, tolerance)
            error = self.error(np.asarray(solve()))
            if error <= WANTED:
                return solve, tolerance, error
        raise ValueError(f"no tolerance gives an error of {WANTED}")
