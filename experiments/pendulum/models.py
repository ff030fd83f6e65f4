"""The pendulum and its models. S1 knows everything but two constants; S2 knows the pull of gravity and leaves the rest to a network."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from neural_compiler import compile_scheme
from torch import Tensor, nn

from ..common.dynamics import System
from ..common.nets import mlp, physics

TRUE = {"g_L": 9.81, "b": 0.3}
START = {"g_L": 5.0, "b": 0.5}
SOURCE = "(+ (* neg_g_over_L (sin theta)) (* neg_b theta_dot))"
GRAVITY = "(* neg_g_over_L (sin theta))"
KINDS = {"compiled": "torch", "compiled, native": "native", "hand-coded": "hand"}
PUSH, FREQUENCY = 0.5, 2 / 3


def acceleration(neg_g_over_L: Tensor, neg_b: Tensor, theta: Tensor, theta_dot: Tensor) -> Tensor:
    return neg_g_over_L * torch.sin(theta) + neg_b * theta_dot


def push(time: Tensor) -> Tensor:
    return PUSH * torch.cos(FREQUENCY * time)


class S1(nn.Module):
    """The whole equation; `forced` adds the push, which is known."""

    def __init__(self, kind: str, start: Mapping[str, float] = START, forced: bool = False) -> None:
        super().__init__()
        signs = {"neg_g_over_L": -start["g_L"], "neg_b": -start["b"]}
        self.acceleration = physics(KINDS[kind], SOURCE, acceleration, signs, ["theta", "theta_dot"])
        self.forced = forced

    def forward(self, time: Tensor, state: Tensor) -> Tensor:
        theta, speed = state.unbind(-1)
        change = self.acceleration(theta=theta, theta_dot=speed)
        return torch.stack([speed, change + push(time) if self.forced else change], dim=-1)

    def learned(self) -> dict[str, float]:
        return {"g_L": -self.acceleration.neg_g_over_L.item(), "b": -self.acceleration.neg_b.item()}


class S2(nn.Module):
    """Gravity is compiled, a network of (angle, speed, time) is to learn the rest. As in the paper, the network may learn gravity too."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.gravity = physics(
            KINDS[kind], GRAVITY, lambda neg_g_over_L, theta: neg_g_over_L * torch.sin(theta), {"neg_g_over_L": -START["g_L"]}, ["theta"]
        )
        self.net = mlp((3, 32, 32, 1), "tanh", zero_last=True)

    def forward(self, time: Tensor, state: Tensor) -> Tensor:
        theta, speed = state.unbind(-1)
        seen = torch.stack([theta, speed, time.expand(theta.shape)], dim=-1)
        return torch.stack([speed, self.gravity(theta=theta) + self.net(seen)[..., 0]], dim=-1)

    def learned(self) -> dict[str, float]:
        return {"g_L": -self.gravity.neg_g_over_L.item()}


def truth(time: Tensor, state: Tensor) -> Tensor:
    theta, speed = state.unbind(-1)
    return torch.stack([speed, acceleration(torch.tensor(-TRUE["g_L"]), torch.tensor(-TRUE["b"]), theta, speed)], dim=-1)


def forced_truth(time: Tensor, state: Tensor) -> Tensor:
    return truth(time, state) + torch.stack([torch.zeros_like(state[..., 0]), push(time).expand(state.shape[:-1])], dim=-1)


SYSTEM = System(truth, (1.0, 0.0), 0.05, 200, 6)
FORCED = System(forced_truth, (1.0, 0.0), 0.05, 200, 6)
WINDOW = {"theta": "theta_dot", "theta_dot": SOURCE}

# S2, ours: gravity and a network in one text. The network sees the speed only, so that gravity alone can explain the angle.
REST = "(net rest (w) 16 1)\n"
MIXED = f"(+ {GRAVITY} (rest theta_dot))"


def pinn_rhs(state: Tensor, **constants: Tensor) -> Tensor:
    theta, speed = state.unbind(-1)
    return torch.stack([speed, acceleration(-constants["g_L"], -constants["b"], theta, speed)], dim=-1)


class Mixed(nn.Module):
    """The right-hand side of S2, ours, with the constants and weights of a trained window."""

    def __init__(self, trained: nn.Module) -> None:
        super().__init__()
        self.change = compile_scheme(REST + MIXED, ["theta", "theta_dot"], {"neg_g_over_L": 0.0})
        self.change.load_state_dict(trained.state_dict())

    def forward(self, time: Tensor, state: Tensor) -> Tensor:
        theta, speed = state.unbind(-1)
        return torch.stack([speed, self.change(theta, speed)], dim=-1)


def off(values: Mapping[str, float]) -> dict[str, float]:
    return {n: abs(v / TRUE[n] - 1) for n, v in values.items()}
