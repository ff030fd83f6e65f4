"""The jobs of the heat equation: diffusivity from trajectories, by stepping models; and the same with an unknown source."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..common import native_fit
from ..common.cost import compare
from ..common.jobs import Record
from ..common.nets import count, mlp
from ..common.training import Loop, Settings, train
from .problem import DT, KINDS, POINTS, SOURCE, START, Diffusion, Modes, grid, laplacian

TRAIN_STEPS = 5
TEST_STEPS = 20


def rollout(step: Callable[[Tensor], Tensor], start: Tensor, steps: int) -> Tensor:
    states = [start]
    for _ in range(steps):
        states.append(step(states[-1]))
    return torch.stack(states)


def data(seed: int, forced: bool = False) -> tuple[Tensor, Tensor]:
    return Modes(50, 3000 + seed).trajectories(TRAIN_STEPS, forced), Modes(20, 4000 + seed).trajectories(TEST_STEPS, forced)


def errors(step: Callable[[Tensor], Tensor], testing: Tensor) -> dict[str, float]:
    """On states not trained on: up to the horizon of training, and up to four times as far."""
    with torch.no_grad():
        gap = (rollout(step, testing[0], TEST_STEPS) - testing).square()
        return {"interpolation": gap[1 : TRAIN_STEPS + 1].mean().item(), "extrapolation": gap[1:].mean().item()}


def loss_of(step: Callable[[Tensor], Tensor], training: Tensor) -> Callable[[], Tensor]:
    return lambda: (rollout(step, training[0], TRAIN_STEPS)[1:] - training[1:]).square().mean()


def pure(kind: str, epochs: int, seed: int) -> Record:
    """Alpha by gradient descent through the steps."""
    training, testing = data(seed)
    model = Diffusion(kind)
    result = train(
        model,
        loss_of(model, training),
        Settings(epochs, 1e-3),
        lambda: errors(model, testing)["interpolation"],
        lambda: {"alpha": model.alpha},
    )
    return {**result.record(), "alpha": model.alpha, **errors(model, testing), "parameters": count(model)}


def network(epochs: int, forced: bool, seed: int) -> Record:
    """The whole step as a network, trained by rollout."""
    training, testing = data(seed, forced)
    model = mlp((POINTS, 64, 64, 64, POINTS), "relu")
    result = train(model, loss_of(model, training), Settings(epochs, 1e-3), lambda: errors(model, testing)["interpolation"])
    return {**result.record(), **errors(model, testing), "loss": result.losses[-1][1], "parameters": count(model)}


class WithSource(nn.Module):
    """Diffusion plus a network of the state (as in the paper) or of the place (ours: a source does not know the temperature)."""

    def __init__(self, kind: str, of_place: bool) -> None:
        super().__init__()
        self.diffusion = Diffusion(kind)
        self.of_place = of_place
        self.net = mlp((1, 32, 32, 1), "tanh", zero_last=True) if of_place else mlp((POINTS, 32, 32, POINTS), "relu")
        self.register_buffer("x", grid()[:, None])

    def source(self, u: Tensor) -> Tensor:
        return self.net(self.x)[:, 0] if self.of_place else self.net(u)

    def forward(self, u: Tensor) -> Tensor:
        return self.diffusion(u) + DT * self.source(u)


def hybrid(kind: str, of_place: bool, epochs: int, seed: int) -> Record:
    training, testing = data(seed, forced=True)
    model = WithSource(kind, of_place)
    loss = loss_of(model, training)
    settings = Settings(epochs, 5e-3, cosine=True) if of_place else Settings(epochs, 1e-3)
    result = train(model, loss, settings, lambda: errors(model, testing)["interpolation"], lambda: {"alpha": model.diffusion.alpha})
    with torch.no_grad():
        found = model.source(training[0][:1]).reshape(-1).tolist()
    return {
        **result.record(),
        "alpha": model.diffusion.alpha,
        "loss": result.losses[-1][1],
        **errors(model, testing),
        "source": found,
        "parameters": count(model),
    }


def fitted(forced: bool, seed: int) -> Record:
    """Alpha (and a source of ten numbers) through the native fit: one step from each observed state to the next."""
    training, testing = data(seed, forced)
    before, after = training[:-1].reshape(-1, POINTS), training[1:].reshape(-1, POINTS)
    columns = {f"u[{i}]": before[:, i] for i in range(POINTS)} | {f"next[{i}]": after[:, i] for i in range(POINTS)}
    matrix = "(mat " + " ".join("[" + " ".join(repr(v) for v in row) + "]" for row in laplacian(torch.float64).tolist()) + ")"
    step = SOURCE.replace(" dt ", f" {DT} ").replace(" L ", " laplace ")
    shift = "(param s [" + " ".join(["0"] * POINTS) + "])\n" if forced else ""
    text = f"(param alpha {START} :min 0)\n{shift}(input u :size {POINTS})\n(define laplace {matrix})\n" + (
        f"(+ {step} (scale {DT} s))" if forced else step
    )
    begun = time.perf_counter()
    found = native_fit.fit(text, columns, target="next")
    seconds = time.perf_counter() - begun
    alpha = found.values["alpha"]
    extra = torch.tensor([found.values[f"s[{i}]"] for i in range(POINTS)], dtype=torch.float32) if forced else torch.zeros(POINTS)
    L = laplacian()

    def one(u: Tensor) -> Tensor:
        return u + DT * alpha * torch.matmul(L, u[..., None])[..., 0] + DT * extra

    gap = (one(training[0]) - training[1]).square().mean().item()
    return {
        "alpha": alpha,
        "error": found.errors["alpha"],
        "training_seconds": seconds,
        "loss": gap,
        **errors(one, testing),
        "source": extra.tolist(),
        "parameters": 1 + POINTS * forced,
    }


def cost(forced: bool, rounds: int, steps: int, seed: int) -> Record:
    training, _ = data(seed, forced)
    loops: dict[str, Loop] = {}
    for kind in KINDS:
        model = WithSource(kind, of_place=False) if forced else Diffusion(kind)
        loops[kind] = Loop(model, loss_of(model, training), Settings(1000, 1e-3))
    return {"cost": compare(loops, "hand-coded", rounds, steps)}
