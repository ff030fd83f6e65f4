"""PINNs for the heat equation: as the paper sets them up, and on a problem that has a solution.

The paper's network maps (x, t) to u and has no way of knowing which of the 50 initial states it is asked about, so no network can fit
the data. The well-posed rows give it one trajectory: of the stepper, whose Laplacian on ten points is a little smaller than the true one,
so that the best alpha is too; and of the continuous equation, where the best alpha is the true one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..common.jobs import Record
from ..common.nets import count
from ..common.pinn import Pinn, PinnSettings, slope, train_pinn
from .problem import DT, START, Modes, grid
from .runs import TEST_STEPS, TRAIN_STEPS, data


class HeatPinn:
    def __init__(self, where: Tensor, observed: Tensor, end: float, settings: PinnSettings, seed: int) -> None:
        self.model = Pinn(2, 1, {"alpha": START})
        self.where, self.observed, self.end, self.settings = where, observed, end, settings
        self.draw = torch.Generator().manual_seed(seed)
        self.unit = torch.tensor(1.0)
        if settings.scaled:
            self.model.scale_to(where, observed, 1.5)
            self.unit = observed.std()
        self.fixed = torch.rand(settings.collocation, 2, generator=self.draw)

    def losses(self) -> tuple[Tensor, Tensor]:
        at = self.fixed.clone() if self.settings.scaled else torch.rand(self.settings.collocation, 2, generator=self.draw)
        at = (at * torch.tensor([1.0, self.end])).requires_grad_()
        first = slope(self.model(at)[:, 0], at)
        second = slope(first[:, 0], at)
        residual = first[:, 1] - self.model.constants["alpha"] * second[:, 0]
        data_loss = ((self.model(self.where) - self.observed) / self.unit).square().mean()
        return data_loss, (residual / self.unit).square().mean()


def places(steps: int) -> Tensor:
    """(x, t) of every point of the grid after 0, 1, ... steps."""
    x, t = grid(), torch.arange(steps + 1) * DT
    return torch.stack([x.repeat(steps + 1), t.repeat_interleave(len(x))], dim=1)


def as_stated(seed: int, epochs: int, **settings: Any) -> Record:
    """All 50 trajectories at once."""
    training, testing = data(seed)
    many = training.shape[1]
    where = places(TRAIN_STEPS).reshape(TRAIN_STEPS + 1, 1, -1, 2).expand(-1, many, -1, -1).reshape(-1, 2)
    pinn = HeatPinn(where, training.reshape(-1, 1), TRAIN_STEPS * DT, PinnSettings(epochs, **settings), seed)

    def errors() -> dict[str, float]:
        with torch.no_grad():
            found = pinn.model(places(TEST_STEPS)).reshape(TEST_STEPS + 1, 1, -1)
            gap = (found - testing).square()
            return {"interpolation": gap[1 : TRAIN_STEPS + 1].mean().item(), "extrapolation": gap[1:].mean().item()}

    result = train_pinn(pinn.model, pinn.losses, pinn.settings, lambda: errors()["interpolation"])
    floor = (training - training.mean(1, keepdim=True)).square().mean().item()
    return {**result.record(), "alpha": pinn.model.learned()["alpha"], **errors(), "floor": floor, "parameters": count(pinn.model)}


def one_trajectory(seed: int, epochs: int, continuous: bool, **settings: Any) -> Record:
    """Well posed: the network learns one solution, observed for twenty steps."""
    modes = Modes(1, 5000 + seed)
    times = torch.arange(TEST_STEPS + 1) * DT
    observed = modes.at(grid(torch.float64), times)[0].float() if continuous else modes.trajectories(TEST_STEPS)[:, 0]
    pinn = HeatPinn(places(TEST_STEPS), observed.reshape(-1, 1), TEST_STEPS * DT, PinnSettings(epochs, **settings), seed)
    result = train_pinn(pinn.model, pinn.losses, pinn.settings)
    with torch.no_grad():
        gap = (pinn.model(places(TEST_STEPS)) - observed.reshape(-1, 1)).square().mean().item()
        later = places(4 * TEST_STEPS)
        truth = modes.at(grid(torch.float64), torch.arange(4 * TEST_STEPS + 1) * DT)[0].float().reshape(-1, 1)
        ahead = (pinn.model(later) - truth).square().mean().item()
    return {
        **result.record(),
        "alpha": pinn.model.learned()["alpha"],
        "interpolation": gap,
        "extrapolation": ahead,
        "parameters": count(pinn.model),
    }
