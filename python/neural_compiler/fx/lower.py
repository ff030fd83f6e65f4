"""The whole lowering. In: the graph of a program as data; out: a `GraphModule` whose code is plain torch."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

import torch
import torch.fx

from .control import Control, Limits, Regions
from .emit import Emitter
from .graph import Graph, Node, Region, Type, read
from .leaf import leaf
from .operations import flat
from .reach import Reach
from .weights import Weights


def lower(
    graph: Mapping[str, Any], limits: Limits | None = None, dtype: torch.dtype | None = None, *, by_lane: bool = False
) -> torch.fx.GraphModule:
    """A program as torch operations.

    `graph` is what `Program.graph_json()` gives. The module takes one tensor per input, in order, all of one floating-point type and on
    one device, each with any leading batch sizes that broadcast, and gives a tuple with a tensor per result. A program without inputs
    has the type `dtype`, torch's default if left out. Results are contiguous and lie in memory of their own.

    A short branch runs both its sides and chooses; with `by_lane`, each element of the batch runs only the side it takes, so that not even
    an intermediate gradient is NaN where the program guards against it (`torch.autograd.detect_anomaly` looks at those).

    >>> import neural_compiler as nc, torch
    >>> module = lower(nc.compile("(if (> x 0) (log x) x)").graph_json())
    >>> print(module.code.strip())
    def forward(self, x):
        gt = x > 0.0
        detach = x.detach()
        where = torch.where(gt, x, detach);  detach = None
        log = torch.log(where);  where = None
        where_1 = torch.where(gt, log, x);  gt = log = x = None
        contiguous = where_1.contiguous();  where_1 = None
        return (contiguous,)
    >>> module(torch.tensor([1.0, -1.0]))
    (tensor([ 0., -1.]),)
    """
    return _Lowering(read(graph), limits or Limits(), dtype, by_lane).program()


def source_text(module: torch.fx.GraphModule) -> str:
    """The torch code of a lowered program, that of its loops and functions included."""
    parts = [module.code.strip()]
    seen: set[str] = set()
    for control in (m for m in module.modules() if isinstance(m, Control)):
        for name, code in control.regions.code.items():
            if name not in seen:
                seen.add(name)
                parts.append(f"# region {name}\n{code.code.strip()}")
    return "\n\n".join(parts) + "\n"


class _Lowering:
    def __init__(self, graph: Graph, limits: Limits, dtype: torch.dtype | None, by_lane: bool) -> None:
        self.graph, self.dtype = graph, dtype
        self.weights = Weights(graph, by_lane)
        self.regions = Regions(graph.source, limits)
        self.wanted: list[tuple[int, str]] = []
        """Regions that something calls, and the kind of what calls them."""

    def program(self) -> torch.fx.GraphModule:
        """The main region as code of its own, and the code of all it calls."""
        module = self._main()
        while self.wanted:
            self._write(*self.wanted.pop())
        return module

    def _main(self) -> torch.fx.GraphModule:
        main = self.graph.regions[self.graph.main]
        emitter = Emitter(self.graph, self.weights, self.control)
        inputs = [emitter.placeholder(_identifier(name)) for name, _ in self.graph.inputs]
        emitter.anchor = inputs[0] if inputs else emitter.tracer.create_proxy("call_function", torch.zeros, ((),), {"dtype": self.dtype})
        if any("record" in self.graph.results_of(n) if n.type == "many" else n.type == "record" for n in main.nodes):
            # Records live in lanes: the whole program runs on the machine.
            call = Node("call", (), "many", (0, 0), {"region": self.graph.main})
            types = tuple(shape for _, shape in self.graph.inputs)
            emitter.owned.add_module("program", self._control(call, types))
            whole: Any = emitter.tracer.create_proxy("call_module", "program", (emitter.anchor, *inputs), {})
            return emitter.finish(_own(self._shaped([whole[i] for i in range(len(main.results))])), "Program")
        found = [emitter.tensor(r) for r in emitter.emit(main, inputs)]
        ranks = tuple(len(shape) for _, shape in self.graph.inputs)
        for k, (result, reached) in enumerate(zip(main.results, Reach(self.graph, self.weights).results(self.graph.main))):
            if len(reached) < len(inputs):
                found[k] = over_batch(found[k], len(main.nodes[result].shape), ranks, *inputs)
        return emitter.finish(_own(self._shaped(found)), "Program")

    def _shaped(self, results: list[Any]) -> list[Any]:
        """The results with the axes users see."""
        types = self.graph.regions[self.graph.main].result_types
        each: Any = zip(results, self.graph.axes, types)
        return [r if axes == t else flat(r, t).unflatten(-1, axes) for r, axes, t in each]

    def control(self, region: Region, node: Node) -> Control:
        """The module of a node that runs regions."""
        return self._control(node, tuple(region.nodes[a].type for a in node.args))

    def _control(self, node: Node, types: tuple[Type, ...]) -> Control:
        children = self.graph.children(node)
        about = {k: node.about[k] for k in ("carried", "taped", "index", "starts") if k in node.about}
        if node.kind == "loop":
            about["stores_record"] = self.graph.regions[children[0]].result_types[-1] == "record"
        if node.kind == "call":
            about["name"] = self.graph.regions[children[0]].name
        results = self.graph.results_of(node) if node.type == "many" else (node.type,)
        runs = tuple(self._name(child) for child in children)
        for child, name in zip(children, runs):
            if name not in self.regions.code:
                self.regions.code[name] = torch.fx.GraphModule({}, torch.fx.Graph())  # To be written.
                self.wanted.append((child, node.kind))
        return Control(node.kind, self.regions, runs, types, results, span=node.span, **about)

    def _name(self, region: int) -> str:
        return f"{self.graph.regions[region].name}#{region}"

    def _write(self, index: int, used_by: str) -> None:
        """The code of a region."""
        region = self.graph.regions[index]
        emitter = Emitter(self.graph, self.weights, self.control)
        emitter.anchor = emitter.placeholder("like")
        params = [emitter.placeholder(f"p{k}") for k in range(len(region.params))]
        # The test that ends a loop mostly gives the same for all lanes: decided for all together, it costs one side only.
        last = region.nodes[region.results[0]] if used_by == "loop" else None
        results = emitter.emit(region, params, last.args[0] if last is not None and last.kind == "proj" else None)
        self.regions.code[self._name(index)] = emitter.finish([emitter.tensor(r) for r in results], _identifier(region.name))


@leaf
def over_batch(value: torch.Tensor, rank: int, ranks: tuple[int, ...], *inputs: torch.Tensor) -> torch.Tensor:
    """A value that does not depend on every input, for every element of the batch that all inputs make together."""
    batch = torch.broadcast_shapes(*(x.shape[: x.ndim - r] for x, r in zip(inputs, ranks)))
    return value.expand(batch + value.shape[value.ndim - rank :])


_ATEN = {"truediv": "div"}
"""PyTorch's names of Python's operators, where they differ."""


def _own(results: list[Any]) -> list[Any]:
    """The results in memory of their own, in order: what may be a view of an input, or stands twice, is copied."""
    found, seen = [], set()
    for result in results:
        computed = result.node not in seen and _elementwise(result.node)
        found.append(result.contiguous() if computed else result.clone(memory_format=torch.contiguous_format))
        seen.add(result.node)
    return found


def _elementwise(node: torch.fx.Node) -> bool:
    """Whether a node is an operation of PyTorch that computes every element anew."""
    name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
    known = getattr(node.target, "__module__", None) in (None, "_operator", "torch")
    packet = getattr(torch.ops.aten, _ATEN.get(name, name), None) if known and name else None
    return packet is not None and torch.Tag.pointwise in getattr(packet, packet.overloads()[0]).tags


def _identifier(name: str) -> str:
    """A name that torch code can have: no word of Python, and not `self`, which is the module's."""
    kept = f"{name}_" if name == "self" or iskeyword(name) else "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return kept if kept and not kept[0].isdigit() else f"_{kept}"
