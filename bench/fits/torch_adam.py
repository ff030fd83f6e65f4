"""3,000 epochs of Adam in PyTorch on all data, as the paper trains."""

from __future__ import annotations

from collections.abc import Callable

import torch
from peers import NotSupported

from .problems import Problem

LABEL = "torch, 3,000 epochs of Adam"


def version() -> str:
    """Of PyTorch."""
    return torch.__version__


def prepare(problem: Problem) -> Callable[[], dict[str, float]]:
    """Float64, full batch, rate 1e-2."""
    formula = problem.formula
    if formula is None:
        raise NotSupported("see torch_shooting")
    x, y = (torch.tensor(problem.data[n]) for n in ("x", "y"))

    def run() -> dict[str, float]:
        constants = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in problem.start.values()]
        optimiser = torch.optim.Adam(constants, lr=1e-2)
        for _ in range(3000):
            optimiser.zero_grad()
            (formula(torch, x, *constants) - y).square().mean().backward()
            optimiser.step()
        return dict(zip(problem.start, (c.item() for c in constants)))

    return run
