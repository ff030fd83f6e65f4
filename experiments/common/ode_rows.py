"""Rows that Lotka-Volterra and the pendulum both have: networks in place of the law, and PINNs. In: a system, settings, a seed; out: the
record of a run."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .dynamics import Field, System, solved, train_neural_ode, train_windows
from .jobs import Record
from .nets import count
from .ode import Rhs
from .pinn import OdePinn
from .training import Settings

NOISE = 0.02


def settings(epochs: int, lr: float) -> Settings:
    return Settings(epochs, lr, cosine=True, clip=5.0)


def network(system: System, timed: bool, epochs: int, seed: int) -> Record:
    """A right-hand side that is all network, trained through Runge-Kutta steps."""
    model = Field(2, timed)
    result = train_windows(system, model, NOISE, settings(epochs, 3e-3), seed)
    return {**result.record(), **system.errors(model), "path": system.path(model), "parameters": count(model)}


def neural_ode(system: System, timed: bool, epochs: int, seed: int) -> Record:
    """The same through an adaptive solver."""
    model = Field(2, timed)
    result = train_neural_ode(system, model, NOISE, settings(epochs, 3e-3), seed)
    states = solved(system, model)
    return {**result.record(), **system.judged(states), "path": states[::2].tolist(), "parameters": count(model)}


def pinn(
    system: System, problem: OdePinn, law: Callable[[dict[str, float]], Rhs], off: Callable[[dict[str, float]], dict[str, float]]
) -> Record:
    """A network of the time, judged by its own output and by its constants put into the law."""

    def states(multiple: int) -> torch.Tensor:
        with torch.no_grad():
            return problem.model((torch.arange(multiple * system.steps + 1) * system.step)[:, None])

    clean = system.clean()
    result = problem.train(lambda: (states(1) - clean).square().mean().item())
    values = problem.model.learned()
    return {
        **result.record(),
        "constants": values,
        "off": off(values),
        **system.judged(states(5)),
        "integrated": system.errors(law(values)),
        "path": states(5)[::2].tolist(),
        "parameters": count(problem.model),
    }
