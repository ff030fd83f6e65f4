"""Differential equations inside PyTorch: `odeint`. In: a right-hand side, initial values, times; out: the states at those times.

Every step is made of torch operations, or is one native operation, so gradients are those of the discretised solution, exactly, with
respect to parameters, initial values and whatever else the right-hand side depends on.
"""

from __future__ import annotations

import json
import math
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..fx.graph import read
from ..signature import RESERVED
from .compiled import Compiled
from .fused import FusedStep, fused
from .gate import numberless, seen
from .march import HIDDEN, March, Method, Tolerance, first_sizes
from .module import CompiledModule
from .rosenbrock import Rosenbrock
from .schemes import Scheme, chosen
from .steppers import Explicit, States, fixed
from .switches import switches
from .tensors import as_tensor, common_device, common_type, joined, real, refuse_rounding, tracked


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
    time: str | None = None,
    per_lane: bool | None = None,
) -> Any:
    """Solves y' = f(t, y) and gives y at the times `t`, the first of which is that of `y0`, as a new first axis.

    `module`: a module compiled from a model with states (`(state x 1) (derive x …)`), one whose result is the vector of derivatives in
    the order of `y0`, or any function `f(t, y)` of a tensor. `y0`: a dict from state to initial value (the result is such a dict); a
    tensor whose last axis runs over the states; or None, for the values the model declares, which hold at the first of the times: one that
    the model declares otherwise, `(time t :start 1)`, is refused. Leading axes of the values are a batch.
    `inputs`: values of the module's other inputs, each a tensor, a number, a list of these or a function of the time. `time`: the name of
    the time among the module's inputs (left out: the one that the model declares, `(time s)`, else `t`).

    `method`: `dopri5`, adaptive, to the tolerances `rtol` (1e-6; 1e-4 in float32) and `atol` (a hundredth of it), or likewise `tsit5` and,
    for rough accuracy, `bosh3`; `rosenbrock` and, of fifth order, `rodas5p`, the same for stiff equations, by the Jacobian and linear
    solves; `auto`, which begins with `dopri5` and changes to `rosenbrock` where that comes further at the same cost; `rk4` and `euler`,
    from time to time in equal steps, none longer than `step`. In `torch.compile`, these two are one graph; a `step` then needs the times
    as a list of numbers.

    Steps are chosen by errors of the states. Where derivatives change far faster than those (a relaxation oscillation behind its jump),
    they are less exact by as much: hold `rtol` tighter, until they no longer change.

    A law that changes its form at a time (`(if (< t T) …)`) is warned about: steps do not stop there and may pass over it, and gradients
    leave out that the time moves with `T`. Integrate up to it and from it on, or smooth it; `fit` stops there by itself.

    `per_lane`: whether each element of the batch has steps of its own, so that its result does not depend on the others. Left out, it is
    so for compiled modules without functions of the time. A function `f(t, y)` is then told the times as a column, one for each row of `y`;
    a function of the time among `inputs`, as a vector.

    >>> import neural_compiler as nc
    >>> spring = nc.compile_scheme("(param k 4.0) (state x 1.0) (state v 0.0) (derive x v) (derive v (* (- k) x))")
    >>> path = odeint(spring, None, [0.0, 0.5, 1.0], method="rk4", step=0.01)
    >>> path["x"].detach()
    tensor([ 1.0000,  0.5403, -0.4161])
    >>> path["x"][-1].backward()
    >>> spring.k.grad
    tensor(-0.2273, dtype=torch.float64)
    """
    schemes = chosen(method)
    adaptive = schemes[0].adaptive
    if step is not None and not step > 0:
        raise ValueError(f"a step is a positive number, not {step!r}")
    _check_tolerances(adaptive, method, rtol, atol, max_steps)
    t = joined("t", t)
    y0 = tracked(y0) if isinstance(y0, Tensor) else y0
    times, numbers = _times(t, step is not None and not adaptive)
    field = _Compiled(module, y0, inputs or {}, time, t) if isinstance(module, CompiledModule) else _Plain(module, y0, inputs)
    if isinstance(field, _Compiled):
        field.refuse_other_start(times, numbers)
        if not torch.compiler.is_compiling():
            field.warn_of_switches()
    for start in field.start:
        _check_start(start)
    _check_gaps(numbers, field.start[0].dtype)
    times = times.to(field.start[0].device, field.start[0].dtype)
    if adaptive:
        loose = 1e-6 if times.dtype == torch.float64 else 1e-4
        relative = loose if rtol is None else rtol
        tolerance = Tolerance(relative, relative * 1e-2 if atol is None else atol, max_steps, step)
        found = _adaptive(field, times, schemes, tolerance, field.apart_by_default if per_lane is None else per_lane)
    else:
        gaps = None if numbers is None else [b - a for a, b in zip(numbers, numbers[1:])]
        found = fixed(field.fused(schemes[0]) or Explicit(schemes[0], field), field.start, times, gaps, step)
    return field.shaped([torch.stack(states) for states in zip(*found)])


def _check_gaps(numbers: list[float] | None, dtype: torch.dtype) -> None:
    """Refuses times that are so far from 0, beside their distances, that the type of the states does not tell them apart."""
    if numbers is None or dtype == torch.float64:
        return
    kept = [_single(v) for v in numbers]
    for a, b, c, d in zip(numbers, numbers[1:], kept, kept[1:]):
        if abs((d - c) - (b - a)) > 0.01 * abs(b - a):
            raise ValueError(
                f"the times {a!r} and {b!r} lose their distance in {dtype}: give initial values in float64 (`y0.double()`), or count "
                "the time from its beginning"
            )


def _single(v: float) -> float:
    """The float32 next to a number, by Dekker's splitting: a compiled graph knows the times as Python's numbers, and looks at no tensor."""
    if abs(v) > 3.4028235e38:
        return math.copysign(math.inf, v)
    c = (2.0**29 + 1) * v
    return c - (c - v)


def _check_start(start: Tensor) -> None:
    dtype = start.dtype
    if dtype.is_complex:
        raise TypeError(f"initial values are real numbers, not {dtype}: give its real and imaginary part as two states")
    if not dtype.is_floating_point:
        raise TypeError(f"initial values are float32 or float64, not {dtype}: convert them, `y0.double()`")
    if dtype not in (torch.float32, torch.float64):
        raise TypeError(f"initial values are float32 or float64, not {dtype}: steps add up what shorter numbers lose")


def _check_tolerances(adaptive: bool, method: str, rtol: Any, atol: Any, max_steps: Any) -> None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(f"`{name}` is a number, one for all states, not {value!r}")
        if not math.isfinite(value) or value < 0 or (value == 0 and name == "rtol"):
            raise ValueError(f"`{name}` is a positive number, not {value!r}")
        if not adaptive:
            raise ValueError(f"`{name}` is for methods that choose their steps: `{method}` takes those of `step`, or of the times")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise ValueError(f"`max_steps` is a positive whole number, not {max_steps!r}")


_ADAPTIVE = "steps that choose their lengths look at numbers; rk4 and euler are one graph"
_NUMBERLESS = (
    "`{}` looks at numbers to choose its steps, and a tensor of the `meta` device or of a `FakeTensorMode` has a shape and no numbers"
)
_COUNTED = "how many steps there are depends on the times: give them as a list of numbers, or leave `step` out"


@torch.compiler.disable(reason=_ADAPTIVE)  # type: ignore[untyped-decorator]
def _adaptive(field: _Plain | _Compiled, times: Tensor, schemes: list[Scheme], tolerance: Tolerance, each: bool) -> list[States]:
    """By steps as long as the tolerances allow, each time met exactly."""
    for tensor in (*field.start, times):
        if numberless(tensor):
            raise ValueError(f"{_NUMBERLESS.format(schemes[0].name)}: take `rk4` or `euler`")
    each = each and field.lanes()
    numbers = sum(s[0].numel() if each else s.numel() for s in field.start)
    ways = []
    for scheme in schemes:
        explicit = scheme.kind == "explicit"
        fused: FusedStep | None = field.fused(scheme)
        step = fused or (Explicit(scheme, field) if explicit else Rosenbrock(scheme, field, field.ranks))
        ways.append(Method(step.with_errors, scheme.error_order, explicit, law=None if explicit else field))
    # Six evaluations and six solves, and a Jacobian of as many derivatives as there are states, against six evaluations.
    ways[-1].price = 1 + numbers / 3 + numbers**2 / 6
    if len(times) == 1:
        return [field.start]
    for name, start in zip(field.names, field.start):
        if not np.isfinite(seen(start, HIDDEN)).all():
            raise ValueError(f"the initial value of `{name}` is not finite")
    ends = seen(times, HIDDEN)
    span = abs(float(ends[-1] - ends[0]))
    with torch.no_grad():
        slope = field(times[0].expand(len(field.start[0])) if each else times[0], field.start)
    for name, rate in zip(field.names, slope):
        if np.isnan(seen(rate, HIDDEN)).any():
            raise ValueError(f"the derivative of `{name}` is NaN at the start, t = {float(ends[0]):g}")
    march = March(ways, tolerance, field.start, times, each, first_sizes(field.start, slope, tolerance, span, each))
    march.run()
    return march.found()


@torch.compiler.disable(reason=_COUNTED)  # type: ignore[untyped-decorator]
def _numbers(times: Tensor) -> list[float]:
    if numberless(times):
        raise ValueError("times of the `meta` device or of a `FakeTensorMode` are no numbers: give them as a list")
    found: list[float] = seen(times, HIDDEN).tolist()
    return found


def _times(t: Any, looked_at: bool) -> tuple[Tensor, list[float] | None]:
    """The times, and the numbers they are, unless only a compiled graph will know and nothing needs them."""
    times = as_tensor("t", t)
    refuse_rounding("t", t, times)
    if times.dim() != 1 or not len(times):
        raise ValueError(f"the times are a list of numbers, not of shape {list(times.shape)}")
    if isinstance(t, Tensor) and torch.compiler.is_compiling() and not looked_at:
        return times, None
    numbers = [float(v) for v in t] if isinstance(t, (list, tuple)) else _numbers(times)
    if not all(math.isfinite(v) for v in numbers):
        raise ValueError("the times are finite numbers")
    gaps = [b - a for a, b in zip(numbers, numbers[1:])]
    if not (all(g > 0 for g in gaps) or all(g < 0 for g in gaps)):
        raise ValueError("the times go up, or down, without repeating one")
    return times, numbers


class _Plain:
    """A function of the time and one tensor."""

    def __init__(self, function: Callable[..., Any], y0: Any, inputs: Mapping[str, Any] | None) -> None:
        if not callable(function):
            raise TypeError(f"a module or a function is expected, not {type(function).__name__}")
        if not isinstance(y0, Tensor):
            raise TypeError(f"for a function of (t, y) the initial value is a tensor, not {type(y0).__name__}")
        if inputs:
            raise TypeError("`inputs` belong to compiled modules; a function of (t, y) knows its own")
        if y0.dim() and not y0.shape[-1]:
            raise ValueError(f"the initial value of `y` has a state axis of length 0, shape {list(y0.shape)}: there is nothing to solve")
        self.function, self.start, self.shape = function, [y0], y0.shape
        self.ranks = [min(1, y0.dim())]
        self.names = ["y"]

    apart_by_default = False

    def lanes(self) -> bool:
        """Makes one axis of all batch axes, if there are several lanes; whether it did."""
        if self.shape[:-1].numel() < 2 or not self.shape:
            return False
        self.start = [self.start[0].reshape(-1, self.shape[-1])]
        return True

    def __call__(self, t: Tensor, y: States, pick: Tensor | None = None) -> States:
        found = self.function(t[:, None] if t.dim() else t, y[0])
        if not isinstance(found, Tensor) or found.shape != y[0].shape:
            given = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"the derivative has the shape of the state, {list(y[0].shape)}, not {given}")
        if found.dtype.is_complex:
            raise TypeError(f"the derivative of a real state is real, not {found.dtype}")
        # Within `torch.autocast` layers give shorter numbers than they are given.
        return [found.to(y[0].dtype)]

    def fused(self, scheme: Scheme) -> None:
        """A function has no step of its own."""
        return

    def shaped(self, states: list[Tensor]) -> Tensor:
        """The solution as the caller asked for it."""
        return states[0].reshape(len(states[0]), *self.shape)


class _Compiled:
    """A compiled module: its states by name, its other inputs, the time where it is one of them."""

    def __init__(self, module: CompiledModule, y0: Any, inputs: Mapping[str, Any], named: str | None, t: Any) -> None:
        core = module._compiled.core
        time: str = named or core.time or "t"
        if core.time in inputs and core.time == time:
            raise ValueError(f"`{time}` is the time that the model declares: it goes through the times, and is no input")
        self.module, self.time = module, time
        self.batched: set[str] = set()
        declared = {i.name: i for i in module.inputs}
        if core.kind == "map":
            raise ValueError(
                "the model is a map (`next`), whose states go from step to step: `simulate` gives them, `odeint` solves `derive`"
            )
        if y0 is not None and not isinstance(y0, (Tensor, Mapping)):
            raise TypeError(f"the initial values are a dict from state to value, a tensor or None, not {type(y0).__name__}")
        if count := core.events:
            raise ValueError(f"the model declares events ({count}), which `odeint` does not know: `simulate` and `fit` let them happen")
        states = [i.name for i in module.inputs if i.kind == "state"]
        free = [n for n in module._open if n not in inputs and n != time]
        self.stacked = isinstance(y0, Tensor)
        names = states or (free if self.stacked else list(y0 or ()))
        if isinstance(y0, Tensor):
            given = {names[0]: y0} if len(names) == 1 and declared[names[0]].rank == 1 else _apart(y0, names)
        else:
            # What the model declares, unless it is the name of a column or an expression.
            values = {n: (declared[n].info["initial"], declared[n].shape or ()) for n in states}
            known = {n: (v, shape) for n, (v, shape) in values.items() if isinstance(v, list)}
            told = {n: joined(n, v) for n, v in (y0 or {}).items()}
            given = {n: torch.tensor(v, dtype=torch.float64).reshape(shape) for n, (v, shape) in known.items()} | told
        _known(given, names, declared, free)
        self.begins = None if self.stacked or all(n in (y0 or ()) for n in names) else core.start_time
        """When the values that the model declares hold, where it says so and they are used."""
        like = _first_typed({n: v for n, v in given.items() if self.stacked or n in (y0 or {})}, t, module._own_values())
        found = [_like(n, given[n], like) for n in names]
        self.names, self.ranks = names, [declared[n].rank for n in names]
        self.sizes = [v.shape[v.dim() - r :] for v, r in zip(found, self.ranks)]
        self.forcing = {n: v for n, v in inputs.items() if callable(v)}
        self.fixed = {n: _like(n, joined(n, v), like) for n, v in inputs.items() if not callable(v)}
        ranked = [(v, r) for v, r in zip(found, self.ranks)] + [(v, declared[n].rank) for n, v in self.fixed.items() if n in declared]
        self.batch = torch.broadcast_shapes(*(v.shape[: v.dim() - r] for v, r in ranked))
        self.start = [v.expand(self.batch + size) for v, size in zip(found, self.sizes)]
        self.apart_by_default = not self.forcing
        self.timed = time in module._open and time not in inputs
        missing = sorted({*module._open} - {*names} - {*inputs} - {time})
        if missing:
            raise TypeError(
                f"the input{'s' if len(missing) > 1 else ''} {', '.join(f'`{n}`' for n in missing)} of the module must be given in `inputs`"
            )

    def refuse_other_start(self, times: Tensor, numbers: list[float] | None) -> None:
        """Refuses values of the model that hold at another time than the first."""
        if self.begins is None:
            return
        first = (_numbers(times) if numbers is None else numbers)[0]
        if first != self.begins:
            raise ValueError(
                f"the states of the model have their declared values at {self.begins:g}, the first time is {first:g}: begin there, "
                "give `y0`, or use `simulate`, which solves to both sides"
            )

    def warn_of_switches(self) -> None:
        """Says where the law changes its form at a time: steps do not stop there."""
        if not self.timed:
            return
        own, known = self.module._own_values(), dict(zip(self.names, self.sizes))
        values = {**own, **self.fixed}
        shapes = []
        for i in self.module.inputs:
            value = values.get(i.name)
            shapes.append(list(known[i.name] if i.name in known else () if value is None else value.shape[value.dim() - i.rank :]))
        for text in _switches(self.module._compiled, self.time, frozenset(self.names), shapes):
            warnings.warn(text, stacklevel=3)

    def lanes(self) -> bool:
        """Makes one axis of all batch axes, if there are several lanes; whether it did."""
        if self.batch.numel() < 2:
            return False
        self.start = [v.reshape(-1, *size) for v, size in zip(self.start, self.sizes)]
        for i in self.module.inputs:
            value = self.fixed.get(i.name)
            if value is not None and value.dim() > i.rank:
                own = value.shape[value.dim() - i.rank :]
                self.fixed[i.name] = value.expand(self.batch + own).reshape(-1, *own)
                self.batched.add(i.name)
        return True

    def __call__(self, t: Tensor, y: States, pick: Tensor | None = None) -> States:
        fixed = self.fixed if pick is None else {n: v.index_select(0, pick) if n in self.batched else v for n, v in self.fixed.items()}
        given: dict[str, Any] = {**fixed, **dict(zip(self.names, y))}
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
            raise ValueError(
                f"the result of the module is a vector of {sum(counts)} derivatives, those of {', '.join(self.names)}; "
                f"it has the shape {shape}"
            )
        parts = torch.split(found, counts, -1)
        return [p[..., 0] if not size else p if len(size) == 1 else p.unflatten(-1, size) for p, size in zip(parts, self.sizes)]

    def fused(self, scheme: Scheme) -> FusedStep | None:
        """A whole step as one operation, unless a function of the time is among the inputs."""
        if self.forcing:
            return None
        return fused(self.module, scheme, self.names, self.time if self.timed else None, self.fixed, self.start)

    def shaped(self, states: list[Tensor]) -> Any:
        """The solution as the caller asked for it."""
        states = [s.reshape(len(s), *self.batch, *size) for s, size in zip(states, self.sizes)]
        if not self.stacked:
            return dict(zip(self.names, states))
        return states[0] if len(states) == 1 and self.ranks[0] == 1 else torch.stack(states, -1)


_SWITCHES: weakref.WeakKeyDictionary[Compiled, dict[Any, tuple[str, ...]]] = weakref.WeakKeyDictionary()


def _switches(compiled: Compiled, time: str, states: frozenset[str], shapes: list[list[int]]) -> tuple[str, ...]:
    """What to say of the conditions on time of a program; looked for once."""
    known = _SWITCHES.setdefault(compiled, {})
    key = (time, states, tuple(map(tuple, shapes)))
    if key not in known:
        graph = read(json.loads(compiled.function().graph_json(shapes)))
        known[key] = tuple(
            f"the law changes its form at a time, `{s.text}`: odeint does not stop there, and a step may pass over it"
            + (f"; gradients by {', '.join(f'`{n}`' for n in s.moved_by)} leave out that this time moves" if s.moved_by else "")
            for s in switches(graph, time, states)
        )
    return known[key]


def _apart(y0: Tensor, names: list[str]) -> dict[str, Tensor]:
    if y0.shape[-1:] != (len(names),):
        raise ValueError(
            f"the last axis of the initial value runs over the states {', '.join(names) or 'of the module'}, its shape is {list(y0.shape)}"
        )
    return dict(zip(names, y0.unbind(-1)))


def _first_typed(given: Mapping[str, Any], t: Any, own: Mapping[str, Tensor]) -> Tensor:
    """A tensor of the device and the type to compute in: those of the first initial value that has a type, else of the times, where
    whole numbers count as they do in calls. Where no initial value is on a device, that of the module's own tensors is before that of the
    times."""
    arrays = (Tensor, np.ndarray)
    values = {n: v for n, v in given.items() if isinstance(v, arrays)}
    tensors = {n: real("input", n, as_tensor(n, v)) for n, v in values.items()}
    for tensor in tensors.values():
        if tensor.dtype.is_floating_point:
            return tensor
    device = next((v.device for v in tensors.values()), common_device(list(own), list(own.values())))
    if not tensors and isinstance(t, arrays):
        values, tensors = {"t": t}, {"t": as_tensor("t", t)}
        device = tensors["t"].device if device.type == "cpu" else device
    if not tensors:
        return torch.empty((), device=device)
    dtype = common_type(list(values), list(values.values()), list(tensors.values()))
    return torch.empty((), dtype=dtype, device=device)


def _like(name: str, value: Any, like: Tensor) -> Tensor:
    tensor = real("input", name, as_tensor(name, value))
    refuse_rounding(name, value, tensor)
    return tensor.to(like.device, like.dtype)


def _known(given: Mapping[str, Any], names: list[str], declared: Mapping[str, Any], free: list[str]) -> None:
    for name in given:
        if name not in names or name not in declared:
            raise ValueError(
                f"the module has no state `{name}`; there are {', '.join(names if names and name not in names else free) or 'none'}"
            )
    missing = [n for n in names if n not in given]
    for name in missing:
        if declared[name].kind == "state" and declared[name].info["initial"] is None:
            raise TypeError(
                f"the start of `{name}` is one the model computes (an expression, or a steady state), which `odeint` does not: give it in "
                "`y0`, or use `simulate`, which computes it"
            )
    if not names:
        raise TypeError("the model declares no states: there is nothing to solve, unless its result is the derivatives of what `y0` names")
    if missing:
        raise TypeError(f"the initial value of {', '.join(f'`{n}`' for n in missing)} is missing: give it in `y0`")
