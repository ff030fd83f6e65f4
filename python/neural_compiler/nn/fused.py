"""A step of a solver as one operation. In: a compiled module, its states by name, a method; out: a function from a time, states and a
length to the states after the step, and their error estimates where the method has such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .compiled import find
from .function import apply
from .gate import PLAIN, looked_on
from .module import CompiledModule
from .schemes import Scheme
from .tensors import tracked


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _described(spec: str, method: str, places: tuple[int, ...], on_torch: bool) -> str:
    """The description of the step of a program, by that of the program."""
    told = json.loads(spec)
    return json.dumps({**told, "steps": [*told["steps"], [method, places]], "torch": on_torch})


class FusedStep:
    """The step of a module whose other inputs keep their values."""

    def __init__(self, module: CompiledModule, method: str, states: list[str], time: str | None, fixed: Mapping[str, Tensor]) -> None:
        names = module._names
        places = (0 if time is None else names.index(time) + 1, *map(names.index, states))
        self.on_torch = module.backend == "torch"
        self.spec = _described(module._spec, method, places, self.on_torch)
        self.watched = looked_on()
        self.compiled = None if self.watched else find(self.spec, hold=True)
        self.follow = module._follow
        self.count = len(states)
        self.states = [names.index(n) for n in states]
        self.time = None if time is None else names.index(time)
        own = {n: tracked(v) for n, v in module._own_values().items()}
        self.values = [own.get(n, fixed.get(n)) for n in names]
        self.batched = [k for k, n in enumerate(names) if n in fixed and fixed[n].dim() > module.inputs[k].rank]
        """Which values are different for each lane."""

    def __call__(self, t: Tensor, y: list[Tensor], h: Tensor, pick: Tensor | None = None) -> list[Tensor]:
        given = self._given(t, y, h, pick)
        found = self._run(tuple(given), h.dtype)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def with_errors(self, t: Tensor, y: list[Tensor], h: Tensor, pick: Tensor | None) -> tuple[list[Tensor], list[Tensor]]:
        """The states after the step, and their error estimates."""
        found = self(t, y, h, pick)
        return found[: self.count], [v.detach() for v in found[self.count :]]

    def _given(self, t: Tensor, y: list[Tensor], h: Tensor, pick: Tensor | None) -> list[Any]:
        """The inputs of the step in their order."""
        given: list[Any] = [*self.values, h]
        if pick is not None:
            for k in self.batched:
                given[k] = given[k].index_select(0, pick)
        for k, state in zip(self.states, y):
            given[k] = state
        if self.time is not None:
            given[self.time] = t
        return given

    def _run(self, given: tuple[Tensor, ...], dtype: torch.dtype) -> Any:
        if self.compiled is None:
            from .library import operation

            return operation(self.spec, "[]", [v.to(dtype) for v in given])
        found = self.compiled.value.plain(self.compiled, given, self.follow) if not self.on_torch and given[-1].is_cpu else None
        if found is not None:
            return found
        return apply(self.compiled, (), [v.to(dtype) for v in given])


def fused(
    module: CompiledModule, scheme: Scheme, states: list[str], time: str | None, fixed: Mapping[str, Tensor], start: list[Tensor]
) -> FusedStep | None:
    """The step, where it can be one operation: natively, and where it needs the Jacobian of a program."""
    if len(set(states)) != len(states):
        return None
    natively = module.backend != "torch" and all(s.is_cpu and (type(s) in PLAIN or looked_on()) for s in start)
    if scheme.kind != "rosenbrock" and not natively:
        return None
    return FusedStep(module, scheme.name, states, time, fixed)
