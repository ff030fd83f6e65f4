"""The Lotka-Volterra system and its models."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..common.dynamics import System
from ..common.nets import mlp, physics

TRUE = {"alpha": 1.0, "beta": 0.5, "delta": 0.25, "gamma": 0.5}
PROGRAMS = {"x": "(- (* alpha x) (* beta (* x y)))", "y": "(- (* delta (* x y)) (* gamma y))"}
KINDS = {"compiled": "torch", "compiled, native": "native", "hand-coded": "hand"}


def prey(alpha: Tensor, beta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return alpha * x - beta * (x * y)


def predators(delta: Tensor, gamma: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return delta * (x * y) - gamma * y


class Physics(nn.Module):
    """Both equations, all four constants learned."""

    def __init__(self, kind: str, start: Mapping[str, float]) -> None:
        super().__init__()
        self.prey = physics(KINDS[kind], PROGRAMS["x"], prey, {n: start[n] for n in ("alpha", "beta")}, ["x", "y"])
        self.predators = physics(KINDS[kind], PROGRAMS["y"], predators, {n: start[n] for n in ("delta", "gamma")}, ["x", "y"])

    def forward(self, time: Tensor, state: Tensor) -> Tensor:
        x, y = state.unbind(-1)
        return torch.stack([self.prey(x=x, y=y), self.predators(x=x, y=y)], dim=-1)


class Hybrid(nn.Module):
    """The encounter beta x y is compiled, lost by the prey and gained by the predators; the rest is two small networks."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.encounter = physics(KINDS[kind], "(* beta (* x y))", lambda beta, x, y: beta * (x * y), {"beta": 0.5}, ["x", "y"])
        self.growth = mlp((2, 32, 1), "tanh")
        self.decay = mlp((2, 32, 1), "tanh")

    def forward(self, time: Tensor, state: Tensor) -> Tensor:
        x, y = state.unbind(-1)
        met = self.encounter(x=x, y=y)
        return torch.stack([self.growth(state)[..., 0] - met, self.decay(state)[..., 0] + met], dim=-1)


def truth(time: Tensor, state: Tensor) -> Tensor:
    x, y = state.unbind(-1)
    values = {n: torch.tensor(v, dtype=state.dtype) for n, v in TRUE.items()}
    return torch.stack([prey(values["alpha"], values["beta"], x, y), predators(values["delta"], values["gamma"], x, y)], dim=-1)


SYSTEM = System(truth, (4.0, 1.0), 0.1, 120, 8)


def pinn_rhs(state: Tensor, **constants: Tensor) -> Tensor:
    x, y = state.unbind(-1)
    return torch.stack([prey(constants["alpha"], constants["beta"], x, y), predators(constants["delta"], constants["gamma"], x, y)], dim=-1)


def with_constants(values: Mapping[str, float]) -> Physics:
    """The physics with these constants, to integrate."""
    return Physics("hand-coded", values)


def off(values: Mapping[str, float]) -> dict[str, float]:
    return {n: abs(values[n] / TRUE[n] - 1) for n in TRUE}
