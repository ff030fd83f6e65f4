"""What a forward run stores for its derivative: the tape of a derivative program. In: values of some lanes; out: those of fewer lanes.

Invariant: a record's lanes are numbered as those of the region that holds it; a tensor inside has the same axis of lanes, except that
of its own round or part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

Tensor = torch.Tensor


class Record:
    """Values of a number of lanes."""

    def take(self, index: Tensor) -> Record:
        """The record of some lanes."""
        raise NotImplementedError

    def unpack(self, i: int) -> Any:
        """One of its values."""
        raise TypeError("the record of a loop is walked over, not unpacked")

    def rounds(self) -> list[Round]:
        """The rounds of a loop, first to last."""
        raise TypeError("a record of values has no rounds")


@dataclass(frozen=True)
class Round:
    """What one round of a loop stored, and the lanes that ran it (None: all)."""

    index: Tensor | None
    values: list[Any]


@dataclass(frozen=True)
class Packed(Record):
    """A record of values."""

    values: list[Any]

    def take(self, index: Tensor) -> Record:
        return Packed([take(v, index) for v in self.values])

    def unpack(self, i: int) -> Any:
        return self.values[i]


@dataclass(frozen=True)
class Rounds(Record):
    """The record of a loop."""

    stored: list[Round]

    def take(self, index: Tensor) -> Record:
        return Rounds([r for r in (self._round(r, index) for r in self.stored) if r is not None])

    @staticmethod
    def _round(old: Round, index: Tensor) -> Round | None:
        if old.index is None:
            return Round(None, [take(v, index) for v in old.values])
        kept, inside = found(old.index, index)
        return Round(kept, [take(v, inside) for v in old.values]) if kept.shape[0] else None

    def rounds(self) -> list[Round]:
        return self.stored


@dataclass(frozen=True)
class Mixed(Record):
    """Records of different making, each for some of the lanes: what the two sides of a branch stored."""

    parts: list[tuple[Tensor, Record]]

    def take(self, index: Tensor) -> Record:
        parts = []
        for lanes, record in self.parts:
            kept, inside = found(lanes, index)
            if kept.shape[0] == index.shape[0]:
                return record.take(inside)
            if kept.shape[0]:
                parts.append((kept, record.take(inside)))
        return Mixed(parts)

    def unpack(self, i: int) -> Any:
        return merge([(lanes, record.unpack(i)) for lanes, record in self.parts])

    def rounds(self) -> list[Round]:
        walks = [(lanes, record.rounds()) for lanes, record in self.parts]
        together = []
        for k in range(max(len(w) for _, w in walks)):
            running = [(lanes if w[k].index is None else lanes[w[k].index], w[k].values) for lanes, w in walks if k < len(w)]
            index = torch.cat([lanes for lanes, _ in running])
            order = torch.argsort(index)
            values = [merge([(lanes, values[i]) for lanes, values in running]) for i in range(len(running[0][1]))]
            together.append(Round(index[order], values))
        return together


def take(value: Any, index: Tensor) -> Any:
    """A stored value for some lanes."""
    return value.take(index) if isinstance(value, Record) else value.index_select(0, index)


def found(lanes: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Which of the lanes asked for are among `lanes`: their positions in `index`, and in `lanes`."""
    size = int(torch.maximum(lanes.max(), index.max())) + 1
    places = lanes.new_full((size,), -1)
    places[lanes] = torch.arange(lanes.shape[0], device=lanes.device)
    inside = places[index]
    kept = (inside >= 0).nonzero()[:, 0]
    return kept, inside[kept]


def merge(parts: list[tuple[Tensor, Any]]) -> Any:
    """A value of all lanes, in order, from parts that have an axis of lanes each; every lane is in one part."""
    order = torch.argsort(torch.cat([index for index, _ in parts]))
    if not isinstance(parts[0][1], Record):
        return torch.cat([value for _, value in parts]).index_select(0, order)
    ranks = torch.empty_like(order)
    ranks[order] = torch.arange(order.shape[0], device=order.device)
    pieces = torch.split(ranks, [index.shape[0] for index, _ in parts])
    return Mixed([(piece, record) for piece, (_, record) in zip(pieces, parts)])
