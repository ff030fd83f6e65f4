"""Steps of differential equations in torch operations. In: a field (time, states) -> derivatives, a time, states, a length; out: the
states after the step and, for methods that choose their steps, error estimates.

Numbers of the methods with error estimates are those of the native solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .. import _native

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


def _euler(field: Field, t: Tensor, y: States, h: Tensor) -> States:
    return combined(y, h, [field(t, y)], [1.0])


def _rk4(field: Field, t: Tensor, y: States, h: Tensor) -> States:
    k1 = field(t, y)
    k2 = field(t + h / 2, combined(y, h, [k1], [0.5]))
    k3 = field(t + h / 2, combined(y, h, [k2], [0.5]))
    k4 = field(t + h, combined(y, h, [k3], [1.0]))
    return combined(y, h, [k1, k2, k3, k4], [1 / 6, 1 / 3, 1 / 3, 1 / 6])


STEPS: dict[str, Callable[[Field, Tensor, States, Tensor], States]] = {"euler": _euler, "rk4": _rk4}


def fixed(
    field: Field, y: States, times: Tensor, gaps: Sequence[float] | None, method: str, longest: float | None, whole: Whole | None
) -> list[States]:
    """From time to time in equal steps; `whole` does one, where there is such a function. `gaps`: how far times are apart, where that
    is known."""
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
            y = STEPS[method](field, t, y, h) if whole is None else whole(t, y, h)
        found.append(y)
    return found


class Dopri5:
    """Dormand and Prince's fifth order with an embedded fourth, slope by slope. The last slope of a step is the first of the next."""

    nodes, rows, errors = _native.dopri5()
    order = 5.0

    def __init__(self, field: Field) -> None:
        self.field = field
        self._known: list[tuple[States, States]] = []
        """States seen last, and the slopes there."""

    def __call__(self, t: Tensor, y: States, h: Tensor, pick: Any = None) -> tuple[States, States]:
        """The states after a step, and their error estimates."""
        first = next((slope for at, slope in self._known if at is y), None) or self.field(t, y, pick)
        slopes = [first]
        after = y
        for node, row in zip(self.nodes, self.rows):
            after = combined(y, h, slopes, row)
            slopes.append(self.field(t + node * h, after, pick))
        self._known = [(y, first), (after, slopes[-1])]
        with torch.no_grad():
            errors = combined([torch.zeros_like(v) for v in y], h, slopes, self.errors)
        return after, errors
