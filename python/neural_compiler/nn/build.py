"""Modules from texts and from other modules: `compile_scheme` and `compose`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from .. import _native
from ..masks import unmasked
from ..signature import Input, Inputs, described_inputs, positions, read_inputs, warn_of_groups
from .gate import numberless
from .module import CompiledModule
from .shared import Held, follow, held
from .tensors import native, real, refuse_parameter


@dataclass(frozen=True)
class Param:
    """A trainable constant with bounds, for the `params` of `compile_scheme`."""

    value: Any
    min: float | None = None
    max: float | None = None


Params: TypeAlias = "Mapping[str, float | Tensor | Param | Any]"


def compile_scheme(
    source: str, inputs: Inputs | None = None, params: Params | None = None, *, backend: str = "auto", syntax: str = "scheme"
) -> CompiledModule:
    """Compiles a program into an `nn.Module`.

    `inputs`: the names of the inputs in order, or a mapping from name to shape (`None` or `()` for a scalar, `3`, `(3,)`,
    `(3, 3)`); left out, they are the names the text leaves free. `params`: values, or `Param`s with bounds, of the names that
    become `nn.Parameter`s; so do the text's own `(param …)` declarations. Parameters are kept in float64 and follow the type
    of the inputs in a call. `syntax`: what the text is written in, `scheme`, `infix` or `latex`; the module keeps the text in Scheme.

    >>> energy = compile_scheme("(* 0.5 m (square v))", params={"m": 2.0})
    >>> energy(v=torch.tensor([1.0, 3.0]))
    tensor([1., 9.], grad_fn=<QuickRunBackward>)
    >>> [name for name, _ in energy.named_parameters()]
    ['m']
    """
    told = described_inputs(inputs)
    values: dict[str, nn.Parameter | Tensor] = {}
    bounds: dict[str, tuple[float | None, float | None]] = {}
    for name, value in (params or {}).items():
        given = value if isinstance(value, Param) else Param(value)
        values[name] = _parameter(name, given.value)
        if given.min is not None or given.max is not None:
            bounds[name] = (given.min, given.max)
    core = _native.Core(source, told, [(n, list(v.shape)) for n, v in values.items()], syntax)
    if syntax != "scheme":
        source = core.scheme
        core = _native.Core(source, told, [(n, list(v.shape)) for n, v in values.items()])
    read = read_inputs(core)
    warn_of_groups(core, values)
    for i in read:
        if i.kind in ("param", "weight") and i.name not in values:
            values[i.name] = _declared(i)
            if i.info.get("min") is not None or i.info.get("max") is not None:
                bounds[i.name] = (i.info["min"], i.info["max"])
    for name, (low, high) in bounds.items():
        value = values[name].detach()
        if numberless(value):  # They are loaded later.
            continue
        if (low is not None and bool((value < low).any())) or (high is not None and bool((value > high).any())):
            raise ValueError(f"the parameter `{name}` starts outside its bounds, {low} to {high}")
    # Declarations with axes are told to the compiler, too, so that it may see more than it did above.
    same = all(values[n].dim() == 0 for n in values.keys() - (params or {}).keys())
    return CompiledModule(source, told, values, bounds, (), backend, (core, read) if same else None)


def _parameter(name: str, value: Any) -> nn.Parameter:
    if isinstance(value, nn.Parameter):
        real("parameter", name, value)
        return value
    value = native(unmasked(f"the parameter `{name}`", value))
    refuse_parameter(name, value)
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"the parameter `{name}` is a number or a tensor, not {type(value).__name__}") from error
    real("parameter", name, tensor)
    exact = torch.as_tensor(value, dtype=torch.float64) if not isinstance(value, Tensor) or not tensor.dtype.is_floating_point else tensor
    return nn.Parameter(exact.detach().clone())


def _declared(i: Input) -> nn.Parameter | Tensor:
    """The tensor of a declaration of the text: a trainable constant, a fixed one, or a weight of a net."""
    shape = i.shape or ()
    if i.kind == "param":
        value = torch.tensor(i.info["initial"], dtype=torch.float64).reshape(shape)
        return value if i.info["fixed"] else nn.Parameter(value)
    if i.info["bias"]:
        return nn.Parameter(torch.zeros(shape, dtype=torch.float64))
    # Xavier's initialisation keeps the scale of what goes through a tanh layer.
    fan_out, fan_in = shape if len(shape) == 2 else (1, math.prod(shape))
    limit = math.sqrt(6.0 / (fan_in + fan_out))
    return nn.Parameter(torch.empty(shape, dtype=torch.float64).uniform_(-limit, limit))


def compose(stages: Mapping[str, CompiledModule], *, prefix: bool = False) -> CompiledModule:
    """One module from named ones, in order: the result of each is the input of that name of those after it; the last gives the
    result. Everything is compiled as one program, so it is exact at any depth. With `prefix`, every parameter gets the name of its stage
    and `_` in front, so that stages may have different ones of the same name.

    >>> speed = compile_scheme("(sqrt (* 2 g h))")
    >>> time = compile_scheme("(/ v g)")
    >>> fall = compose({"v": speed, "t": time})
    >>> fall(g=torch.tensor(10.0), h=torch.tensor(5.0))
    tensor(1.)
    """
    if not stages:
        raise ValueError("there is nothing to compose")
    if prefix:
        stages = {name: renamed(s, {n: f"{name}_{n}" for n in s._fields}) for name, s in stages.items()}
    *earlier, (_, module) = stages.items()
    for name, stage in reversed(earlier):
        if name not in module._open:
            raise ValueError(f"no stage after `{name}` has an input of that name; there are {', '.join(module._open) or 'none'}")
        module = joined(stage, module, name)
    return module


def renamed(module: CompiledModule, names: Mapping[str, str]) -> CompiledModule:
    """The module under other names: each new name is fed into the old one."""
    if module._steps:
        raise ValueError("a derivative has no text of its own to rename in; rename in the program and differentiate the result")
    positions(module.inputs, list(names))
    after = [names.get(i.name, i.name) for i in module.inputs]
    twice = sorted({n for n in after if after.count(n) > 1})
    if twice:
        raise ValueError(f"two inputs would have the name `{twice[0]}`")
    if any(i.kind == "state" for i in module.inputs):
        raise ValueError("a model with states is renamed in its text")
    core = module._compiled.core
    # By way of names that nothing here has, so that names may change places.
    between = {old: _unused(f"{old}-before", {*after, *module._names}) for old in names}
    for old, name in between.items():
        core = _fed(core, old, name)
    for old, new in names.items():
        core = _fed(core, between[old], new)
    values = {names.get(n, n): value for n, value in held(module).items()}
    bounds = {names.get(n, n): b for n, b in module.bounds.items()}
    told = [(names.get(i.name, i.name), None if i.shape is None else list(i.shape)) for i in module.inputs if i.name not in module._fields]
    return follow(CompiledModule(core.source, told, values, bounds, (), module.backend), module)


def _fed(core: _native.Core, old: str, new: str) -> _native.Core:
    return _native.Core(_native.Core(new, None, []).feed(core, old), None, [])


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "-"
    return name


def joined(inner: CompiledModule, outer: CompiledModule, name: str | None) -> CompiledModule:
    """The program that feeds the result of `inner` into `outer`."""
    for module in (inner, outer):
        if module._steps:
            raise ValueError("a derivative has no text of its own to compose; compose the programs and differentiate the result")
    values: dict[str, Held] = {}
    for module in (inner, outer):
        for n, value in held(module).items():
            if values.setdefault(n, value) is not value:
                advice = f"give one another name with `.renamed({{{n!r}: …}})`, or compose with `prefix=True`"
                raise ValueError(f"both modules have a parameter `{n}`, with different values: {advice}")
    if name is None:
        if len(outer._open) != 1:
            raise ValueError(
                f"`>>` feeds the only input of a module, this one has {len(outer._open)}: {', '.join(outer._open)}; use compose"
            )
        name = outer._open[0]
    source = inner._compiled.core.feed(outer._compiled.core, name)
    told: dict[str, list[int] | None] = {}
    for module, fed in ((inner, None), (outer, name)):
        for i in module.inputs:
            if i.kind in ("free", "declared") and i.name not in values and i.name != fed:
                told[i.name] = list(i.shape) if i.shape is not None else told.get(i.name)
    made = CompiledModule(source, list(told.items()), values, {**inner.bounds, **outer.bounds}, (), outer.backend)
    return follow(made, inner, outer)
