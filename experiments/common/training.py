"""The training loop of every gradient-descent row. In: a model, a loss per epoch, an optimiser's settings; out: what was learned, the
curve of losses, and a digest of the loss, every gradient and every parameter of every epoch.

Two models whose digests are equal had the same bits in all of these after every epoch.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

POINTS = 120
"""Points of a curve that are kept."""


@dataclass
class Trained:
    epochs: int
    seconds: float
    digest: str
    losses: list[tuple[int, float]] = field(default_factory=list)
    tests: list[tuple[int, float]] = field(default_factory=list)
    followed: dict[str, list[float]] = field(default_factory=dict)

    def record(self) -> dict[str, object]:
        return {
            "epochs": self.epochs,
            "training_seconds": self.seconds,
            "digest": self.digest,
            "losses": self.losses,
            "tests": self.tests,
            "followed": self.followed,
        }


@dataclass(frozen=True)
class Settings:
    epochs: int
    lr: float
    cosine: bool = False
    clip: float | None = None


class Loop:
    """An optimiser bound to a model and its loss; `step` is one epoch. The cost measurements time the very same steps."""

    def __init__(self, model: nn.Module, loss: Callable[[], Tensor], settings: Settings) -> None:
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.loss = loss
        self.settings = settings
        self.optimiser = torch.optim.Adam(self.parameters, lr=settings.lr)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimiser, settings.epochs) if settings.cosine else None

    def step(self) -> float:
        self.optimiser.zero_grad()
        loss = self.loss()
        loss.backward()
        if self.settings.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
        self.optimiser.step()
        if self.schedule is not None:
            self.schedule.step()
        return loss.item()


def train(
    model: nn.Module,
    loss: Callable[[], Tensor],
    settings: Settings,
    test: Callable[[], float] | None = None,
    follow: Callable[[], dict[str, float]] | None = None,
) -> Trained:
    """Trains; `loss` draws its own data, from generators the caller seeds, so that rows of one seed see the same."""
    loop = Loop(model, loss, settings)
    sha = hashlib.sha256()
    result = Trained(settings.epochs, 0.0, "")
    every = max(1, settings.epochs // POINTS)
    for epoch in range(settings.epochs):
        begun = time.perf_counter()
        value = loop.step()
        result.seconds += time.perf_counter() - begun
        sha.update(struct.pack("<d", value))
        for p in loop.parameters:
            sha.update(p.detach().numpy().tobytes())
            if p.grad is not None:
                sha.update(p.grad.numpy().tobytes())
        if epoch % every == 0 or epoch == settings.epochs - 1:
            result.losses.append((epoch, value))
            if test is not None:
                result.tests.append((epoch, test()))
            for name, number in (follow() if follow else {}).items():
                result.followed.setdefault(name, []).append(number)
    result.digest = sha.hexdigest()
    return result
