"""Which lanes of a batch run. In: values with one axis of lanes in front (or none: the same for all lanes); out: parts of them.

A branch sees only the lanes that take it, a loop only those that go on: they are gathered, run, and put back. What the other lanes
would have computed never exists, in the value as in the derivative, and no operation meets a number it was guarded against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch

from .graph import Shape, Type
from .records import Record

Tensor = torch.Tensor
Value = Tensor | Record


@dataclass(frozen=True)
class Lanes:
    """The lanes that run: how many (None: one run without an axis of lanes), and where each stands in the whole batch."""

    count: int | None
    ids: Tensor | None = None

    def part(self, index: Tensor) -> Lanes:
        """Some of them."""
        return Lanes(index.shape[0], index if self.ids is None else self.ids[index])

    def whole_batch(self, lane: int | None) -> int | None:
        """Where one of them stands."""
        return lane if lane is None or self.ids is None else int(self.ids[lane])

    def split(self, test: Tensor) -> bool | tuple[Tensor, Tensor]:
        """The lanes where the test holds and those where not; True or False where they agree."""
        mask = test if test.dtype == torch.bool else test != 0
        if mask.ndim == 0:
            return bool(mask)
        holding = int(mask.sum())
        if holding in (0, mask.shape[0]):
            return holding > 0
        return mask.nonzero()[:, 0], (~mask).nonzero()[:, 0]

    def full(self, value: Value, kind: Type) -> Value:
        """A value with an axis of lanes, if lanes there are."""
        if self.count is None or isinstance(value, Record) or value.ndim > len(cast(Shape, kind)):
            return value
        return value.expand(self.count, *value.shape)


def take(value: Value, kind: Type, index: Tensor) -> Value:
    """A value for some of its lanes."""
    if isinstance(value, Record):
        return value.take(index)
    return value if value.ndim == len(cast(Shape, kind)) else value.index_select(0, index)
