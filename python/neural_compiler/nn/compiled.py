"""A compiled program as PyTorch's side sees it: found by its description, a text, so that it survives pickling, other processes
and exported graphs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TypeAlias

import torch

from .. import _native
from ..signature import Input, read_inputs

Link: TypeAlias = "tuple[str, tuple[int, ...], tuple[int, ...]]"
Chain: TypeAlias = "tuple[Link, ...]"
"""What differentiation asks for on top of a program; see `Program.graph_json`."""
Steps: TypeAlias = "tuple[tuple[str, tuple[int, ...]], ...]"

_exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
if _exchange is not None:
    _native.use_exchange(_exchange, torch.Tensor, torch.nn.Parameter)


def describe(source: str, inputs: Any, params: Sequence[tuple[str, list[int]]], steps: Steps) -> str:
    """The text that stands for a program: equal texts, equal programs."""
    return json.dumps({"source": source, "inputs": inputs, "params": params, "steps": steps})


class Compiled:
    """A program after the derivations the user asked for."""

    def __init__(self, spec: str, core: _native.Core, steps: Steps) -> None:
        self.spec = spec
        self.core = core
        self.steps = steps
        self.inputs: tuple[Input, ...] = read_inputs(core)
        self.names = tuple(i.name for i in self.inputs)
        self._functions: dict[Chain, _native.Function] = {}
        self._backward: dict[tuple[bool, ...], _native.Function] = {}
        self._lowered: dict[Any, Any] = {}
        self.value = self.function()

    def function(self, chain: Chain = ()) -> _native.Function:
        """What runs: the program, or a derivative of it."""
        found = self._functions.get(chain)
        if found is None:
            found = self._functions[chain] = self.core.function(list(self.steps), list(chain))
        return found

    def backward(self, needs: tuple[bool, ...], results: int) -> _native.Function:
        """The pull-back of all results to the inputs that need it, as `ctx.needs_input_grad` says it (two other arguments first)."""
        found = self._backward.get(needs)
        if found is None:
            wrt = tuple(k for k, n in enumerate(needs[2:]) if n)
            found = self._backward[needs] = self.function((("vjp", wrt, tuple(range(results))),))
        return found

    def core_shapes(self, tensors: Sequence[torch.Tensor]) -> list[list[int]]:
        """The shapes of the inputs' own axes, behind those of the batch; an error names the input that has too few."""
        shapes = []
        for i, t in zip(self.inputs, tensors):
            own = t.shape[t.dim() - i.rank :]
            if t.dim() < i.rank or (i.shape is not None and tuple(own) != i.shape):
                raise ValueError(f"the input `{i.name}` is a {i.described} with any leading batch sizes, a tensor of shape {list(t.shape)} was given")
            shapes.append([int(n) for n in own])
        return shapes

    def result_shapes(self, chain: Chain, tensors: Sequence[torch.Tensor]) -> list[tuple[Any, ...]]:
        """The shapes of the results, without running anything."""
        function = self.function(chain)
        shapes = self.core_shapes(tensors)
        batches = []
        for t, axes in zip(tensors, function.input_axes(shapes), strict=True):
            if t.dim() < len(axes) or [int(n) for n in t.shape[t.dim() - len(axes) :]] != axes:
                raise ValueError(f"a tensor of shape {list(t.shape)} was given where the last sizes are {axes}")
            batches.append(t.shape[: t.dim() - len(axes)])
        batch = torch.broadcast_shapes(*batches) if batches else ()
        results: list[tuple[Any, ...]] = []
        for axes, like in zip_longest(function.result_axes(shapes), function.likes):
            single = like is not None and all(n == 1 for n in batches[like])
            results.append(tuple(tensors[like].shape) if single and like is not None else (*batch, *axes))
        return results

    def lowered(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The program as plain torch operations, for the shapes of these tensors."""
        from ..fx import lower

        shapes = self.core_shapes(tensors)
        key = tuple(map(tuple, shapes))
        found = self._lowered.get(key)
        if found is None:
            found = self._lowered[key] = lower(json.loads(self.function().graph_json(shapes)))
        return found


@lru_cache(maxsize=4096)
def find(spec: str) -> Compiled:
    """The program a description stands for; compiled once per process."""
    told = json.loads(spec)
    inputs = None if told["inputs"] is None else [(name, sizes) for name, sizes in told["inputs"]]
    core = _native.Core(told["source"], inputs, [(name, sizes) for name, sizes in told["params"]])
    return Compiled(spec, core, tuple((what, tuple(wrt)) for what, wrt in told["steps"]))


def run(compiled: Compiled, chain: Chain, tensors: tuple[torch.Tensor, ...], check: bool = False) -> Any:
    """Runs natively on CPU tensors of one type, without autograd: a tensor, or a tuple of them for several results."""
    function = compiled.function(chain)
    results = function.torch(tensors, torch.get_num_threads(), check)
    if results is not None:
        return results
    # Tensors the quick exchange does not take: many inputs, lazily negated ones, an older PyTorch.
    double = tensors[0].dtype == torch.float64 if tensors else torch.get_default_dtype() == torch.float64
    arrays = [t.detach().resolve_neg().numpy() for t in tensors]
    listed = [torch.from_numpy(a) for a in function.numpy(arrays, None, double, torch.get_num_threads(), check)]
    return listed[0] if len(listed) == 1 else tuple(listed)
