"""heyoka: Taylor series to the digits asked for, as many trajectories at a time as a vector register holds."""

from __future__ import annotations

from collections.abc import Callable

import heyoka
import numpy as np
from numpy.typing import NDArray

from .problem import TIMES, Problem

LABEL = "heyoka, batches"
heyoka.set_nthreads(1)


def version() -> str:
    """Of heyoka."""
    return str(heyoka.__version__)


def prepare(problem: Problem, tolerance: float) -> Callable[[], NDArray[np.float64]]:
    """One integrator for all batches."""
    x, y = heyoka.make_vars("x", "y")
    a, b, c, d = (heyoka.par[i] for i in range(4))
    width = heyoka.recommended_simd_size(float)
    law = [(x, a * x - b * x * y), (y, c * x * y - d * y)]
    solver = heyoka.taylor_adaptive_batch(law, np.ones((2, width)), tol=tolerance, compact_mode=False)
    grid = np.repeat(TIMES[:, None], width, 1)
    sets = len(problem.constants)

    def run() -> NDArray[np.float64]:
        found = np.empty((sets, len(TIMES), 2))
        for first in range(0, sets, width):
            own = problem.constants[first : first + width]
            solver.set_time(0.0)
            solver.state[:] = 1.0
            solver.pars[:, : len(own)] = own.T
            grown = solver.propagate_grid(grid)
            found[first : first + len(own)] = (grown[1] if isinstance(grown, tuple) else grown).transpose(2, 0, 1)[: len(own)]
        return found

    return run
