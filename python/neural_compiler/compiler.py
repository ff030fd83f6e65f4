"""The paper's entry points: `compile_scheme` to a graph for `neural_compiler.evaluator`, and `run_scheme`.

Code written for the paper's release runs unchanged; docs/differences-from-the-paper.md says where a program means something else here.
New code wants `neural_compiler.compile_scheme`, which gives an `nn.Module` at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from .nn import CompiledModule
from .nn import compile_scheme as compile_module
from .program import Program, compile


@dataclass(frozen=True)
class GraphNode:
    """A node of the graph."""

    node_id: int
    name: str
    op_type: str
    """`const`, `input`, `if`, `loop`, `call`, or an operation of the language."""
    value: float | None
    input_edges: tuple[int, ...]


class ComputeGraph:
    """A compiled program: what `DirectModule` and `evaluate` take."""

    def __init__(self, module: CompiledModule) -> None:
        self.module = module
        """The program as a module of this package."""

    @property
    def source(self) -> str:
        """The text."""
        return self.module.source

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, in order."""
        return [i.name for i in self.module.inputs]

    @cached_property
    def on_numbers(self) -> Program:
        """The program on NumPy arrays and Python numbers, which it computes with in 64 bits."""
        return compile(self.source, inputs=self.input_names)

    @cached_property
    def nodes(self) -> dict[int, GraphNode]:
        """The nodes of the program itself, those inside branches, loops and functions left out; equal ones are one node."""
        main = self._data["regions"][self._data["main"]]["nodes"]
        return {k: _node(k, n, self.input_names) for k, n in enumerate(main) if n["kind"] != "proj"}

    @property
    def has_loops(self) -> bool:
        """Whether anything runs in rounds."""
        return "loop" in self._kinds

    @property
    def has_functions(self) -> bool:
        """Whether there are functions that are called, recursive ones among them."""
        return "call" in self._kinds

    def depth(self) -> int:
        """Operations on the longest way from an input to the result."""
        depths: list[int] = []
        deepest = 0
        main = self._data["regions"][self._data["main"]]
        for node in main["nodes"]:
            below = max((depths[a] for a in node["args"]), default=-1)
            depths.append(below if node["kind"] == "proj" else below + 1)
        for result in main["results"]:
            deepest = max(deepest, depths[result])
        return deepest

    @cached_property
    def _data(self) -> dict[str, Any]:
        return self.module.graph.to_dict()

    @cached_property
    def _kinds(self) -> set[str]:
        return {n["kind"] for region in self._data["regions"] for n in region["nodes"]}

    def __repr__(self) -> str:
        return f"ComputeGraph({self.source!r}, inputs={self.input_names})"


def _node(at: int, node: dict[str, Any], inputs: list[str]) -> GraphNode:
    kind = {"op": node.get("name"), "param": "input"}.get(node["kind"], node["kind"])
    value = float(node["value"]) if kind == "const" else None
    return GraphNode(at, inputs[node["index"]] if kind == "input" else f"t{at}", str(kind), value, tuple(node["args"]))


def compile_scheme(source: str, inputs: Mapping[str, Any] | Iterable[str] | None = None) -> ComputeGraph:
    """Compiles a program whose inputs have these names; their shapes follow from the program and from what is given in a call.

    >>> graph = compile_scheme("(+ (* 3 x) (- y 1))", inputs={"x": None, "y": None})
    >>> graph.input_names, graph.has_loops
    (['x', 'y'], False)
    """
    return ComputeGraph(compile_module(source, inputs=list(inputs or ())))


def run_scheme(source: str, inputs: Mapping[str, Any] | None = None) -> float | Tensor:
    """Compiles a program and evaluates it: a number, or a tensor for a vector or matrix.

    >>> run_scheme("(+ (* 3 x) (- y 1))", {"x": 4.0, "y": 7.0})
    18.0
    """
    from .evaluator import evaluate

    return evaluate(compile_scheme(source, inputs), inputs)


__all__ = ["ComputeGraph", "GraphNode", "compile_scheme", "run_scheme"]
