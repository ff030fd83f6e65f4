"""The graph of a program as typed data. In: the dict of `Program.graph_json()`; out: regions and nodes. Nothing else reads the dict."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Shape = tuple[int, ...]
Type = Shape | Literal["record", "many"]
"""The shape of a value; a record stores values for a derivative; a node with several results is taken apart by `proj` nodes."""


@dataclass(frozen=True)
class Node:
    """One value of a region."""

    kind: str
    args: tuple[int, ...]
    type: Type
    span: tuple[int, int]
    about: Mapping[str, Any]
    """What only this kind has: `op` and `attr`, `index`, `yes` and `no`, `body`, `carried`, `taped`, `region`."""

    @property
    def shape(self) -> Shape:
        """The shape of a value, which this must be."""
        assert not isinstance(self.type, str), f"a {self.type} has no shape"
        return self.type

    @property
    def constant(self) -> float:
        """The value of a constant."""
        number: float = struct.unpack("<d", struct.pack("<Q", self.about["bits"]))[0]
        return number


@dataclass(frozen=True)
class Region:
    """A closed piece of program: it sees nothing but its parameters."""

    name: str
    params: tuple[Type, ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]

    @cached_property
    def result_types(self) -> tuple[Type, ...]:
        """What it gives."""
        return tuple(self.nodes[r].type for r in self.results)


@dataclass(frozen=True)
class Graph:
    """A program for given shapes."""

    inputs: tuple[tuple[str, Shape], ...]
    regions: tuple[Region, ...]
    main: int
    axes: tuple[Shape, ...]
    """Sizes of the results as users see them; a Jacobian may have more axes than a value of the language."""
    source: str

    def children(self, node: Node) -> tuple[int, ...]:
        """The regions a node runs."""
        match node.kind:
            case "if":
                return node.about["yes"], node.about["no"]
            case "loop" | "back":
                return (node.about["body"],)
            case "call":
                return (node.about["region"],)
            case "root":
                return node.about["region"], node.about["zero"], node.about["slope"]
            case _:
                return ()

    def children_first(self) -> list[int]:
        """The regions the program reaches, each behind those it runs, except where one reaches itself."""
        order: list[int] = []
        seen = {self.main}
        stack = [(self.main, iter(self._runs(self.main)))]
        while stack:
            region, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                order.append(region)
                stack.pop()
            elif child not in seen:
                seen.add(child)
                stack.append((child, iter(self._runs(child))))
        return order

    def _runs(self, region: int) -> list[int]:
        return [child for node in self.regions[region].nodes for child in self.children(node)]

    def results_of(self, node: Node) -> tuple[Type, ...]:
        """What a node with several results gives."""
        match node.kind:
            case "if" | "call" | "back" | "root":
                return self.regions[self.children(node)[0]].result_types
            case "loop":
                results = self.regions[node.about["body"]].result_types[1 + node.about["carried"] :]
                return (*results, "record") if node.about["taped"] and results[-1:] != ("record",) else results
            case _:
                raise AssertionError(f"a {node.kind} has one result")


def _type(found: Mapping[str, Any]) -> Type:
    return tuple(found["shape"]) if found["type"] == "value" else found["type"]


_SHARED = {"id", "kind", "args", "shape", "type", "span", "text"}


def _node(found: Mapping[str, Any]) -> Node:
    about = {k: v for k, v in found.items() if k not in _SHARED}
    return Node(found["kind"], tuple(found["args"]), _type(found), tuple(found["span"]), about)


def _region(found: Mapping[str, Any]) -> Region:
    return Region(found["name"], tuple(map(_type, found["params"])), tuple(map(_node, found["nodes"])), tuple(found["results"]))


def read(found: Mapping[str, Any]) -> Graph:
    """Reads a graph."""
    inputs = tuple((i["name"], tuple(i["shape"])) for i in found["inputs"])
    axes = tuple(map(tuple, found["result_axes"]))
    return Graph(inputs, tuple(map(_region, found["regions"])), found["main"], axes, found.get("source", ""))
