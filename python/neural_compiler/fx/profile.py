"""Finds the Voigt profile in a region. In: a region and one of its nodes; out: the nodes of what it is of, or nothing.

The compiler makes `voigt` of w(x/width, gamma/width)/(width sqrt(pi)), whose derivative by the width is a small difference of large numbers
where the width is small: as one function it has its digits.
"""

from __future__ import annotations

from .faddeeva import ROOT_OF_PI
from .graph import Node, Region


def voigt_parts(region: Region, node: Node) -> tuple[int, int, int] | None:
    """x, width and gamma, if the node is a profile whose width is no constant."""

    def made_by(op: str, at: int) -> tuple[int, ...]:
        found = region.nodes[at]
        return found.args if found.kind == "op" and found.about["op"] == op else ()

    if node.about["op"] != "Div":
        return None
    match made_by("FaddeevaRe", node.args[0]), made_by("Mul", node.args[1]):
        case (place, height), (width, factor) if _is_root_of_pi(region.nodes[factor]) and region.nodes[width].kind != "const":
            match made_by("Div", place), made_by("Div", height):
                case (x, first), (gamma, second) if first == second == width:
                    return x, width, gamma
    return None


def _is_root_of_pi(node: Node) -> bool:
    return node.kind == "const" and node.constant == ROOT_OF_PI
