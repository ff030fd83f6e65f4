"""SciPy: LSODA, one set after the other; every hundredth set is solved and the time told for all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.integrate import odeint

from .problem import TIMES, Problem

LABEL = "SciPy odeint, one by one"
SHARE = 100
"""Of how many sets one is solved."""


def version() -> str:
    """Of SciPy."""
    return scipy.__version__


def prepare(problem: Problem, tolerance: float) -> Callable[[], NDArray[np.float64]]:
    """The sets that are compared are the ones that are solved."""

    def law(s: NDArray[np.float64], t: float, a: float, b: float, c: float, d: float) -> list[float]:
        return [a * s[0] - b * s[0] * s[1], c * s[0] * s[1] - d * s[1]]

    def run() -> NDArray[np.float64]:
        found = np.zeros((len(problem.constants), len(TIMES), 2))
        for i in problem.chosen:
            found[i] = odeint(law, [1.0, 1.0], TIMES, tuple(problem.constants[i]), rtol=tolerance, atol=tolerance)
        return found

    return run
