"""A compiled program as PyTorch's side sees it: found by its description, a text, so that it survives pickling, other processes
and exported graphs."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

import torch

from .. import _native
from ..signature import Input, read_inputs
from .gate import is_compiling

Link: TypeAlias = "tuple[str, tuple[int, ...], tuple[int, ...]]"
Chain: TypeAlias = "tuple[Link, ...]"
"""What differentiation asks for on top of a program; see `Program.graph_json`."""
Steps: TypeAlias = "tuple[tuple[str, tuple[int, ...]], ...]"
Shapes: TypeAlias = "tuple[tuple[int, ...], ...]"
"""Sizes of the inputs' own axes, behind those of the batch."""
LimitsOf: TypeAlias = "tuple[int | None, int | None]"
"""Most rounds of a loop and most calls within calls of torch operations; None: as the program's own, spec/limits.md."""
Ready: TypeAlias = "tuple[_native.Core, tuple[Input, ...]]"
"""A text that is compiled, and its inputs."""

_exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
if _exchange is not None:
    _native.use_exchange(_exchange, torch.Tensor, torch.nn.Parameter)


def describe(
    source: str, inputs: Any, params: Sequence[tuple[str, list[int]]], steps: Steps, backend: str, limits: LimitsOf | None = None
) -> str:
    """The text that stands for a program and how it runs: equal texts, equal programs."""
    told = {"source": source, "inputs": inputs, "params": params, "steps": steps, "torch": backend == "torch"}
    return json.dumps(told if limits is None else {**told, "limits": limits})


class Compiled:
    """A program after the derivations the user asked for."""

    def __init__(self, spec: str, ready: Ready, steps: Steps, on_torch: bool, limits: LimitsOf | None) -> None:
        self.spec = spec
        self.limits = limits
        self.core, self.inputs = ready
        self.steps = steps
        self.on_torch = on_torch
        """Whether it runs as torch operations on the CPU too."""
        self.names = tuple(i.name for i in self.inputs)
        self.called_as: Any = None
        """The class of its modules, once there is one."""
        self._functions: dict[Chain, _native.Function] = {}
        self._lowered: dict[tuple[Chain, Shapes, bool], Lowered] = {}
        self.value = self.function()

    def __reduce__(self) -> Any:
        return find, (self.spec,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self  # Nobody changes a program.

    def function(self, chain: Chain = ()) -> _native.Function:
        """What runs: the program, or a derivative of it."""
        found = self._functions.get(chain)
        if found is None:
            found = self._functions[chain] = self.core.function(list(self.steps), list(chain))
        return found

    def core_shapes(self, tensors: Sequence[torch.Tensor]) -> Shapes:
        """The shapes of the inputs' own axes, behind those of the batch; an error names the input that has too few."""
        shapes: list[tuple[int, ...]] = []
        for i, t in zip(self.inputs, tensors):
            own = t.shape[t.dim() - i.rank :]
            if t.dim() < i.rank or (i.shape is not None and tuple(own) != i.shape):
                raise ValueError(
                    f"the input `{i.name}` is a {i.described} with any leading batch sizes, an array of shape {list(t.shape)} was given"
                )
            if 0 in own:
                raise ValueError(
                    f"the input `{i.name}` has a length of 0, shape {list(t.shape)}: vectors and matrices have a number at least"
                )
            # Dynamo knows no `int` of a size that may change, but counts: then the size is one of what is compiled.
            shapes.append(tuple([len(range(n)) if is_compiling() else int(n) for n in own]))
        return tuple(shapes)

    def batch(self, tensors: Sequence[torch.Tensor], shapes: Shapes) -> tuple[int, ...]:
        """The batch sizes the inputs make together; an error names them when they do not fit."""
        batches = [t.shape[: t.dim() - len(s)] for t, s in zip(tensors, shapes)]
        try:
            return tuple(torch.broadcast_shapes(*batches)) if batches else ()
        except RuntimeError as error:
            listed = ", ".join(f"`{n}` {list(b)}" for n, b in zip(self.names, batches))
            raise ValueError(f"the batch sizes of the inputs do not fit together: {listed}") from error

    def result_shapes(self, chain: Chain, tensors: Sequence[torch.Tensor]) -> list[tuple[Any, ...]]:
        """The shapes of the results, without running anything."""
        function = self.function(chain)
        shapes = [list(s) for s in self.core_shapes(tensors)]
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

    def lowered(self, chain: Chain, shapes: Shapes, by_lane: bool = False) -> Lowered:
        """The program, or a derivative of it, as plain torch operations, for these shapes of the program's inputs; see `fx.lower`."""
        found = self._lowered.pop((chain, shapes, by_lane), None)
        if found is None:
            found = Lowered(json.loads(self.function(chain).graph_json([list(s) for s in shapes])), by_lane, self.limits)
        self._lowered[chain, shapes, by_lane] = found
        if len(self._lowered) > _MOST_SHAPES:
            self._lowered.pop(next(iter(self._lowered)), None)
        return found


class Lowered:
    """Torch operations in place of a program."""

    def __init__(self, graph: dict[str, Any], by_lane: bool, limits: LimitsOf | None) -> None:
        from ..fx import Control, lower
        from ..fx.control import Limits
        from ..fx.graph import read
        from ..fx.weights import MULTIPLYING, may_fail

        iterations, depth = limits or (None, None)
        self.code = lower(graph, Limits.of(iterations, depth), by_lane=by_lane)
        self.looks = any(isinstance(m, Control) for m in self.code.modules())
        """Whether Python looks at numbers to decide how a loop, a call or a branch goes on."""
        self.may_fail = self.looks or any(may_fail(n) for r in read(graph).regions for n in r.nodes)
        """Whether a run may have no result: Python looks at numbers, as an index may be out of range, or a value is too large."""
        self.solves = any(n["kind"] == "root" for r in graph["regions"] for n in r["nodes"])
        """Whether it has roots of equations, whose torch code has not every derivative of function transforms and forward mode."""
        self.multiplies = any(n.get("op") in MULTIPLYING for r in graph["regions"] for n in r["nodes"])
        """Whether its derivatives multiply matrices, which `torch.autocast` rounds in a backward pass too."""
        self._chooses = any(n["kind"] == "if" for r in graph["regions"] for n in r["nodes"])

    def quick(self) -> Callable[..., Any]:
        """The code for `Caller.add_code`. Where autograd looks for NaN in each of its nodes, code that runs both sides of a branch says
        that it does not fit, and the longer way runs each lane's own side."""
        forward: Callable[..., Any] = self.code.forward
        return _unless_nan_is_looked_for(forward) if self._chooses else forward


def _unless_nan_is_looked_for(forward: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*tensors: torch.Tensor) -> Any:
        if torch.is_anomaly_enabled():
            raise RuntimeError("runs lane by lane")
        return forward(*tensors)

    return guarded


_MOST_SHAPES = 64
"""Shapes for which a program keeps its torch operations."""
_MOST_LOOSE = 16
_found: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()
"""The programs somebody holds: a module, or one of the next."""
_loose: dict[str, Compiled] = {}
"""The programs asked for last by their text alone, as compiled and exported graphs do: nobody else may hold them. The latest at the end."""


def find(spec: str, ready: Ready | None = None, hold: bool = False) -> Compiled:
    """The program a description stands for; compiled once as long as somebody holds it, unless it is ready already.

    `hold`: keep it for a while, though nobody else may.
    """
    found = _found.get(spec)
    if found is None:
        found = _found[spec] = _made(spec, ready)
    if hold:
        _loose.pop(spec, None)
        _loose[spec] = found
        if len(_loose) > _MOST_LOOSE:
            _loose.pop(next(iter(_loose)), None)
    return found


def _made(spec: str, ready: Ready | None) -> Compiled:
    told = json.loads(spec)
    if ready is None:
        inputs = None if told["inputs"] is None else [(name, sizes) for name, sizes in told["inputs"]]
        core = _native.Core(told["source"], inputs, [(name, sizes) for name, sizes in told["params"]])
        ready = core, read_inputs(core)
    limits = tuple(told["limits"]) if "limits" in told else None
    return Compiled(spec, ready, tuple((what, tuple(wrt)) for what, wrt in told["steps"]), told["torch"], limits)
