"""Which inputs a result surely takes its batch sizes from. In: a region; out: per result a set of parameters.

Torch code broadcasts by itself, so a result has the sizes of the inputs it is computed from; where an input may have no part in it,
the lowering widens the result to the batch all inputs make together.
"""

from __future__ import annotations

from .graph import Graph, Node
from .weights import Weights

Set = frozenset[int]


class Reach:
    """What each region's results reach."""

    def __init__(self, graph: Graph, weights: Weights) -> None:
        self.graph, self.weights = graph, weights
        self._known: dict[int, tuple[Set, ...]] = {}
        for region in graph.children_first():
            self._known[region] = self._results(region)

    def results(self, region: int) -> tuple[Set, ...]:
        """Per result of a region, the parameters it surely depends on."""
        return self._known[region]

    def _results(self, region: int) -> tuple[Set, ...]:
        found: list[list[Set]] = []
        nodes = self.graph.regions[region].nodes
        for node in nodes:
            found.append(self._node(node, [found[a] for a in node.args]))
        return tuple(found[r][0] for r in self.graph.regions[region].results)

    def _node(self, node: Node, args: list[list[Set]]) -> list[Set]:
        """Per result of a node, the parameters it depends on."""
        children = self.graph.children(node)
        if node.kind == "param":
            return [Set({node.about["index"]})]
        if node.kind == "proj":
            return [args[0][node.about["index"]]]
        firsts = [a[0] if a else Set() for a in args]
        if node.kind == "call" and self.weights.inlined(children):
            return [_through(firsts, r) for r in self.results(children[0])]
        if node.kind == "if" and self.weights.both_sides(children):
            yes, no = (self.graph.regions[c] for c in children)
            pairs = zip(*(self.results(c) for c in children), yes.results, no.results)
            # A result both sides hand through, or a constant, may need no choice and so no test.
            return [
                _through(firsts[1:], y | n) | (firsts[0] if "op" in (yes.nodes[a].kind, no.nodes[b].kind) else Set())
                for y, n, a, b in pairs
            ]
        everything = Set().union(*firsts)
        return [everything] * (len(self.graph.results_of(node)) if node.type == "many" else 1)


def _through(args: list[Set], params: Set) -> Set:
    """What parameters of a region are outside it."""
    return Set().union(*(args[p] for p in params))
