"""Integration and windows. States are tensors whose last axis is the state; a right-hand side is a function of time and state.

The classical Runge-Kutta step is written out once, so that every model of an experiment goes through the same operations."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Rhs = Callable[[Tensor, Tensor], Tensor]


def rk4(rhs: Rhs, time: Tensor, state: Tensor, step: float) -> Tensor:
    k1 = rhs(time, state)
    k2 = rhs(time + 0.5 * step, state + 0.5 * step * k1)
    k3 = rhs(time + 0.5 * step, state + 0.5 * step * k2)
    k4 = rhs(time + step, state + step * k3)
    return state + (step / 6) * (k1 + 2 * k2 + 2 * k3 + k4)


def integrate(rhs: Rhs, start: Tensor, steps: int, step: float, time: Tensor | None = None) -> Tensor:
    """The states after 0, 1, ..., `steps` steps, along a new first axis."""
    now = torch.zeros(start.shape[:-1], dtype=start.dtype) if time is None else time
    states = [start]
    for _ in range(steps):
        states.append(rk4(rhs, now, states[-1], step))
        now = now + step
    return torch.stack(states)


class Windows:
    """Pieces of an observed trajectory to train on: `count` random starts, each followed for `length` steps."""

    def __init__(self, observed: Tensor, step: float, count: int, length: int, seed: int) -> None:
        self.observed = observed
        self.step = step
        self.count = count
        self.length = length
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self) -> tuple[Tensor, Tensor, Tensor]:
        """Times and states at the starts, and what was observed from there on: (length + 1, count, state)."""
        starts = torch.randint(0, len(self.observed) - self.length, (self.count,), generator=self.generator)
        rows = starts[None, :] + torch.arange(self.length + 1)[:, None]
        return starts.to(self.observed.dtype) * self.step, self.observed[starts], self.observed[rows]

    def loss(self, rhs: Rhs) -> Tensor:
        times, start, target = self.draw()
        found = integrate(rhs, start, self.length, self.step, times)
        return (found[1:] - target[1:]).square().mean()


def noisy(clean: Tensor, level: float, seed: int) -> Tensor:
    """Gaussian noise, its standard deviation a share of the mean size of the clean values."""
    generator = torch.Generator().manual_seed(seed)
    return clean + level * clean.abs().mean() * torch.randn(clean.shape, generator=generator, dtype=clean.dtype)


def rk4_window_program(rhs: dict[str, str], steps: int, step: float, time: bool = False) -> str:
    """A window of Runge-Kutta steps as one program: from the states by name to the vector of all later states, step by step.

    `rhs` gives each state's derivative as a program of the states (and of `t`). The order of operations is that of `rk4`."""
    names = list(rhs)
    more = ["t"] if time else []
    heads = "\n".join(f"(define (d_{n} {' '.join(more + names)}) {text})" for n, text in rhs.items())
    bindings: list[str] = []
    outputs: list[str] = []
    now = {n: n for n in names}
    clock = "t"
    half = repr(0.5 * step)
    for i in range(1, steps + 1):

        def stage(k: int, base: str | None, factor: str, at: str) -> None:
            arguments = []
            for n in names:
                if base is None:
                    arguments.append(now[n])
                else:
                    bindings.append(f"({n}_{i}_{k} (+ {now[n]} (* {factor} {base}_{n}_{i})))")
                    arguments.append(f"{n}_{i}_{k}")
            for n in names:
                bindings.append(f"(k{k}_{n}_{i} (d_{n} {' '.join(([at] if time else []) + arguments)}))")

        if time:
            bindings.append(f"(tm_{i} (+ {clock} {half}))")
            bindings.append(f"(te_{i} (+ {clock} {step!r}))")
        stage(1, None, "", clock)
        stage(2, "k1", half, f"tm_{i}")
        stage(3, "k2", half, f"tm_{i}")
        stage(4, "k3", repr(step), f"te_{i}")
        for n in names:
            total = f"(+ (+ (+ k1_{n}_{i} (* 2 k2_{n}_{i})) (* 2 k3_{n}_{i})) k4_{n}_{i})"
            bindings.append(f"({n}_{i} (+ {now[n]} (* {step / 6!r} {total})))")
            outputs.append(f"{n}_{i}")
        now = {n: f"{n}_{i}" for n in names}
        clock = f"te_{i}"
    return f"{heads}\n(let* ({' '.join(bindings)})\n  (vec {' '.join(outputs)}))"
