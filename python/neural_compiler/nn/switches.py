"""Conditions on time inside a law. In: the graph of a right-hand side, the names of the time and of the states; out: where it changes its
form at a time, and what moves that time.

A condition is an operation whose derivative the table gives as 0 (a comparison, `floor`, …) and whose arguments depend on the time and on
no state, followed through choices, loops and calls; the result of a recursion is taken to depend on all its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from ..fx.graph import Graph, Node
from ..operations import operations

Names: TypeAlias = "frozenset[Any]"
"""Inputs by name, or parameters of a region by number."""
Reached: TypeAlias = "Names | list[Names]"
"""What a value depends on, or each of several results."""


@dataclass(frozen=True)
class Switch:
    """A condition on time."""

    text: str
    """As the program has it."""
    moved_by: tuple[str, ...]
    """Inputs the time of the change depends on."""


@cache
def _flat() -> frozenset[str]:
    """Operations whose derivative is 0."""
    return frozenset(o.op for o in operations() if o.derivative == "0")


def switches(graph: Graph, time: str, states: frozenset[str]) -> tuple[Switch, ...]:
    """The conditions on time of a law, in the order of the program."""
    reach = _Reach(graph)
    names = [name for name, _ in graph.inputs]
    found: dict[tuple[tuple[int, int], Switch], None] = {}
    seen: set[tuple[int, tuple[Names, ...]]] = set()
    waiting = [(graph.main, tuple(frozenset([n]) for n in names))]
    while waiting:
        region, params = waiting.pop()
        if (region, params) in seen:
            continue
        seen.add((region, params))
        values = reach.values(region, params)
        for node, reached in zip(graph.regions[region].nodes, values):
            args = [_all(values[a]) for a in node.args]
            met = _all(reached)
            if node.kind == "op" and node.about["op"] in _flat() and time in met and met.isdisjoint(states):
                text = graph.source.encode()[slice(*node.span)].decode()
                found[node.span, Switch(text, tuple(n for n in names if n in met and n != time))] = None
            waiting.extend((child, tuple(reach.given(node, args))) for child in graph.children(node))
    return tuple(switch for _, switch in sorted(found, key=lambda f: f[0]))


def _all(reached: Reached) -> Names:
    return reached if isinstance(reached, frozenset) else frozenset[Any]().union(*reached)


class _Reach:
    """What the values of regions depend on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.results: dict[int, list[Names]] = {}
        """Parameters each result of a region depends on, where that is known."""
        for region in graph.children_first():
            values = self.values(region, [frozenset([k]) for k in range(len(graph.regions[region].params))])
            self.results[region] = [_all(values[r]) for r in graph.regions[region].results]

    def values(self, region: int, params: Sequence[Names]) -> list[Reached]:
        """Of each node, or of each of its results."""
        found: list[Reached] = []
        for node in self.graph.regions[region].nodes:
            if node.kind == "param":
                found.append(params[node.about["index"]])
            elif node.kind == "proj":
                whole = found[node.args[0]]
                found.append(whole if isinstance(whole, frozenset) else whole[node.about["index"]])
            else:
                found.append(self._node(node, [_all(found[a]) for a in node.args]))
        return found

    def given(self, node: Node, args: list[Names]) -> list[Names]:
        """What the parameters of the regions a node runs depend on."""
        if node.kind == "if":
            return args[1:]
        results = self._known(node)
        if node.kind != "loop" or results is None:
            return args if node.kind == "call" else [_all(args) for _ in self.graph.regions[self.graph.children(node)[0]].params]
        # What is carried into the next round adds to what it depends on, until nothing is added.
        now = list(args)
        while True:
            following = [now[k] | _through(results[0][1 + k], now) if k < node.about["carried"] else now[k] for k in range(len(now))]
            if following == now:
                return now
            now = following

    def _known(self, node: Node) -> list[list[Names]] | None:
        """The results of the regions a node runs, unless it records or a region reaches itself."""
        children = self.graph.children(node)
        plain = node.kind in ("if", "call") or (node.kind == "loop" and not node.about["taped"])
        return [self.results[c] for c in children] if plain and all(c in self.results for c in children) else None

    def _node(self, node: Node, args: list[Names]) -> Reached:
        results = self._known(node) if self.graph.children(node) else None
        if results is None:
            return _all(args)
        params = self.given(node, args)
        if node.kind == "loop":
            often, *behind = results[0]
            return [_through(often | r, params) for r in behind[node.about["carried"] :]]
        decided = args[0] if node.kind == "if" else frozenset()
        return [decided.union(*(_through(r, params) for r in each)) for each in zip(*results)]


def _through(params: Names, given: list[Names]) -> Names:
    return frozenset[Any]().union(*(given[p] for p in params))
