"""A region of the graph as torch code. In: a region; out: an FX graph, one node per torch operation, in the order of the region.

A branch whose sides are plain operations becomes two kinds of `where`: one chooses the value; one on what a side is given lets no
derivative of a lane out of the side the lane does not take: 0 times infinity is stopped where it would leave. Other branches, loops
and calls become calls of a module of `control`, which looks at the numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from .deep import Deep, run
from .graph import Graph, Node, Region, Shape
from .leaf import leaf
from .operations import OPERATIONS, Site, aligned
from .room import charged, is_large
from .weights import Weights

LINEAR = frozenset({"Add", "Sub", "Neg"})
"""Operations whose derivative is a finite constant: they need no gate."""

Emitted = Any
"""A proxy, a Python number (a constant), a `Truth`, or several of them."""


class Tracer(torch.fx.proxy.GraphAppendingTracer):
    """Appends nodes and notes the place in the source they come from."""

    span: tuple[int, int] = (0, 0)

    def create_node(self, *args: Any, **kwargs: Any) -> torch.fx.Node:
        """A node."""
        node = super().create_node(*args, **kwargs)
        node.meta["span"] = self.span
        return node


class Emitter:
    """Writes one FX graph."""

    def __init__(self, graph: Graph, weights: Weights, control: Callable[[Region, Node], torch.nn.Module]) -> None:
        self.graph, self.weights, self.control = graph, weights, control
        self.code = torch.fx.Graph()
        self.tracer = Tracer(self.code)
        self.owned = torch.nn.Module()
        """Holds the control modules the code calls."""
        self.anchor: Any = None
        self._constants: dict[str, Any] = {}
        self._calls: Counter[str] = Counter()

    def placeholder(self, name: str) -> torch.fx.Proxy:
        """A parameter of the code."""
        node = self.code.create_node("placeholder", name, name=name)
        node.target = node.name  # Made unique, and no word of Python.
        return torch.fx.Proxy(node, self.tracer)

    def emit(self, region: Region, params: Sequence[Emitted], apart: int | None = None) -> list[Emitted]:
        """Writes a region's operations; gives its results. The branch `apart` is called, not written out."""
        return run(self._region(region, params, apart))

    def _region(self, region: Region, params: Sequence[Emitted], apart: int | None = None) -> Deep:
        values: list[Emitted] = []
        for at, node in enumerate(region.nodes):
            self.tracer.span = node.span
            args = [values[a] for a in node.args]
            match node.kind:
                case "param":
                    value = params[node.about["index"]]
                case "const":
                    value = node.constant
                case "proj":
                    value = args[0][node.about["index"]]
                case "op":
                    value = self.operation(region, node, args)
                case "if" if at != apart and self.weights.both_sides(self.graph.children(node)):
                    value = yield self._branch(region, node, args)
                case "call" if self.weights.inlined(self.graph.children(node)):
                    value = yield self._region(self.graph.regions[node.about["region"]], args)
                case _:
                    value = self.call(region, node, args)
            values.append(value)
        return [values[r] for r in region.results]

    def operation(self, region: Region, node: Node, args: list[Emitted]) -> Emitted:
        """An operation of the table."""
        op = node.about["op"]
        expression = OPERATIONS[op]
        shapes = tuple(region.nodes[a].shape for a in node.args)
        test = [self.truth(args.pop(0))] if op == "Select" else []
        args = [a.number() if isinstance(a, Truth) else a for a in args]
        if not expression.numbers:
            args = [self.tensor(a) for a in args]
        elif all(isinstance(a, float) for a in args):
            args[0] = self.tensor(args[0])
        args = [self.tensor(a) if isinstance(a, float) and _beyond_single(a) else a for a in args]
        args = test + args
        if not expression.elementwise:
            if is_large(node):
                args[0] = charged(args[0], math.prod(node.shape), node.span)
            return expression.build(Site(node.about["attr"], shapes, node.shape, self.anchor, node.span), *args)
        value = expression.build(*(aligned(a, s, node.shape) for a, s in zip(args, shapes)))
        return Truth(value, self.anchor) if expression.truth else value

    def tensor(self, value: Emitted) -> Any:
        """A value as a tensor: constants are made on the program's device, of its type."""
        if isinstance(value, Truth):
            return value.number()
        if not isinstance(value, float):
            return value
        if value.hex() not in self._constants:
            self._constants[value.hex()] = too_large(self.anchor, value) if _beyond_single(value) else self.anchor.new_full((), value)
        return self._constants[value.hex()]

    def truth(self, value: Emitted) -> Any:
        """A value as a torch boolean."""
        return value.truth if isinstance(value, Truth) else self.tensor(value) != 0

    def _branch(self, region: Region, node: Node, args: list[Emitted]) -> Deep:
        """Both sides, and a choice for each result."""
        test = self.truth(args[0])
        shapes = [region.nodes[a].shape for a in node.args[1:]]
        sides = [self.graph.regions[child] for child in self.graph.children(node)]
        found = []
        for side, taken in zip(sides, (True, False)):
            given = [self.gate(test, a, s, taken) for a, s in zip(args[1:], shapes)] if needs_gate(side) else args[1:]
            found.append((yield self._region(side, given)))
        return [self.choice(test, yes, no, kind) for yes, no, kind in zip(*found, sides[0].result_types)]

    def choice(self, test: Any, yes: Emitted, no: Emitted, shape: Any) -> Emitted:
        """One of two values for each lane."""
        if yes is no or (isinstance(yes, float) and isinstance(no, float) and yes.hex() == no.hex()):
            return yes
        yes, no = (v.number() if isinstance(v, Truth) else v for v in (yes, no))
        if isinstance(yes, float) and isinstance(no, float):
            yes, no = self.tensor(yes), self.tensor(no)
        yes, no = (self.tensor(v) if isinstance(v, float) and _beyond_single(v) else v for v in (yes, no))
        return torch.where(aligned(test, (), shape), yes, no)

    def gate(self, test: Any, value: Emitted, shape: Shape, taken: bool) -> Emitted:
        """The value, of which only lanes that take this side have a derivative."""
        if not isinstance(value, torch.fx.Proxy):
            return value
        cut: Any = value.detach()
        return torch.where(aligned(test, (), shape), *((value, cut) if taken else (cut, value)))

    def call(self, region: Region, node: Node, args: list[Emitted]) -> Any:
        """A call of a control module."""
        self._calls[node.kind] += 1
        name = f"{node.kind}_{self._calls[node.kind]}"
        self.owned.add_module(name, self.control(region, node))
        first = [self.truth(args.pop(0))] if node.kind == "if" else []
        found = self.tracer.create_proxy("call_module", name, (self.anchor, *first, *map(self.tensor, args)), {})
        return Results(found) if node.type == "many" else found

    def finish(self, results: Sequence[Any], name: str) -> torch.fx.GraphModule:
        """The code as a module."""
        self.code.output(tuple(r.node for r in results))
        self.code.eliminate_dead_code(lambda n: n.op in ("placeholder", "output", "call_module"))
        self.code.lint()
        return torch.fx.GraphModule(self.owned, self.code, name)


class Truth:
    """A torch boolean that becomes the number 1 or 0 only where the program uses it as one."""

    def __init__(self, truth: Any, anchor: Any) -> None:
        self.truth, self.anchor = truth, anchor
        self._number: Any = None

    def number(self) -> Any:
        """The number."""
        if self._number is None:
            self._number = self.truth.type_as(self.anchor)
        return self._number


class Results:
    """Results of a control module, each taken out once."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self._taken: dict[int, Any] = {}

    def __getitem__(self, i: int) -> Any:
        if i not in self._taken:
            self._taken[i] = self.found[i]
        return self._taken[i]


@leaf
def too_large(like: torch.Tensor, value: float) -> torch.Tensor:
    """A constant that may be beyond the largest number of the program's type, and is infinite then; torch's own are an error."""
    return torch.full((), value, dtype=torch.float64, device=like.device).to(like.dtype)


def _beyond_single(value: float) -> bool:
    return torch.finfo(torch.float32).max < abs(value) < float("inf")


def needs_gate(side: Region) -> bool:
    """Whether 0 may meet an infinite slope on a side of a branch."""
    return any(n.kind in ("if", "call") or (n.kind == "op" and n.about["op"] not in LINEAR) for n in side.nodes)
