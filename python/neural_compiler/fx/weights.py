"""What becomes part of the code that uses it. In: a graph; out: which regions are written out where they are used."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph, Node, Region
from .room import is_large

PLAIN = frozenset({"param", "const", "proj", "op", "if", "call"})
FAILING = frozenset({"CutAt", "PlaceAt"})
"""Operations that may have no result: a lane that does not take their branch must not run them."""

MULTIPLYING = frozenset({"Product", "Inv", "Solve", "SolveBand", "Det", "Cofactor", "CofactorAlong"})
"""Operations in whose derivatives PyTorch multiplies matrices, which `torch.autocast` does in half precision."""


def may_fail(node: Node) -> bool:
    """Whether a node may have no result: an index may be out of range, a value too large."""
    return node.about.get("op") in FAILING or (node.kind == "op" and is_large(node))


LARGEST = 20_000
"""Nodes a branch or function may bring into the code that uses it; larger ones are called."""


class Weights:
    """How many nodes each region is with all it runs, if those are operations that cannot fail and branches between such; else None.

    `by_lane`: no lane runs the side of a branch it does not take, so branches are called, whatever they hold.
    """

    def __init__(self, graph: Graph, by_lane: bool = False) -> None:
        self.graph = graph
        self.by_lane = by_lane
        self._known: dict[int, int | None] = {}
        for region in graph.children_first():
            self._known[region] = self._sum(graph.regions[region])

    def inlined(self, regions: Sequence[int]) -> bool:
        """Whether these regions are written out where they are used."""
        weights = [self._known[r] for r in regions]
        return all(w is not None and w <= LARGEST for w in weights)

    def both_sides(self, regions: Sequence[int]) -> bool:
        """Whether a branch with these sides is written out, so that every lane runs both."""
        return not self.by_lane and self.inlined(regions)

    def _sum(self, region: Region) -> int | None:
        total = len(region.nodes)
        for node in region.nodes:
            if node.kind not in PLAIN or (self.by_lane and node.kind == "if") or may_fail(node):
                return None
            for child in self.graph.children(node):
                inside = self._known.get(child)  # A region above itself is not known yet: it recurses.
                if inside is None:
                    return None
                total += inside
        return total
