"""Branches, loops and calls that look at the numbers: modules that torch code calls. In: tensors with leading batch sizes; out: results.

A control module knows the names of the regions it runs; `machine` runs them. All control modules of a program share one `Regions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from .graph import Shape, Type
from .lanes import Lanes, Value


@dataclass
class Limits:
    """How long a run may be; each is an `EvaluationError` when it is met."""

    iterations: int = 50_000_000
    """Rounds of any one loop."""
    depth: int = 10_000
    """Calls within calls."""
    steps: int = 50_000_000
    """Loop rounds and calls of a whole run, those of different lanes counted once where they run together."""

    @classmethod
    def of(cls, iterations: int | None, depth: int | None) -> Limits:
        """The usual ones but for those given."""
        return cls(cls.iterations if iterations is None else iterations, cls.depth if depth is None else depth)


@dataclass
class Regions:
    """The code of every region that control modules run, by name."""

    source: str
    limits: Limits
    code: dict[str, torch.fx.GraphModule] = field(default_factory=dict)


class Control(torch.nn.Module):
    """A node of the graph that runs regions."""

    def __init__(
        self, kind: str, regions: Regions, runs: tuple[str, ...], types: tuple[Type, ...], results: tuple[Type, ...], **about: Any
    ) -> None:
        super().__init__()
        self.kind, self.runs, self.types, self.results = kind, runs, types, results
        self.about: Mapping[str, Any] = about
        self.span: tuple[int, int] = about["span"]
        self.regions = regions
        """Its own region and those it runs may contain it: kept outside torch's tree of modules."""

    def extra_repr(self) -> str:
        """What it runs."""
        return ", ".join((self.kind, *self.runs))

    @torch.compiler.disable(reason="a loop or recursion whose length depends on the numbers")  # type: ignore[untyped-decorator]
    def forward(self, like: torch.Tensor, *args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Runs it for every element of a batch. `like` has the type and device of the program."""
        from .machine import Machine

        batch = torch.broadcast_shapes(*(a.shape[: a.ndim - _rank(t)] for a, t in zip(args, self.types)))
        shapes = [batch + _shape(t) for t in self.results]
        if like.is_meta or 0 in batch:
            return tuple(_of(args, like.new_zeros(s)) for s in shapes)
        lanes = Lanes(batch.numel() if batch else None)
        flat: list[Value] = [_flat(a, batch, _rank(t)) for a, t in zip(args, self.types)]
        found = Machine(self.regions, like.new_empty(())).run(self, lanes, flat)
        full: Any = (lanes.full(r, t) for r, t in zip(found, self.results))
        return tuple(_of(args, r.reshape(s)) for r, s in zip(full, shapes))


def _of(args: tuple[torch.Tensor, ...], result: torch.Tensor) -> torch.Tensor:
    """The result as a function of the arguments, with derivatives of every order, also where the lanes that ran (or none) met none of
    them: what comes out has a derivative or not whatever the numbers are."""
    varying = [] if result.requires_grad else [a for a in args if a.requires_grad]
    if not varying or not torch.is_grad_enabled():
        return result
    return torch.cat([result.reshape(-1), *(a.reshape(-1)[:0].exp() for a in varying)]).reshape(result.shape)


def _shape(kind: Type) -> Shape:
    assert not isinstance(kind, str), "a record does not leave its program"
    return kind


def _rank(kind: Type) -> int:
    return len(_shape(kind))


def _flat(value: torch.Tensor, batch: torch.Size, rank: int) -> torch.Tensor:
    """A value with one axis of lanes, or none where it is the same for all."""
    if value.ndim == rank:
        return value
    core = value.shape[value.ndim - rank :]
    return value.expand(batch + core).reshape(-1, *core)
