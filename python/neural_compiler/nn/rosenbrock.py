"""A step of the Rosenbrock method in torch operations, for right-hand sides that are no compiled program. In: a field, a time, states, a
length; out: the states after the step and their error estimates.

The Jacobian is that of each element of the batch by itself, from reverse mode; the step is differentiable, the Jacobian's part included.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .schemes import Scheme
from .steppers import Field, States

_vjp: Any = torch.func.vjp
_BASE = 8
"""That of the digits by which elements of a batch are told apart: 2 to the power of each is a number of every type."""


class Rosenbrock:
    """A Rosenbrock method, for stiff equations."""

    def __init__(self, scheme: Scheme, field: Field, ranks: list[int]) -> None:
        self.field, self.ranks = field, ranks
        row = scheme.numbers
        self.gamma, self.nodes, self.time, self.states, self.slopes = row["gamma"], row["nodes"], row["time"], row["states"], row["slopes"]
        self._looked = False

    def with_errors(self, t: Tensor, y: States, h: Tensor, pick: Any = None) -> tuple[States, States]:
        """The states after a step, and their error estimates."""
        sizes = [v.shape[v.dim() - r :] for v, r in zip(y, self.ranks)]
        x = _joined(y, self.ranks)

        def law(t: Tensor, x: Tensor) -> Tensor:
            return _joined(self.field(t, _apart(x, sizes), pick), self.ranks)

        slope, jacobian, by_time = self._linearised(law, t, x)
        h = h[..., None]
        matrix = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device) / (self.gamma * h[..., None]) - jacobian
        # Beside an infinite slope of the law all stages would be 0, and with them the error of a step that goes nowhere.
        finite = torch.isfinite(matrix).all(-1).all(-1)
        stages: list[Tensor] = []
        states = x
        for node, late, row, weights in zip(self.nodes, self.time, self.states, self.slopes):
            if stages:
                states = x + _sum(row, stages)
                slope = law(t + node * h[..., 0], states) + _sum(weights, stages) / h
            right = slope + late * h * by_time if late else slope
            found = torch.linalg.solve_ex(matrix, right[..., None])
            stages.append(torch.where(((found[1] == 0) & finite)[..., None], found[0][..., 0], torch.nan))
        return _apart(states + stages[-1], sizes), _apart(stages[-1].detach(), sizes)

    def _linearised(self, law: Any, t: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The slope, its Jacobian, and its derivative by time."""
        slope, pull = _vjp(lambda x: law(t, x), x)
        rows = [pull(_only(slope, k))[0] for k in range(x.shape[-1])]
        if not self._looked:
            self._looked = True
            self._look(pull, slope)
        # Reverse mode twice is forward mode: what is pulled back is linear in the weights, with the derivative by time as its factor.
        _, to_time = _vjp(lambda t: law(t, x), t)
        _, along = _vjp(to_time, torch.zeros_like(slope))
        return slope, torch.stack(rows, -2), along((torch.ones_like(t),))[0]

    def _look(self, pull: Any, slope: Tensor) -> None:
        """Refuses, at the first step, a batch whose elements depend on each other: their Jacobian is not made of blocks."""
        count = slope[..., 0].numel()
        if count < 2:
            return
        alike = pull(torch.ones_like(slope))[0].detach()
        # What is pulled back from elements of other shares shows. Powers of two, which no type rounds, one for each digit of an element's
        # number: two elements differ in some digit.
        numbers = torch.arange(count, device=slope.device).reshape(slope.shape[:-1])[..., None]
        digit = 1
        while digit < count:
            shares = (2.0 ** (numbers // digit % _BASE)).to(slope.dtype)
            pulled, own = pull(shares.expand(slope.shape))[0].detach(), alike * shares
            if bool(((pulled - own).abs() > 1e-3 * (pulled.abs() + own.abs())).any()):
                cause = "the derivative of one element of the batch depends on another"
                raise ValueError(f"{cause}: the last axis of `y0` must hold all states that do")
            digit *= _BASE


def _only(like: Tensor, k: int) -> Tensor:
    """Ones for one state of each element of the batch, zeros for the others."""
    found = torch.zeros_like(like)
    found[..., k] = 1
    return found


def _sum(weights: list[float], stages: list[Tensor]) -> Tensor:
    used = [(w, s) for w, s in zip(weights, stages) if w]
    total = used[0][0] * used[0][1]
    for w, s in used[1:]:
        total = torch.add(total, s, alpha=w)
    return total


def _joined(states: States, ranks: list[int]) -> Tensor:
    """The numbers of all states along one last axis."""
    flat = [s[..., None] if r == 0 else s.flatten(s.dim() - r) for s, r in zip(states, ranks)]
    batch = torch.broadcast_shapes(*(f.shape[:-1] for f in flat))
    return flat[0] if len(flat) == 1 else torch.cat([f.expand(*batch, -1) for f in flat], -1)


def _apart(x: Tensor, sizes: list[torch.Size]) -> States:
    parts = torch.split(x, [size.numel() for size in sizes], -1)
    return [p[..., 0] if not size else p if len(size) == 1 else p.unflatten(-1, size) for p, size in zip(parts, sizes)]
