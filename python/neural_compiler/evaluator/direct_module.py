"""`DirectModule`: a graph as an `nn.Module` called with a dict. In: tensors by name; out: the program's value, and on request every
value on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..compiler import ComputeGraph
from ..fx import lower
from ..fx.control import Limits
from ..nn.tensors import as_tensor, common_type, joined, refuse_rounding


class DirectModule(nn.Module):
    """A compiled program, frozen: it has no parameters of its own.

    `max_iter` and `max_depth` bound the rounds of a loop and the depth of recursion; left out, the program's own limits hold
    (spec/limits.md) and it runs natively.

    >>> from neural_compiler.compiler import compile_scheme
    >>> model = DirectModule(compile_scheme("(+ (* a b) c)", inputs={"a": None, "b": None, "c": None}))
    >>> model.forward_batch({"a": torch.tensor([3.0, 1.0]), "b": torch.tensor([4.0, 2.0]), "c": torch.tensor([0.5, 0.25])})
    tensor([12.5000,  2.2500])
    """

    def __init__(self, graph: ComputeGraph, max_iter: int | None = None, max_depth: int | None = None) -> None:
        super().__init__()
        if not isinstance(graph, ComputeGraph):
            raise TypeError(f"a graph of neural_compiler.compiler.compile_scheme is expected, not {type(graph).__name__}")
        self.graph = graph
        self.program = graph.module
        self.max_iter, self.max_depth = _limit("max_iter", max_iter), _limit("max_depth", max_depth)
        limits = None if max_iter is None and max_depth is None else (self.max_iter, self.max_depth)
        self._within = self.program if limits is None else self.program._with((), limits)
        self._every = self.program._with((("values", ()),), limits)

    def forward(self, inputs: Mapping[str, Any]) -> Tensor:
        """The value for these inputs; further names are ignored."""
        return self._run(inputs, None)

    def forward_batch(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """The values for a batch: tensors with the batch in front. Recursion runs in batches too."""
        size = _batch("forward_batch", inputs)
        result = self._run(inputs, None)
        return result if self.graph.input_names else result.expand(size, *result.shape)

    def forward_batch_with_intermediates(self, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The values for a batch, and those of every node on the way: a row per element of the batch, a column per number, in the
        order of `graph.nodes`.

        Each node is a value of the program itself; what happens inside a branch, loop or function is seen by its result.
        """
        size = _batch("forward_batch_with_intermediates", inputs)
        tensors = self._tensors(inputs, None)
        shapes = {i.name: tuple(t.shape[t.dim() - i.rank :]) for i, t in zip(self.program.inputs, tensors)}
        data = self.program.graph_for(**shapes).to_dict()
        main = data["regions"][data["main"]]
        values = [k for k, n in enumerate(main["nodes"]) if n["type"] == "value"]
        found = self._every(*tensors)
        found = found if isinstance(found, tuple) else (found,)
        ranks = [len(main["nodes"][k]["shape"]) for k in values]
        columns = [_over(v, size, rank).reshape(size, -1) for v, rank in zip(found, ranks, strict=True)]
        at = values.index(main["results"][0])
        return _over(found[at], size, ranks[at]), torch.cat(columns, 1)

    def freeze(self) -> DirectModule:
        """Lets nothing train; the structure never does."""
        self.requires_grad_(False)
        return self.eval()

    def extra_repr(self) -> str:
        """The text."""
        return repr(self.graph.source)

    def _run(self, inputs: Mapping[str, Any], dtype: torch.dtype | None) -> Tensor:
        tensors = self._tensors(inputs, dtype)
        if not tensors and dtype is not None:
            # Nothing but the caller says what type a constant has.
            result: Tensor = lower(self.program.graph.to_dict(), Limits.of(self.max_iter, self.max_depth), dtype)()[0]
        else:
            result = self._within(*tensors)
        return result

    def _tensors(self, inputs: Mapping[str, Any], dtype: torch.dtype | None) -> list[Tensor]:
        """The tensors of the program's inputs, of one type, by the rules of all calls, and on one device, that of the first tensor."""
        names = self.graph.input_names
        missing = [n for n in names if n not in inputs]
        if missing:
            raise KeyError(f"missing input{'s' if len(missing) > 1 else ''}: {', '.join(missing)}")
        values = [joined(n, inputs[n]) for n in names]
        device = next((v.device for v in values if isinstance(v, Tensor)), None)
        tensors = [as_tensor(n, v) for n, v in zip(names, values)]
        common = common_type(names, values, tensors) if dtype is None else dtype
        for name, value, tensor in zip(names, values, tensors):
            refuse_rounding(name, value, tensor)
        return [t.to(device, common) for t in tensors]


def _limit(name: str, value: int | None) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
        raise ValueError(f"`{name}` is a positive whole number, or None for the program's own limit, not {value!r}")
    return None if value is None else int(value)


def _batch(what: str, inputs: Mapping[str, Tensor]) -> int:
    if not inputs:
        raise ValueError(f"{what} requires at least one input")
    return max((t.shape[0] for t in inputs.values() if isinstance(t, Tensor) and t.dim()), default=1)


def _over(value: Tensor, size: int, rank: int) -> Tensor:
    """A value for every element of a batch; `rank` axes of it are its own."""
    return value if value.dim() > rank else value.expand(size, *value.shape)
