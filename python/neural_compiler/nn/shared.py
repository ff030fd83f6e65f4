"""The tensors that modules made of one another share. In: a module; out: what stands behind each of its tensors, and a module with
the same behind its own.

Invariant: a parametrization (`torch.nn.utils.parametrize`) is shared as it is, its originals with it: nothing is computed once and kept.
A tensor that takes another's place in a module does so in the modules made of it, unless they have put something else there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

if TYPE_CHECKING:
    from .module import CompiledModule

Held: TypeAlias = "nn.Parameter | Tensor | parametrize.ParametrizationList"
"""A parameter, a buffer, or what computes a value from such."""


def held(module: CompiledModule) -> dict[str, Held]:
    """What stands behind each tensor of a module, by the name the program has for it."""
    return {name: _held(module, name, field) for name, field in module._fields.items()}


def _held(module: CompiledModule, name: str, field: str) -> Held:
    tensor = tensor_of(module, field)
    if tensor is not None:
        return tensor
    if parametrize.is_parametrized(module, field):
        computed = _parametrizations(module)[field]
        assert isinstance(computed, parametrize.ParametrizationList)
        return computed
    raise ValueError(
        f"`{name}` is no parameter of this module any more, a hook computes it at each call (as pruning and the older weight "
        f"normalisation do), and another module would not follow: make that module first and change `{name}` in it then, or use "
        "`torch.nn.utils.parametrize`, which modules share"
    )


DEPENDENTS, ORIGINS = "_dependents", "_origins"
"""Where a module keeps those made of it, and those it was made of, directly or not. Copies have none: they are modules of their own."""


def follow(module: CompiledModule, *origins: CompiledModule) -> CompiledModule:
    """Lets a module that has tensors of others have what takes their place."""
    for origin in origins:
        # Those in between may be gone when a tensor is replaced.
        for o in (origin, *origin.__dict__.get(ORIGINS, ())):
            o.__dict__.setdefault(DEPENDENTS, WeakSet()).add(module)
            module.__dict__.setdefault(ORIGINS, WeakSet()).add(o)
    return module


def tensor_of(module: nn.Module, field: str) -> Tensor | None:
    """The parameter or buffer of this name."""
    return module._parameters.get(field, module._buffers.get(field))


def hand_on(module: CompiledModule, before: Tensor, after: Tensor | None) -> None:
    """Puts a tensor in the place of another in all modules made of this one."""
    if after is None or after is before:
        return
    for dependent in list(module.__dict__[DEPENDENTS]):
        for field in [f for f in dependent._fields.values() if tensor_of(dependent, f) is before]:
            setattr(dependent, field, after)


def hold(module: nn.Module, field: str, value: Held) -> None:
    """Lets a module have this behind a field of its own."""
    if isinstance(value, nn.Parameter):
        module.register_parameter(field, value)
    elif isinstance(value, Tensor):
        module.register_buffer(field, value)
    else:
        # PyTorch makes the field a computed one; what computes it is then exchanged for what the other module has.
        module.register_buffer(field, torch.empty(()))
        parametrize.register_parametrization(module, field, nn.Identity(), unsafe=True)
        _parametrizations(module)[field] = value


def _parametrizations(module: nn.Module) -> nn.ModuleDict:
    found = module.parametrizations
    assert isinstance(found, nn.ModuleDict)
    return found
