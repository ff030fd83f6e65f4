"""Explicit steps of differential equations in torch operations. In: a row of the table of schemes, a field (time, states) -> derivatives, a
time, states, a length; out: the states after the step and, for methods that choose their steps, error estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .schemes import Scheme

States: TypeAlias = "list[Tensor]"
Field: TypeAlias = "Callable[..., States]"
"""From a time and states to derivatives; a third argument, if given, says which lanes of the batch these are."""
Whole: TypeAlias = "Callable[[Tensor, States, Tensor], States]"
"""A step of a length, from a time and states to states; of an adaptive method also to error estimates."""


def combined(y: States, h: Tensor, slopes: Sequence[States], weights: Sequence[float]) -> States:
    """y + h * (the weighted sum of slopes)."""
    used = [(w, k) for w, k in zip(weights, slopes) if w]
    found = []
    for i, start in enumerate(y):
        total = used[0][1][i] * used[0][0]
        for w, k in used[1:]:
            total = torch.add(total, k[i], alpha=w)
        found.append(start + over(h, start) * total)
    return found


def over(h: Tensor, state: Tensor) -> Tensor:
    """A length for each lane, with the axes of a state behind."""
    return h.reshape(h.shape + (1,) * (state.dim() - 1)) if h.dim() else h


def fixed(step: Whole, y: States, times: Tensor, gaps: Sequence[float] | None, longest: float | None) -> list[States]:
    """From time to time in equal steps. `gaps`: how far times are apart, where that is known."""
    found = [y]
    for k in range(len(times) - 1):
        gap = times[k + 1] - times[k]
        count = 1
        if longest is not None:
            length = abs(float(gap.detach()) if gaps is None else gaps[k])
            # A gap of three steps to rounding is three, not four.
            count = max(1, math.ceil(length / longest * (1 - 1e-9)))
        h = gap / count
        for j in range(count):
            t = times[k] + j * h if j else times[k]
            y = step(t, y, h)
        found.append(y)
    return found


class Explicit:
    """A Runge-Kutta method, slope by slope."""

    def __init__(self, scheme: Scheme, field: Field) -> None:
        self.field = field
        row = scheme.numbers
        self.nodes, self.stages, self.weights, self.error = row["nodes"], row["stages"], row["weights"], row["error"]
        self.ends_in_a_stage = bool(self.stages) and self.stages[-1] == self.weights
        """The last stage is the step, and its slope the first of the next one."""
        self._known: list[tuple[States, States]] = []
        """States seen last, and the slopes there."""

    def __call__(self, t: Tensor, y: States, h: Tensor, pick: Any = None) -> States:
        """The states after a step."""
        return self._taken(t, y, h, pick)[0]

    def with_errors(self, t: Tensor, y: States, h: Tensor, pick: Any = None) -> tuple[States, States]:
        """The states after a step, and their error estimates, if the method has such."""
        after, slopes = self._taken(t, y, h, pick)
        with torch.no_grad():
            return after, combined([torch.zeros_like(v) for v in y], h, slopes, self.error) if self.error else []

    def _taken(self, t: Tensor, y: States, h: Tensor, pick: Any) -> tuple[States, list[States]]:
        first = self._first(t, y, pick)
        slopes = [first]
        after = y
        for node, row in zip(self.nodes, self.stages):
            after = combined(y, h, slopes, row)
            slopes.append(self._slope(t + node * h, after, pick))
        if self.ends_in_a_stage:
            self._known = [(y, first), (after, slopes[-1])]
            return after, slopes
        return combined(y, h, slopes, self.weights), slopes

    def _first(self, t: Tensor, y: States, pick: Any) -> States:
        for at, slope in self._known:
            if at is y:
                return slope
        return self._slope(t, y, pick)

    def _slope(self, t: Tensor, y: States, pick: Any) -> States:
        return self.field(t, y) if pick is None else self.field(t, y, pick)
