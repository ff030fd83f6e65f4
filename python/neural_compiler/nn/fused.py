"""A step of a solver as one operation. In: a compiled module, its states by name, a method; out: a function from a time, states and a length to
the states after the step, and their error estimates where the method has such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .compiled import describe, find
from .function import apply
from .module import CompiledModule
from .run import PLAIN

METHODS = ("rk4", "dopri5")


class FusedStep:
    """The step of a module whose other inputs keep their values."""

    def __init__(self, module: CompiledModule, method: str, states: list[str], time: str | None, fixed: Mapping[str, Any], like: Tensor) -> None:
        names = module._names
        places = (0 if time is None else names.index(time) + 1, *map(names.index, states))
        spec = describe(module.source, module._told, module._shapes(), (*module._steps, (method, places)), "native")
        self.compiled = find(spec, hold=True)
        self.follow = module._follow
        self.count = len(states)
        self.states = [names.index(n) for n in states]
        self.time = None if time is None else names.index(time)
        own = module._own_values()
        self.values = [own.get(n, fixed.get(n)) for n in names]
        for k, value in enumerate(self.values):
            if value is not None and names[k] not in own:
                self.values[k] = torch.as_tensor(value, dtype=like.dtype, device=like.device)

    def __call__(self, t: Tensor, y: list[Tensor], h: Tensor) -> list[Tensor]:
        given: list[Any] = [*self.values, h]
        for k, state in zip(self.states, y):
            given[k] = state
        if self.time is not None:
            given[self.time] = t
        found = self._run(tuple(given), h.dtype)
        return list(found) if isinstance(found, tuple) else [found]

    def _run(self, given: tuple[Tensor, ...], dtype: torch.dtype) -> Any:
        found = self.compiled.value.plain(self.compiled, given, self.follow)
        if found is not None:
            return found
        return apply(self.compiled, (), [v.to(dtype) for v in given])


def fused(module: CompiledModule, method: str, states: list[str], time: str | None, fixed: Mapping[str, Any], start: list[Tensor]) -> FusedStep | None:
    """The step, where it can be one operation: natively, when no tracer looks on."""
    if method not in METHODS or module.backend == "torch" or not all(s.is_cpu and type(s) in PLAIN for s in start):
        return None
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() or torch._C._is_tracing() or len(set(states)) != len(states):
        return None
    return FusedStep(module, method, states, time, fixed, start[0])
