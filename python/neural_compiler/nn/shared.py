"""The tensors that modules made of one another share. In: a module; out: what stands behind each of its tensors, and a module with
the same behind its own.

Invariant: a parametrization (`torch.nn.utils.parametrize`) is shared as it is, its originals with it: nothing is computed once and kept.
A tensor that takes another's place in a module does so in the modules made of it, unless they have put something else there; one that
PyTorch moves is moved wherever it is shared. Copies of modules are linked as these are, with one another only.
"""

from __future__ import annotations

from collections.abc import Iterable
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


LINK, ORIGINS = "_link_of_its_own", "_origins"
"""Where a module keeps the link of those made of it, and the links of all it was made of, directly or not."""


class Link:
    """What a module and those made of it have in common, and find one another by. Copies of several of them have a copy of it in common;
    whom it joins, each of those says anew."""

    def __init__(self) -> None:
        self.owners: WeakSet[CompiledModule] = WeakSet()
        self.dependents: WeakSet[CompiledModule] = WeakSet()

    def __reduce__(self) -> tuple[type[Link], tuple[()]]:
        return Link, ()


def follow(module: CompiledModule, *origins: CompiledModule) -> CompiledModule:
    """Lets a module that has tensors of others have what takes their place."""
    links = module.__dict__.setdefault(ORIGINS, [])
    for origin in origins:
        own = origin.__dict__.setdefault(LINK, Link())
        # Those in between may be gone when a tensor is replaced.
        links.extend(link for link in (own, *origin.__dict__.get(ORIGINS, ())) if link not in links)
        join_links(origin)
    join_links(module)
    return module


def join_links(module: CompiledModule) -> None:
    """Tells the links of a module that it is there."""
    if (own := module.__dict__.get(LINK)) is not None:
        own.owners.add(module)
    for link in module.__dict__.get(ORIGINS, ()):
        link.dependents.add(module)


def tensor_of(module: nn.Module, field: str) -> Tensor | None:
    """The parameter or buffer of this name."""
    return module._parameters.get(field, module._buffers.get(field))


def hand_on(module: CompiledModule, before: Tensor, after: Tensor | None) -> None:
    """Puts a tensor in the place of another in all modules made of this one."""
    if after is not None and after is not before:
        _exchange(module.__dict__[LINK].dependents, before, after)


def moved(module: CompiledModule, before: dict[str, Tensor | None]) -> None:
    """Puts what PyTorch made of a module's tensors (on another device, of another type) in their place wherever they are shared. It changes
    most of them as they are, so that all who share one have it changed; where it makes new ones, the same comes of it so."""
    links = [*module.__dict__.get(ORIGINS, ())]
    if (own := module.__dict__.get(LINK)) is not None:
        links.append(own)
    for field, old in before.items():
        new = tensor_of(module, field)
        if old is not None and new is not None and new is not old:
            for link in links:
                _exchange(link.owners, old, new)
                _exchange(link.dependents, old, new)


def _exchange(modules: Iterable[CompiledModule], before: Tensor, after: Tensor) -> None:
    for module in list(modules):
        for field in [f for f in module._fields.values() if tensor_of(module, f) is before]:
            setattr(module, field, after)


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
