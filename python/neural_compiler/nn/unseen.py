"""What the error estimate of an implicit step does not see. In: a law, a step of some lanes; out: which lanes the step misled.

An implicit step follows the slopes of the law where it begins. Where these are huge there and nowhere else, as that of (sqrt x) at
10^-300, it moves by next to nothing, and so does its error. As the solver of fits does (`overlooks`), the law is asked again where the step
ends: what numbers that moved by less than the tolerance make of it, beside what its slopes make of that. Nothing here has derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .gate import seen
from .steppers import Field, States, over

_ROUNDED = 1e3
"""A change of a number, as a share of it and in roundings of its type, that is rounding."""
_UNLIKE = 0.5
"""The share of what a slope makes of a change by which the law may differ from it before the slope says nothing of the change."""

_vjp: Any = torch.func.vjp


@torch.no_grad()
def overlooked(
    law: Field, allowed: Callable[[Tensor, Tensor], Tensor], t: Tensor, y: States, after: States, h: Tensor, pick: Any, refusal: str
) -> Any:
    """Whether a step of this length moved numbers by less than is `allowed` along slopes that are not those of the law there, though the
    law moves them by more: for each element of the states' first axis, or one answer for all."""
    y, after, h = [v.detach() for v in y], [v.detach() for v in after], h.detach()
    moved, most = [(b - a) for a, b in zip(y, after)], [allowed(a, b) for a, b in zip(y, after)]

    def by_lane(found: list[Tensor]) -> Any:
        rows = [seen(f.reshape(f.shape[: h.dim()] + (-1,)), refusal).any(-1) for f in found]
        return rows[0] if len(rows) == 1 else np.logical_or.reduce(rows)

    slight = [m.abs() <= e for m, e in zip(moved, most)]
    if not any(bool(s.any()) for s in slight):
        return np.False_  # Often so, and cheap to see.
    slight = [
        s & (m.abs() > _ROUNDED * torch.finfo(m.dtype).eps * torch.maximum(a.abs(), b.abs())) for s, m, a, b in zip(slight, moved, y, after)
    ]
    if not (none := by_lane(slight)).any():
        return none
    # These numbers alone go back: what time and the other states change is none of their slopes' matter.
    back = [torch.where(s, a, b) for s, a, b in zip(slight, y, after)]
    end = t.detach() + h
    there, here = law(end, after, pick), law(end, back, pick)
    sizes = [over(h, m).abs() for m in moved]
    far = [s & (k * torch.maximum(f.abs(), g.abs()) > e) for s, k, f, g, e in zip(slight, sizes, there, here, most)]
    if not (none := by_lane(far)).any():
        return none
    linear = _along(lambda x: law(end, x, pick), back, [torch.where(s, m, 0.0) for s, m in zip(slight, moved)])
    apart = [(f - g - p).abs() for f, g, p in zip(there, here, linear)]
    return by_lane(
        [s & (~torch.isfinite(p) | (d > _UNLIKE * p.abs()) & (k * d > e)) for s, d, p, k, e in zip(far, apart, linear, sizes, most)]
    )


def _along(law: Callable[[States], States], at: States, direction: States) -> States:
    """The derivative of a law along a direction, by reverse mode twice, which every function has that an implicit step takes."""
    slopes, pull = _vjp(lambda *x: tuple(law(list(x))), *at)
    _, push = _vjp(lambda *w: pull(w), *map(torch.zeros_like, slopes))
    return list(push(tuple(direction)))
