"""The heat equation on a line: grid, Laplacian, initial states, the step, and the true solution of the continuous equation."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..common.nets import physics

POINTS = 10
DX = 1 / (POINTS - 1)
DT = 0.1
ALPHA = 0.01
START = 0.005
SOURCE = "(+ u (scale (* dt alpha) (matvec L u)))"
INPUTS = {"u": POINTS, "dt": None, "L": (POINTS, POINTS)}
KINDS = {"compiled": "torch", "compiled, native": "native", "hand-coded": "hand"}


def grid(dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.arange(POINTS, dtype=dtype) * DX


def laplacian(dtype: torch.dtype = torch.float32) -> Tensor:
    """Second differences over dx squared; the ends do not move."""
    found = torch.zeros(POINTS, POINTS, dtype=dtype)
    for i in range(1, POINTS - 1):
        found[i, i - 1 : i + 2] = torch.tensor([1.0, -2.0, 1.0], dtype=dtype)
    return found / DX**2


def by_hand(alpha: Tensor, u: Tensor, dt: Tensor, L: Tensor) -> Tensor:
    return u + dt * alpha * torch.matmul(L, u[..., None])[..., 0]


def source(dtype: torch.dtype = torch.float32) -> Tensor:
    return 0.5 * torch.sin(2 * math.pi * grid(dtype))


class Diffusion(nn.Module):
    """One step; alpha is learned."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.step = physics(KINDS[kind], SOURCE, by_hand, {"alpha": START}, INPUTS)
        self.register_buffer("L", laplacian())
        self.register_buffer("dt", torch.tensor(DT))

    def forward(self, u: Tensor) -> Tensor:
        return self.step(u=u, dt=self.dt, L=self.L)

    @property
    def alpha(self) -> float:
        return float(self.step.alpha.item())


class Modes:
    """Initial states: one to three of the modes sin(k pi x), k 1 to 4, with amplitudes from 0.5 to 2."""

    def __init__(self, count: int, seed: int) -> None:
        draw = torch.Generator().manual_seed(seed)
        self.amplitudes = torch.zeros(count, 4, dtype=torch.float64)
        for row in self.amplitudes:
            chosen = torch.randperm(4, generator=draw)[: int(torch.randint(1, 4, (1,), generator=draw))]
            row[chosen] = 0.5 + 1.5 * torch.rand(len(chosen), generator=draw, dtype=torch.float64)

    def at(self, x: Tensor, time: Tensor) -> Tensor:
        """The solution of the continuous equation, (count, times, points)."""
        k = torch.arange(1, 5, dtype=torch.float64) * math.pi
        fade = torch.exp(-ALPHA * k**2 * time.double()[:, None])
        return torch.einsum("nk,tk,kx->ntx", self.amplitudes, fade, torch.sin(k[:, None] * x.double()))

    def trajectories(self, steps: int, forced: bool = False) -> Tensor:
        """States of the stepper itself, (steps + 1, count, points), in float32 like the models."""
        u = self.at(grid(torch.float64), torch.zeros(1))[:, 0].float()
        states = [u]
        L, dt, alpha, extra = laplacian(), torch.tensor(DT), torch.tensor(ALPHA), source()
        for _ in range(steps):
            u = by_hand(alpha, u, dt, L)
            if forced:
                u = u + dt * extra
            states.append(u)
        return torch.stack(states)
