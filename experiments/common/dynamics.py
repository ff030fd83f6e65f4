"""What Lotka-Volterra and the pendulum share: a true trajectory, noisy observations, windows to train on, horizons to judge by.

A model is a module from time and state to the derivative; it is trained by gradient descent through Runge-Kutta steps, or through the
adaptive solver of torchdiffeq for the neural ODE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torchdiffeq import odeint

from .nets import compiled, mlp
from .ode import Rhs, Windows, integrate, noisy, rk4_window_program
from .training import Settings, Trained, train

HORIZONS = (1, 2, 5)


@dataclass(frozen=True)
class System:
    """A true right-hand side, a start, and how it is observed."""

    rhs: Rhs
    start: Sequence[float]
    step: float
    steps: int
    windows: int
    length: int = 25

    def clean(self, multiple: int = 1) -> Tensor:
        return integrate(self.rhs, torch.tensor(self.start), multiple * self.steps, self.step)

    @property
    def times(self) -> Tensor:
        return torch.arange(self.steps + 1) * self.step

    def observed(self, noise: float, seed: int) -> Tensor:
        return noisy(self.clean(), noise, 7000 + seed)

    def pieces(self, noise: float, seed: int) -> Windows:
        return Windows(self.observed(noise, seed), self.step, self.windows, self.length, seed)

    def errors(self, rhs: Rhs) -> dict[str, float]:
        """Mean squared errors from the clean start up to each horizon."""
        with torch.no_grad():
            return self.judged(integrate(rhs, torch.tensor(self.start), HORIZONS[-1] * self.steps, self.step))

    def judged(self, states: Tensor) -> dict[str, float]:
        gap = (states - self.clean(HORIZONS[-1])).double().square()
        return {f"x{m}": gap[: m * self.steps + 1].mean().item() for m in HORIZONS}

    def path(self, rhs: Rhs, multiple: int = 5) -> list[list[float]]:
        """A trajectory for the figures, every second point."""
        with torch.no_grad():
            states = integrate(rhs, torch.tensor(self.start), multiple * self.steps, self.step)
        found: list[list[float]] = states[::2].tolist()
        return found


def train_windows(
    system: System, model: nn.Module, noise: float, settings: Settings, seed: int, follow: Callable[[], dict[str, float]] | None = None
) -> Trained:
    windows = system.pieces(noise, seed)

    def test() -> float:
        with torch.no_grad():
            return (integrate(model, torch.tensor(system.start), system.steps, system.step) - system.clean()).square().mean().item()

    return train(model, lambda: windows.loss(model), settings, test if settings.epochs >= 500 else None, follow)


class WholeWindow(nn.Module):
    """A window of steps as one compiled program: no Python between the stages, forward and back.

    `nets` declares learned functions the programs call; their weights are float64, and so must the data be then."""

    def __init__(
        self, programs: dict[str, str], start: dict[str, float], system: System, nets: str = "", dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.size = len(programs)
        text = nets + rk4_window_program(programs, system.length, system.step)
        self.program = compiled(text, start, "native", list(programs), dtype)

    def forward(self, state: Tensor) -> Tensor:
        """(count, state) to (length, count, state)."""
        found = self.program(*state.unbind(-1))
        return found.reshape(len(state), -1, self.size).transpose(0, 1)


def window_loss(model: WholeWindow, windows: Windows) -> Callable[[], Tensor]:
    def loss() -> Tensor:
        _, start, target = windows.draw()
        return (model(start) - target[1:]).square().mean()

    return loss


class Field(nn.Module):
    """A right-hand side that is all network; `timed` networks see the time too."""

    def __init__(self, size: int, timed: bool) -> None:
        super().__init__()
        self.timed = timed
        self.net = mlp((size + timed, 64, 64, 64, size), "tanh")

    def forward(self, time: Tensor, state: Tensor) -> Tensor:
        if not self.timed:
            return self.net(state)
        return self.net(torch.cat([state, time.expand(state.shape[:-1])[..., None]], dim=-1))


TOLERANCE = {"method": "dopri5", "rtol": 1e-5, "atol": 1e-6}


def train_neural_ode(system: System, model: Field, noise: float, settings: Settings, seed: int) -> Trained:
    windows = system.pieces(noise, seed)
    grid = torch.arange(system.length + 1) * system.step

    def loss() -> Tensor:
        times, start, target = windows.draw()
        found = odeint(lambda t, y: model(times + t, y), start, grid, **TOLERANCE)
        return (found[1:] - target[1:]).square().mean()

    return train(model, loss, settings)


def solved(system: System, model: Field, multiple: int = HORIZONS[-1]) -> Tensor:
    """A trajectory by the adaptive solver."""
    grid = torch.arange(multiple * system.steps + 1) * system.step
    with torch.no_grad():
        return odeint(model, torch.tensor(system.start), grid, **TOLERANCE)
