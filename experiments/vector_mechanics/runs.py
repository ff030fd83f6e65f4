"""The jobs of vector mechanics. The force is -G m1 m2 r / |r|^3; the drag of the second part is -0.5 v |v|, number by number."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..common import native_fit
from ..common.cost import compare
from ..common.jobs import Record
from ..common.nets import count, mlp, physics
from ..common.training import Loop, Settings, train

G = 6.674
START = 3.0
SOURCE = "(scale (/ (* (- 0 G) (* m1 m2)) (pow (norm r) 3)) r)"
INPUTS = {"m1": None, "m2": None, "r": 3}
DRAG_WEIGHTS = 8 + 8 + 8 + 1
KINDS = {"compiled": "torch", "compiled, native": "native", "hand-coded": "hand"}


def by_hand(G: Tensor, m1: Tensor, m2: Tensor, r: Tensor) -> Tensor:
    return ((0 - G) * (m1 * m2) / torch.norm(r, dim=-1) ** 3)[..., None] * r


def gravity(kind: str) -> nn.Module:
    return physics(KINDS[kind], SOURCE, by_hand, {"G": START}, INPUTS)


class Data:
    """Positions, masses, velocities and forces; the noise is a share of the mean size of the force."""

    def __init__(self, count: int, noise: float, seed: int, drag: bool) -> None:
        draw = torch.Generator().manual_seed(seed)
        direction = torch.randn(count, 3, generator=draw)
        length = 1 + 4 * torch.rand(count, 1, generator=draw)
        self.r = length * direction / torch.norm(direction, dim=-1, keepdim=True)
        self.m1 = 1 + 4 * torch.rand(count, generator=draw)
        self.m2 = 1 + 4 * torch.rand(count, generator=draw)
        self.v = 2 * torch.randn(count, 3, generator=draw)
        clean = by_hand(torch.tensor(G), self.m1, self.m2, self.r)
        if drag:
            clean = clean - 0.5 * self.v * self.v.abs()
        self.force = clean + noise * clean.abs().mean() * torch.randn(count, 3, generator=draw)

    @property
    def known(self) -> dict[str, Tensor]:
        return {"m1": self.m1, "m2": self.m2, "r": self.r}

    @property
    def row(self) -> Tensor:
        return torch.cat([self.m1[:, None], self.m2[:, None], self.r], dim=1)


def data(seed: int, drag: bool) -> tuple[Data, Data]:
    return Data(100, 0.01 if drag else 0.02, 1000 + seed, drag), Data(50, 0.0, 2000 + seed, drag)


def _losses(predict: Callable[[Data], Tensor], training: Data, testing: Data) -> tuple[Callable[[], Tensor], Callable[[], float]]:
    def test() -> float:
        with torch.no_grad():
            return (predict(testing) - testing.force).square().mean().item()

    return lambda: (predict(training) - training.force).square().mean(), test


def pure(kind: str, epochs: int, seed: int) -> Record:
    """G from noisy forces, by gradient descent."""
    training, testing = data(seed, drag=False)
    model = gravity(kind)
    loss, test = _losses(lambda d: model(**d.known), training, testing)
    result = train(model, loss, Settings(epochs, 1e-2), test, lambda: {"G": model.G.item()})
    return {**result.record(), "G": model.G.item(), "test": test(), "parameters": count(model)}


def network(epochs: int, drag: bool, seed: int) -> Record:
    """The force as a network of masses and positions (and velocities)."""
    training, testing = data(seed, drag)
    model = mlp((8 if drag else 5, 64, 64, 64, 3), "relu")
    loss, test = _losses(lambda d: model(torch.cat([d.row, d.v], dim=1) if drag else d.row), training, testing)
    result = train(model, loss, Settings(epochs, 1e-3), test)
    return {**result.record(), "test": test(), "parameters": count(model)}


class WithDrag(nn.Module):
    """Compiled gravity plus a network of the velocity."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.gravity = gravity(kind)
        self.drag = mlp((3, 32, 32, 3), "tanh")

    def forward(self, d: Data) -> Tensor:
        return self.gravity(**d.known) + self.drag(d.v)


def hybrid(kind: str, epochs: int, lr: float, seed: int) -> Record:
    """Gravity with an unknown drag: both trained at once by one optimiser, as in the paper's code."""
    training, testing = data(seed, drag=True)
    model = WithDrag(kind)
    loss, test = _losses(model, training, testing)
    result = train(model, loss, Settings(epochs, lr), test, lambda: {"G": model.gravity.G.item()})
    return {**result.record(), "G": model.gravity.G.item(), "test": test(), "parameters": count(model)}


class Componentwise(nn.Module):
    """A drag that acts on each number of the velocity alone and alike, by one small network."""

    def __init__(self) -> None:
        super().__init__()
        self.net = mlp((1, 32, 32, 1), "tanh")

    def forward(self, v: Tensor) -> Tensor:
        return self.net(v[..., None])[..., 0]


def projected(epochs: int, seed: int) -> Record:
    """Ours: the force is linear in G, so the best G for the drag of the moment is known in closed form; only the network descends.

    The same network acts on each component, which keeps a hundred points from being learned by heart."""
    training, testing = data(seed, drag=True)
    unit = gravity("compiled, native")
    with torch.no_grad():
        unit.G.fill_(1.0)
        direction, test_direction = unit(**training.known), unit(**testing.known)
    drag = Componentwise()

    def best() -> Tensor:
        return (direction * (training.force - drag(training.v))).sum() / direction.square().sum()

    def test() -> float:
        with torch.no_grad():
            return (best() * test_direction + drag(testing.v) - testing.force).square().mean().item()

    def loss() -> Tensor:
        return (best() * direction + drag(training.v) - training.force).square().mean()

    result = train(drag, loss, Settings(epochs, 1e-2, cosine=True), test, lambda: {"G": best().item()})
    return {**result.record(), "G": best().item(), "test": test(), "parameters": count(drag) + 1}


def _columns(d: Data, drag: bool) -> dict[str, Tensor]:
    vectors = {"r": d.r, "F": d.force} | ({"v": d.v} if drag else {})
    return {"m1": d.m1, "m2": d.m2} | {f"{name}[{i}]": value[:, i] for name, value in vectors.items() for i in range(3)}


def fitted(drag: bool, seed: int) -> Record:
    """G through the native fit, with its standard error; an unknown drag is a network of each number of the velocity in the same text."""
    training, testing = data(seed, drag)
    text = f"(param G {START})\n(input r :size 3)\n"
    text += (
        f"(input v :size 3)\n(net drag (u) 8 1)\n(+ {SOURCE} (vec (drag (ref v 0)) (drag (ref v 1)) (drag (ref v 2))))" if drag else SOURCE
    )
    begun = time.perf_counter()
    found = native_fit.fit(text, _columns(training, drag), target="F", seed=seed)
    seconds = time.perf_counter() - begun
    gap = torch.as_tensor(found.result.predict(_columns(testing, drag))) - testing.force
    return {
        "G": found.values["G"],
        "error": found.errors["G"],
        "training_seconds": seconds,
        "test": gap.square().mean().item(),
        "parameters": 1 + DRAG_WEIGHTS * drag,
    }


def cost(drag: bool, rounds: int, steps: int, seed: int) -> Record:
    training, testing = data(seed, drag)
    loops: dict[str, Loop] = {}
    for kind in KINDS:
        model = WithDrag(kind) if drag else gravity(kind)
        predict = model if drag else (lambda d, m=model: m(**d.known))
        loops[kind] = Loop(model, _losses(predict, training, testing)[0], Settings(1000, 1e-2))
    return {"cost": compare(loops, "hand-coded", rounds, steps)}
