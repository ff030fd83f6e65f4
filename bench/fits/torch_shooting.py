"""The paper's multiple shooting in PyTorch: windows of 25 steps of RK4 from the noisy observations, Adam with a falling rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from peers import NotSupported

from .problems import Problem

LABEL = "torch, multiple shooting"
EPOCHS, WINDOWS, STEPS, STEP = 3000, 8, 25, 0.1


def version() -> str:
    """Of PyTorch."""
    return torch.__version__


def prepare(problem: Problem) -> Callable[[], dict[str, float]]:
    """All windows of an epoch at once."""
    if problem.formula is not None:
        raise NotSupported("a model without states has nothing to shoot at")
    record = torch.tensor(np.stack([problem.data["x"], problem.data["y"]], -1))

    def law(states: torch.Tensor, constants: list[torch.Tensor]) -> torch.Tensor:
        (x, y), (alpha, beta, delta, gamma) = states.unbind(-1), constants
        return torch.stack([alpha * x - beta * x * y, delta * x * y - gamma * y], -1)

    def run() -> dict[str, float]:
        generator = torch.Generator().manual_seed(0)
        constants = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in problem.start.values()]
        optimiser = torch.optim.Adam(constants, lr=1e-2)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
        for _ in range(EPOCHS):
            first = torch.randint(0, len(record) - STEPS, (WINDOWS,), generator=generator)
            states, loss = record[first], torch.zeros((), dtype=torch.float64)
            for k in range(1, STEPS + 1):
                a = law(states, constants)
                b = law(states + STEP / 2 * a, constants)
                c = law(states + STEP / 2 * b, constants)
                d = law(states + STEP * c, constants)
                states = states + STEP / 6 * (a + 2 * b + 2 * c + d)
                loss = loss + (states - record[first + k]).square().mean()
            optimiser.zero_grad()
            (loss / STEPS).backward()
            torch.nn.utils.clip_grad_norm_(constants, 5.0)
            optimiser.step()
            falling.step()
        return dict(zip(problem.start, (c.item() for c in constants)))

    return run
