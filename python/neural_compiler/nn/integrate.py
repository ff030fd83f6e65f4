"""Differential equations inside PyTorch: `odeint`. In: a right-hand side, initial values, times; out: the states at those times.

Every step is made of torch operations, or is one native operation, so gradients are those of the discretised solution, exactly, with respect to parameters, initial
values and whatever else the right-hand side depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..signature import RESERVED
from .fused import FusedStep, fused
from .module import CompiledModule
from .steppers import States, adaptive, fixed

METHODS = ("dopri5", "rk4", "euler")


def odeint(
    module: Callable[..., Any],
    y0: Tensor | Mapping[str, Any] | None,
    t: Any,
    *,
    method: str = "dopri5",
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
    inputs: Mapping[str, Any] | None = None,
    time: str = "t",
) -> Any:
    """Solves y' = f(t, y) and gives y at the times `t`, the first of which is that of `y0`, as a new first axis.

    `module`: a module compiled from a model with states (`(state x 1) (derive x …)`), one whose result is the vector of derivatives in
    the order of `y0`, or any function `f(t, y)` of a tensor. `y0`: a dict from state to initial value (the result is such a dict); a
    tensor whose last axis runs over the states; or None, for the values the model declares. Leading axes of the values are a batch.
    `inputs`: values of the module's other inputs, each a tensor, a number or a function of the time.

    `method`: `dopri5`, adaptive, one size of step for the whole batch, to the tolerances `rtol` (1e-6; 1e-4 in float32) and `atol`
    (a hundredth of it); `rk4` and `euler`, from time to time in equal steps, none longer than `step`.

    >>> import neural_compiler as nc
    >>> spring = nc.compile_scheme("(param k 4.0) (state x 1.0) (state v 0.0) (derive x v) (derive v (* (- k) x))")
    >>> path = odeint(spring, None, [0.0, 0.5, 1.0], method="rk4", step=0.01)
    >>> path["x"].detach()
    tensor([ 1.0000,  0.5403, -0.4161])
    >>> path["x"][-1].backward()
    >>> spring.k.grad
    tensor(-0.2273, dtype=torch.float64)
    """
    if method not in METHODS:
        raise ValueError(f"the method is one of {', '.join(METHODS)}, not {method!r}")
    if step is not None and not step > 0:
        raise ValueError(f"a step is a positive number, not {step!r}")
    times = _times(t)
    field = _Compiled(module, y0, inputs or {}, time, t) if isinstance(module, CompiledModule) else _Plain(module, y0, inputs)
    times = times.to(field.start[0].device, field.start[0].dtype)
    for start in field.start:
        if start.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"initial values are float32 or float64, not {start.dtype}: steps add up what shorter numbers lose")
    step_of = field.fused(method)
    if method == "dopri5":
        loose = 1e-6 if times.dtype == torch.float64 else 1e-4
        relative = loose if rtol is None else rtol
        found = adaptive(field, field.start, times, relative, relative * 1e-2 if atol is None else atol, max_steps, step, whole=step_of)
    else:
        found = fixed(field, field.start, times, method, step, step_of)
    return field.shaped([torch.stack(states) for states in zip(*found)])


def _times(t: Any) -> Tensor:
    times = t if isinstance(t, Tensor) else torch.as_tensor(t, dtype=torch.float64)
    if times.dim() != 1 or not len(times):
        raise ValueError(f"the times are a list of numbers, not of shape {list(times.shape)}")
    if not bool(torch.isfinite(times).all()):
        raise ValueError("the times are finite numbers")
    gaps = times.detach().diff()
    if not (bool((gaps > 0).all()) or bool((gaps < 0).all())):
        raise ValueError("the times go up, or down, without repeating one")
    return times


class _Plain:
    """A function of the time and one tensor."""

    def __init__(self, function: Callable[..., Any], y0: Any, inputs: Mapping[str, Any] | None) -> None:
        if not callable(function):
            raise TypeError(f"a module or a function is expected, not {type(function).__name__}")
        if not isinstance(y0, Tensor):
            raise TypeError(f"for a function of (t, y) the initial value is a tensor, not {type(y0).__name__}")
        if inputs:
            raise TypeError("`inputs` belong to compiled modules; a function of (t, y) knows its own")
        self.function, self.start = function, [y0]

    def __call__(self, t: Tensor, y: States) -> States:
        found = self.function(t, y[0])
        if not isinstance(found, Tensor) or found.shape != y[0].shape:
            given = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"the derivative has the shape of the state, {list(y[0].shape)}, not {given}")
        return [found]

    def fused(self, method: str) -> None:
        """A function has no step of its own."""
        return None

    def shaped(self, states: list[Tensor]) -> Tensor:
        """The solution as the caller asked for it."""
        return states[0]


class _Compiled:
    """A compiled module: its states by name, its other inputs, the time where it is one of them."""

    def __init__(self, module: CompiledModule, y0: Any, inputs: Mapping[str, Any], time: str, t: Any) -> None:
        self.module, self.time = module, time
        declared = {i.name: i for i in module.inputs}
        states = [i.name for i in module.inputs if i.kind == "state"]
        free = [n for n in module._open if n not in inputs and n != time]
        self.stacked = isinstance(y0, Tensor)
        names = states or (free if self.stacked else list(y0 or ()))
        if isinstance(y0, Tensor):
            given = {names[0]: y0} if len(names) == 1 and declared[names[0]].rank == 1 else _apart(y0, names)
        else:
            # What the model declares, unless it is the name of a column.
            values = {n: (declared[n].info["initial"], declared[n].shape or ()) for n in states}
            given = {n: torch.tensor(v, dtype=torch.float64).reshape(shape) for n, (v, shape) in values.items() if not isinstance(v, str)} | dict(y0 or {})
        _known(given, names, declared, free)
        tensors = [v for n, v in given.items() if isinstance(v, Tensor) and v.dtype.is_floating_point and (self.stacked or n in (y0 or {}))]
        like = tensors[0] if tensors else t if isinstance(t, Tensor) and t.dtype.is_floating_point else torch.empty(())
        found = [torch.as_tensor(given[n], dtype=like.dtype, device=like.device) for n in names]
        self.names, self.ranks = names, [declared[n].rank for n in names]
        self.sizes = [v.shape[v.dim() - r :] for v, r in zip(found, self.ranks)]
        batch = torch.broadcast_shapes(*(v.shape[: v.dim() - r] for v, r in zip(found, self.ranks)))
        self.start = [v.expand(batch + size) for v, size in zip(found, self.sizes)]
        self.fixed = {n: v for n, v in inputs.items() if not callable(v)}
        self.forcing = {n: v for n, v in inputs.items() if callable(v)}
        self.timed = time in module._open and time not in inputs
        missing = sorted({*module._open} - {*names} - {*inputs} - {time})
        if missing:
            raise TypeError(f"the input{'s' if len(missing) > 1 else ''} {', '.join(f'`{n}`' for n in missing)} of the module must be given in `inputs`")

    def __call__(self, t: Tensor, y: States) -> States:
        given: dict[str, Any] = {**self.fixed, **dict(zip(self.names, y))}
        for name, of in self.forcing.items():
            given[name] = of(t)
        if self.timed:
            given[self.time] = t
        # In one dict, an input has any name.
        found = self.module(**given) if RESERVED.isdisjoint(given) else self.module(given)
        counts = [size.numel() for size in self.sizes]
        if isinstance(found, Tensor) and found.shape == y[0].shape and len(y) == 1:
            return [found]
        if not isinstance(found, Tensor) or found.shape[-1:] != (sum(counts),):
            shape = list(found.shape) if isinstance(found, Tensor) else "no shape of a tensor"
            raise ValueError(f"the result of the module is a vector of {sum(counts)} derivatives, those of {', '.join(self.names)}; it has the shape {shape}")
        parts = torch.split(found, counts, -1)
        return [p[..., 0] if not size else p if len(size) == 1 else p.unflatten(-1, size) for p, size in zip(parts, self.sizes)]

    def fused(self, method: str) -> FusedStep | None:
        """A whole step as one operation, unless a function of the time is among the inputs."""
        if self.forcing:
            return None
        return fused(self.module, method, self.names, self.time if self.timed else None, self.fixed, self.start)

    def shaped(self, states: list[Tensor]) -> Any:
        """The solution as the caller asked for it."""
        if not self.stacked:
            return dict(zip(self.names, states))
        return states[0] if len(states) == 1 and self.ranks[0] == 1 else torch.stack(states, -1)


def _apart(y0: Tensor, names: list[str]) -> dict[str, Tensor]:
    if y0.shape[-1:] != (len(names),):
        raise ValueError(f"the last axis of the initial value runs over the states {', '.join(names) or 'of the module'}, its shape is {list(y0.shape)}")
    return dict(zip(names, y0.unbind(-1)))


def _known(given: Mapping[str, Any], names: list[str], declared: Mapping[str, Any], free: list[str]) -> None:
    for name in given:
        if name not in names or name not in declared:
            raise ValueError(f"the module has no state `{name}`; there are {', '.join(names if names and name not in names else free) or 'none'}")
    missing = [n for n in names if n not in given]
    if missing or not names:
        raise TypeError(f"the initial value of {', '.join(f'`{n}`' for n in missing) or 'the states'} is missing: give it in `y0`")
