"""`DirectModule`: a graph as an `nn.Module` called with a dict. In: tensors by name; out: the program's value, and on request every
value on the way."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from ..compiler import ComputeGraph
from ..fx import lower
from ..fx.control import Limits
from ..nn.gate import autocast
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
        self.max_iter, self.max_depth = max_iter, max_depth

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
        data = self.program.graph_for(**self._shapes(tensors)).to_dict()
        main = data["regions"][data["main"]]
        values = [k for k, n in enumerate(main["nodes"]) if n["type"] == "value"]
        # The same program with all its values as results.
        code = lower({**data, "regions": _with_results(data, values), "result_axes": [main["nodes"][k]["shape"] for k in values]})
        with _uncast(tensors):
            found = code(*tensors)
        columns = [_over(v, size, len(main["nodes"][k]["shape"])).reshape(size, -1) for k, v in zip(values, found)]
        result = found[values.index(main["results"][0])]
        return _over(result, size, len(main["nodes"][main["results"][0]]["shape"])), torch.cat(columns, 1)

    def freeze(self) -> DirectModule:
        """Lets nothing train; the structure never does."""
        self.requires_grad_(False)
        return self.eval()

    def extra_repr(self) -> str:
        """The text."""
        return repr(self.graph.source)

    def _run(self, inputs: Mapping[str, Any], dtype: torch.dtype | None) -> Tensor:
        tensors = self._tensors(inputs, dtype)
        if self.max_iter is None and self.max_depth is None:
            result: Tensor = self.program(*tensors)
            return result
        limits = Limits()
        limits.iterations, limits.depth = self.max_iter or limits.iterations, self.max_depth or limits.depth
        code = lower(self.program.graph_for(**self._shapes(tensors)).to_dict(), limits, dtype)
        with _uncast(tensors):
            (result,) = code(*tensors)
        return result

    def _tensors(self, inputs: Mapping[str, Any], dtype: torch.dtype | None) -> list[Tensor]:
        """The tensors of the program's inputs, of one type: that of the tensors given, float64 for whole numbers of 32 and 64 bits, which
        float32 would round, else the default."""
        missing = [n for n in self.graph.input_names if n not in inputs]
        if missing:
            raise KeyError(f"missing input{'s' if len(missing) > 1 else ''}: {', '.join(missing)}")
        values = [joined(n, inputs[n]) for n in self.graph.input_names]
        device = next((v.device for v in values if isinstance(v, Tensor)), None)
        tensors = [as_tensor(n, v) for n, v in zip(self.graph.input_names, values)]
        decides = [common_type([n], [v], [t]) for n, v, t in zip(self.graph.input_names, values, tensors) if _decides(v)]
        common = dtype or (reduce(torch.promote_types, decides) if decides else common_type(self.graph.input_names, values, tensors))
        for name, value, tensor in zip(self.graph.input_names, values, tensors):
            refuse_rounding(name, value, tensor)
        return [t.to(device, common) for t in tensors]

    def _shapes(self, tensors: list[Tensor]) -> dict[str, tuple[int, ...]]:
        return {i.name: tuple(t.shape[t.dim() - i.rank :]) for i, t in zip(self.program.inputs, tensors)}


def _decides(value: Any) -> bool:
    """Whether a value is a tensor whose type decides: one of fractions, or of whole numbers that float32 may round."""
    return isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.itemsize >= 4)


def _uncast(tensors: list[Tensor]) -> contextlib.AbstractContextManager[Any]:
    """Whatever `torch.autocast` says, programs compute in the type they have."""
    return torch.autocast(tensors[0].device.type, enabled=False) if autocast() and tensors else contextlib.nullcontext()


def _batch(what: str, inputs: Mapping[str, Tensor]) -> int:
    if not inputs:
        raise ValueError(f"{what} requires at least one input")
    return max((t.shape[0] for t in inputs.values() if isinstance(t, Tensor) and t.dim()), default=1)


def _over(value: Tensor, size: int, rank: int) -> Tensor:
    """A value for every element of a batch; `rank` axes of it are its own."""
    return value if value.dim() > rank else value.expand(size, *value.shape)


def _with_results(data: dict[str, Any], values: list[int]) -> list[dict[str, Any]]:
    return [{**r, "results": values} if k == data["main"] else r for k, r in enumerate(data["regions"])]
