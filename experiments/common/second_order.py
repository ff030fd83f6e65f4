"""Second-order fits. In: a compiled program with constants and data; out: the constants where the squared residuals are least.

Levenberg-Marquardt with the program's own exact derivatives, from several starts on a part of the data, then Gauss-Newton steps whose
normal equations are summed over as many pieces of data as there are, so that millions of samples need the memory of thousands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from neural_compiler import CompiledModule
from torch import Tensor

Piece = tuple[dict[str, Tensor], Tensor]
"""Inputs by name and what was observed, float64."""


class LeastSquares:
    """Residuals and normal equations of a scalar program whose parameters are all scalars."""

    def __init__(self, module: CompiledModule) -> None:
        self.module = module
        self.names = [name for name, _ in module.named_parameters()]
        self.slopes = module.grad(*self.names)

    def put(self, theta: Tensor) -> None:
        with torch.no_grad():
            for name, value in zip(self.names, theta.tolist()):
                getattr(self.module, name).fill_(value)

    @property
    def theta(self) -> Tensor:
        return torch.stack([getattr(self.module, name).detach() for name in self.names]).double()

    def cost(self, theta: Tensor, piece: Piece) -> float:
        self.put(theta)
        with torch.no_grad():
            found = (self.module(**piece[0]) - piece[1]).square().mean().item()
        return found if found == found else float("inf")

    def normal(self, theta: Tensor, piece: Piece) -> tuple[Tensor, Tensor]:
        self.put(theta)
        with torch.no_grad():
            residual = self.module(**piece[0]) - piece[1]
            slopes = self.slopes(**piece[0])
        columns = torch.stack([s.expand_as(residual) for s in (slopes if isinstance(slopes, tuple) else (slopes,))], dim=1)
        return columns.T @ columns, columns.T @ residual


def levenberg(problem: LeastSquares, theta: Tensor, piece: Piece, rounds: int = 60) -> tuple[Tensor, float]:
    """A local minimum."""
    damping, best = 1e-3, problem.cost(theta, piece)
    for _ in range(rounds):
        square, slope = problem.normal(theta, piece)
        if not torch.isfinite(square).all():
            break
        for _ in range(12):
            step = torch.linalg.lstsq(square + damping * torch.diag(square.diagonal().clamp_min(1e-12)), -slope).solution
            cost = problem.cost(theta + step, piece)
            if cost < best:
                break
            damping *= 4
        else:
            break
        small = best - cost < 1e-14 * best
        theta, best, damping = theta + step, cost, max(damping / 8, 1e-12)
        if small:
            break
    problem.put(theta)
    return theta, best


def global_fit(problem: LeastSquares, piece: Piece, spread: float, screened: int, followed: int, seed: int) -> Tensor:
    """From the given start and from the best of many random ones, up to `spread` times as large or small as the given."""
    given = problem.theta
    draw = torch.Generator().manual_seed(seed)
    factors = torch.exp((2 * torch.rand(screened, len(given), generator=draw, dtype=torch.float64) - 1) * torch.log(torch.tensor(spread)))
    starts = sorted((given * f for f in factors), key=lambda theta: problem.cost(theta, piece))[:followed]
    return min((levenberg(problem, theta, piece) for theta in [given, *starts]), key=lambda found: found[1])[0]


def refine(problem: LeastSquares, theta: Tensor, pieces: Callable[[], Iterable[Piece]], rounds: int = 2) -> Tensor:
    """Gauss-Newton on all pieces; starts near the minimum."""
    for _ in range(rounds):
        sums: Sequence[Tensor] | None = None
        for piece in pieces():
            found = problem.normal(theta, piece)
            sums = found if sums is None else [a + b for a, b in zip(sums, found)]
        if sums is None:
            raise ValueError("there are no data")
        theta = theta - torch.linalg.lstsq(sums[0], sums[1]).solution
    problem.put(theta)
    return theta
