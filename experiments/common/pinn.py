"""Physics-informed networks: the solution is a network, the equation a penalty. In: data and physics losses; out: what was learned.

Rows `S` follow the paper's text, `R` its released code; `tuned` is what a fair user would do: inputs and outputs scaled, the weight of the
penalty balanced by the sizes of the gradients, and a second-order finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .nets import constants, mlp
from .training import Loop, Settings, Trained, train

Losses = Callable[[], tuple[Tensor, Tensor]]
"""Data loss and physics loss of an epoch."""


@dataclass(frozen=True)
class PinnSettings:
    epochs: int
    lr: float = 1e-3
    physics: float = 1.0
    collocation: int = 1000
    cosine: bool = False
    scaled: bool = False
    balanced: bool = False
    finish: int = 0
    """Iterations of L-BFGS after Adam."""


STATED = {"lr": 1e-3, "physics": 1.0, "collocation": 1000}
RELEASED = {"lr": 1e-2, "physics": 0.1, "collocation": 200, "cosine": True}
TUNED = {"lr": 5e-3, "physics": 1.0, "collocation": 200, "cosine": True, "scaled": True, "balanced": True, "finish": 500}


class Pinn(nn.Module):
    """A tanh network of three layers of 64 with the constants of the equation beside it."""

    def __init__(self, inputs: int, outputs: int, start: Mapping[str, float]) -> None:
        super().__init__()
        self.net = mlp((inputs, 64, 64, 64, outputs), "tanh")
        self.constants = nn.ParameterDict(constants(start))
        for name, size, value in (("middle", inputs, 0.0), ("reach", inputs, 1.0), ("offset", outputs, 0.0), ("scale", outputs, 1.0)):
            self.register_buffer(name, torch.full((size,), value))

    def scale_to(self, inputs: Tensor, outputs: Tensor, radians: float) -> None:
        """Inputs to `radians` on either side of zero, outputs to mean 0 and deviation 1."""
        self.middle = (inputs.amax(0) + inputs.amin(0)) / 2
        self.reach = (inputs.amax(0) - inputs.amin(0)) / (2 * radians)
        self.offset, self.scale = outputs.mean(0), outputs.std(0)

    def forward(self, z: Tensor) -> Tensor:
        return self.offset + self.scale * self.net((z - self.middle) / self.reach)

    def learned(self) -> dict[str, float]:
        return {name: p.item() for name, p in self.constants.items()}


def slope(values: Tensor, at: Tensor) -> Tensor:
    """The derivative of one output by each input, row by row."""
    (found,) = torch.autograd.grad(values.sum(), at, create_graph=True)
    return found


class Balance:
    """The weight of the physics loss: the ratio of the gradients' sizes on the network, followed slowly."""

    def __init__(self, model: Pinn, first: float) -> None:
        self.parameters = list(model.net.parameters())
        self.weight = first

    def update(self, data: Tensor, physics: Tensor) -> None:
        size = [
            torch.cat(
                [g.flatten() for g in torch.autograd.grad(x, self.parameters, retain_graph=True, allow_unused=True) if g is not None]
            ).norm()
            for x in (data, physics)
        ]
        if size[1] > 0:
            self.weight = 0.9 * self.weight + 0.1 * min((size[0] / size[1]).item(), 1e4)


def train_pinn(model: Pinn, losses: Losses, settings: PinnSettings, test: Callable[[], float] | None = None) -> Trained:
    balance = Balance(model, settings.physics)
    epoch = 0

    def loss() -> Tensor:
        nonlocal epoch
        data, physics = losses()
        if settings.balanced and epoch % 50 == 0:
            balance.update(data, physics)
        epoch += 1
        return data + balance.weight * physics

    result = train(model, loss, Settings(settings.epochs, settings.lr, settings.cosine), test, model.learned)
    if settings.finish:
        _finish(model, losses, balance.weight, settings.finish)
    return result


def _finish(model: Pinn, losses: Losses, weight: float, iterations: int) -> None:
    optimiser = torch.optim.LBFGS(
        model.parameters(), max_iter=iterations, history_size=50, line_search_fn="strong_wolfe", tolerance_grad=1e-9, tolerance_change=1e-12
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        data, physics = losses()
        total = data + weight * physics
        total.backward()
        return total

    optimiser.step(closure)


def step_of(model: Pinn, losses: Losses, settings: PinnSettings) -> Loop:
    """The same epochs for the measurement of cost."""

    def loss() -> Tensor:
        data, physics = losses()
        return data + settings.physics * physics

    return Loop(model, loss, Settings(settings.epochs, settings.lr, settings.cosine))


class OdePinn:
    """A PINN of time for an ordinary differential equation, its data and its losses."""

    def __init__(
        self,
        times: Tensor,
        observed: Tensor,
        start: Mapping[str, float],
        rhs: Callable[..., Tensor],
        settings: PinnSettings,
        seed: int,
        radians: float = 1.0,
    ) -> None:
        self.model = Pinn(1, observed.shape[-1], start)
        self.times, self.observed, self.rhs, self.settings = times[:, None], observed, rhs, settings
        self.draw = torch.Generator().manual_seed(seed)
        self.end = times.max().item()
        if settings.scaled:
            self.model.scale_to(self.times, observed, radians)
        self.units = observed.std(0) if settings.scaled else torch.ones(observed.shape[-1])
        self.fixed = torch.linspace(0, self.end, settings.collocation)[:, None]

    def losses(self) -> tuple[Tensor, Tensor]:
        """Random points each epoch; when scaled, a grid, so that a line search sees the same function twice."""
        at = self.fixed.clone() if self.settings.scaled else self.end * torch.rand(self.settings.collocation, 1, generator=self.draw)
        at.requires_grad_()
        state = self.model(at)
        slopes = torch.cat([slope(state[:, i], at) for i in range(state.shape[-1])], dim=1)
        residual = slopes - self.rhs(state, **self.model.constants)
        data = ((self.model(self.times) - self.observed) / self.units).square().mean()
        return data, (residual / self.units).square().mean()

    def train(self, test: Callable[[], float] | None = None) -> Trained:
        return train_pinn(self.model, self.losses, self.settings, test)
