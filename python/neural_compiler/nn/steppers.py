"""Steps of differential equations. In: a field (time, states) -> derivatives, initial states, times; out: the states at each time.

Sizes of steps are chosen from numbers without derivatives: gradients are those of the steps taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

States: TypeAlias = "list[Tensor]"
Field: TypeAlias = "Callable[[Tensor, States], States]"
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
        found.append(start + h * total)
    return found


def _euler(field: Field, t: Tensor, y: States, h: Tensor) -> States:
    return combined(y, h, [field(t, y)], [1.0])


def _rk4(field: Field, t: Tensor, y: States, h: Tensor) -> States:
    k1 = field(t, y)
    k2 = field(t + h / 2, combined(y, h, [k1], [0.5]))
    k3 = field(t + h / 2, combined(y, h, [k2], [0.5]))
    k4 = field(t + h, combined(y, h, [k3], [1.0]))
    return combined(y, h, [k1, k2, k3, k4], [1 / 6, 1 / 3, 1 / 3, 1 / 6])


STEPS: dict[str, Callable[[Field, Tensor, States, Tensor], States]] = {"euler": _euler, "rk4": _rk4}


def fixed(field: Field, y: States, times: Tensor, method: str, longest: float | None, whole: Whole | None = None) -> list[States]:
    """From time to time in equal steps; `whole` does one, where there is such a function."""
    found = [y]
    for k in range(len(times) - 1):
        gap = times[k + 1] - times[k]
        length = abs(float(gap.detach()))
        # A gap of three steps to rounding is three, not four.
        count = 1 if longest is None else max(1, math.ceil(length / longest * (1 - 1e-9)))
        h = gap / count
        for j in range(count):
            t = times[k] + j * h if j else times[k]
            y = STEPS[method](field, t, y, h) if whole is None else whole(t, y, h)
        found.append(y)
    return found


# Dormand and Prince's fifth order with an embedded fourth.
_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ROWS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERRORS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def adaptive(
    field: Field, y: States, times: Tensor, rtol: float, atol: float, max_steps: int, longest: float | None, first: float | None = None, whole: Whole | None = None
) -> list[States]:
    """Steps as long as the tolerances allow, each time met exactly; `whole` does one, where there is such a function."""
    slope = field(times[0], y)
    found = [y]
    if len(times) == 1:
        return found
    forward = 1.0 if float((times[1] - times[0]).detach()) > 0 else -1.0
    size = first if first is not None else _first(y, slope, rtol, atol, abs(float((times[-1] - times[0]).detach())))
    left = max_steps
    for k in range(len(times) - 1):
        end = times[k + 1]
        t = times[k]
        while True:
            rest = abs(float((end - t).detach()))
            size = size if longest is None else min(size, longest)
            last = size >= rest * (1 - 1e-9)
            # Two even steps instead of a long and a tiny one.
            h = end - t if last else (end - t) / 2 if size > rest / 2 else torch.full_like(t, forward * size)
            if left == 0 or float((t + h).detach()) == float(t.detach()):
                why = f"the equation takes more than {max_steps} steps" if left == 0 else "steps become too short to move the time"
                raise RuntimeError(f"{why}, at {float(t.detach()):g}: it may be stiff, or its solution may not exist so far")
            left -= 1
            if whole is None:
                after, errors, following = _dopri5(field, t, y, h, slope)
            else:
                both = whole(t, y, h)
                after, errors, following = both[: len(y)], both[len(y) :], slope
            ratio = _largest(y, after, errors, rtol, atol)
            took = abs(float(h.detach()))
            if ratio <= 1:
                y, slope, t = after, following, t + h
                size = took * min(10.0, 0.9 / max(ratio, 1e-10) ** 0.2)
                if last:
                    break
            else:
                size = took * (max(0.2, 0.9 / ratio**0.2) if math.isfinite(ratio) else 0.2)
        found.append(y)
    return found


def _dopri5(field: Field, t: Tensor, y: States, h: Tensor, slope: States) -> tuple[States, States, States]:
    """The states after a step, their error estimates, and the slope there, with which the next step begins."""
    slopes = [slope]
    after = y
    for node, row in zip(_NODES, _ROWS):
        after = combined(y, h, slopes, row)
        slopes.append(field(t + node * h, after))
    with torch.no_grad():
        errors = combined([torch.zeros_like(v) for v in y], h, slopes, _ERRORS)
    return after, errors, slopes[-1]


@torch.no_grad()
def _largest(y: States, after: States, errors: States, rtol: float, atol: float) -> float:
    """The estimated error of a step in units of what is tolerated, the largest of the batch; infinite where the step left the numbers."""
    worst = 0.0
    for a, b, error in zip(y, after, errors):
        ratio = (error / (atol + rtol * torch.maximum(a.abs(), b.abs()))).abs()
        largest = float(ratio.max()) if ratio.numel() else 0.0
        if not math.isfinite(largest):
            return math.inf
        worst = max(worst, largest)
    return worst


@torch.no_grad()
def _first(y: States, slope: States, rtol: float, atol: float, span: float) -> float:
    """A first step that moves the states by about a hundredth of their scale."""
    sizes = [(v.abs() / (atol + rtol * v.abs())).max() for v in y if v.numel()]
    speeds = [(k.abs() / (atol + rtol * v.abs())).max() for v, k in zip(y, slope) if v.numel()]
    most, fastest = (float(torch.stack(list(x)).max()) if x else 0.0 for x in (sizes, speeds))
    usual = 0.01 * most / fastest if most > 1e-5 and fastest > 1e-5 and math.isfinite(most / fastest) else 1e-6
    return min(usual, span)
