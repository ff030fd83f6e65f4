"""A training step of the paper's hybrid models: ours against the same model with physics written by hand in PyTorch.

In: a job; out: a section like that of `batches`, a record per pattern and batch. A step is zero_grad, forward, loss, backward and Adam's
step. Both contenders start from the same weights and must give the same loss and gradients before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from measure import FULL, QUICK, measure
from peers import Prepared
from torch import Tensor, nn

Physics = Callable[..., Tensor]


class ByHand(nn.Module):
    """A formula with parameters, as people write it."""

    def __init__(self, formula: Physics, **params: float) -> None:
        super().__init__()
        self.formula = formula
        for name, value in params.items():
            self.register_parameter(name, nn.Parameter(torch.tensor(value)))

    def forward(self, *inputs: Tensor) -> Tensor:
        """The formula."""
        return self.formula(*inputs, *self._parameters.values())


def compiled(source: str, inputs: list[str], **params: float) -> Any:
    """The same as a compiled module, with parameters of the same type."""
    from neural_compiler import compile_scheme

    return compile_scheme(source, inputs=inputs, params=params or None).float()


def gravity(ours: bool) -> nn.Module:
    """Pattern 1: the whole equation is known, a constant is not."""
    if ours:
        return compiled("(/ (* G (* m1 m2)) (pow r 2))", ["m1", "m2", "r"], G=1.0)
    return ByHand(lambda m1, m2, r, G: G * (m1 * m2) / r**2, G=1.0)


class Pendulum(nn.Module):
    """Pattern 2: gravity is known, a network learns the rest; a second-order equation as the derivative of two states."""

    def __init__(self, ours: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.pull = (
            compiled("(* (- 0 g_L) (sin theta))", ["theta"], g_L=5.0)
            if ours
            else ByHand(lambda theta, g_L: (0 - g_L) * torch.sin(theta), g_L=5.0)
        )
        self.rest = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, theta: Tensor, omega: Tensor) -> Tensor:
        """The angular acceleration."""
        return self.pull(theta) + self.rest(torch.stack([theta, omega], -1))[..., 0]


class Rollout(nn.Module):
    """The same, integrated with RK4 over a window, as the paper trains it."""

    def __init__(self, ours: bool, steps: int = 5) -> None:
        super().__init__()
        self.field = Pendulum(ours)
        self.steps = steps

    def forward(self, theta: Tensor, omega: Tensor) -> Tensor:
        """The angle at the end."""
        h = 0.05
        for _ in range(self.steps):
            a1 = self.field(theta, omega)
            w2 = omega + h / 2 * a1
            a2 = self.field(theta + h / 2 * omega, w2)
            w3 = omega + h / 2 * a2
            a3 = self.field(theta + h / 2 * w2, w3)
            w4 = omega + h * a3
            a4 = self.field(theta + h * w3, w4)
            theta, omega = theta + h / 6 * (omega + 2 * w2 + 2 * w3 + w4), omega + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return theta


class Pipeline(nn.Module):
    """Pattern 3: square, add one, cube, behind a learned projection."""

    def __init__(self, ours: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.into = nn.Linear(1, 1)
        if ours:
            self.chain: Any = compiled("(* x x)", ["x"]) >> compiled("(+ x 1)", ["x"]) >> compiled("(* x x x)", ["x"])
        else:
            self.chain = ByHand(lambda x: (y := x * x + 1) * y * y)

    def forward(self, x: Tensor) -> Tensor:
        """The chain of what the projection gives."""
        return self.chain(self.into(x[:, None])[:, 0])


PATTERNS: dict[str, tuple[Callable[[bool], nn.Module], int]] = {
    "pattern 1, gravity": (gravity, 3),
    "pattern 2, pendulum": (Pendulum, 2),
    "pattern 2, RK4 over 5 steps": (Rollout, 2),
    "pattern 3, pipeline": (Pipeline, 1),
}
BATCHES = (6, 1024, 10**4)
"""The paper's windows, its samples as released, its samples as stated."""


def step(model: nn.Module, inputs: list[Tensor], target: Tensor) -> Callable[[], Tensor]:
    """One step of training."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.0)

    def run() -> Tensor:
        optimiser.zero_grad()
        loss = (model(*inputs) - target).square().mean()
        loss.backward()
        optimiser.step()
        return loss

    return run


@dataclass(frozen=True)
class Contender:
    """One of the two, as `measure` takes it."""

    model: nn.Module
    run: Callable[[], Tensor]

    def prepare(self, case: Any) -> Prepared:
        """What it computes is checked here, against the other one, not against a formula."""
        return Prepared(self.run, None)

    def results(self) -> list[np.ndarray]:
        """The loss and every gradient."""
        loss = self.run()
        return [loss.detach().numpy(), *(p.grad.numpy() for p in self.model.parameters())]


def agree(ours: list[np.ndarray], theirs: list[np.ndarray]) -> str | None:
    """Why two contenders do not compute the same."""
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if not np.allclose(a, b, rtol=1e-4, atol=1e-5):
            return f"number {k} of loss and gradients: {a} against {b}"
    return None


def run(job: dict[str, Any]) -> dict[str, Any]:
    """A record per pattern and batch."""
    torch.set_num_threads(job["threads"])
    torch.set_grad_enabled(True)
    effort = QUICK if job["quick"] else FULL
    records = []
    for name, (make, count) in PATTERNS.items():
        for lanes in BATCHES:
            generator = torch.Generator().manual_seed(1)
            inputs = list(torch.rand(count, lanes, generator=generator) + 0.5)
            target = torch.rand(lanes, generator=generator)
            models = {"module": make(True), "eager": make(False)}
            racing: dict[str, Any] = {who: Contender(m, step(m, inputs, target)) for who, m in models.items()}
            wrong = agree(racing["module"].results(), racing["eager"].results())
            record: dict[str, Any] = {"program": name, "dtype": "float32", "gradient": True, "lanes": lanes, "threads": job["threads"]}
            record["contenders"] = (
                {"module": {"wrong": wrong}} if wrong else measure(SimpleNamespace(threads=job["threads"]), racing, effort)
            )
            records.append(record)
    version = f"torch {torch.__version__}"
    return {
        "versions": {"module": version, "eager": version},
        "missing": {},
        "labels": {"module": "our nn.Module", "eager": "physics by hand"},
        "records": records,
    }
