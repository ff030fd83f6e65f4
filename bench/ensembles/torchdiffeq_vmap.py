"""torchdiffeq: one batch, and one step size for all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torchdiffeq
from numpy.typing import NDArray

from .problem import TIMES, Problem

LABEL = "torchdiffeq, one step for all"


def version() -> str:
    """Of torchdiffeq."""
    return str(torchdiffeq.__version__)


def prepare(problem: Problem, tolerance: float) -> Callable[[], NDArray[np.float64]]:
    """Dormand and Prince's method."""
    torch.set_num_threads(1)
    a, b, c, d = torch.tensor(problem.constants.T)

    def law(t: Any, s: Any) -> Any:
        return torch.stack([a * s[0] - b * s[0] * s[1], c * s[0] * s[1] - d * s[1]])

    def run() -> NDArray[np.float64]:
        with torch.no_grad():
            start = torch.ones(2, len(problem.constants), dtype=torch.float64)
            found = torchdiffeq.odeint(law, start, torch.tensor(TIMES), rtol=tolerance, atol=tolerance)
        return found.permute(2, 0, 1).numpy()

    return run
