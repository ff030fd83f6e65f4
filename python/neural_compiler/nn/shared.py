"""The tensors that modules made of one another share. In: a module; out: what stands behind each of its tensors, and a module with
the same behind its own.

Invariant: a parametrization (`torch.nn.utils.parametrize`) is shared as it is, its originals with it: nothing is computed once and kept.
A tensor that takes another's place in a module does so in the modules made of it, unless they have put something else there; one that
PyTorch moves or loads is so wherever it is shared. Copies of modules are linked as these are, with one another only.
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


LINK, ORIGINS, DELETED = "_link_of_its_own", "_origins", "_deleted"
"""Where a module keeps the link of those made of it, the links of all it was made of, directly or not, and tensors of fields it lost."""


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


def replaced(module: CompiledModule, field: str) -> Tensor | None:
    """What a tensor that a field is to have now takes the place of, if there are modules made of this one: what the field has, or had
    before it was deleted."""
    if LINK not in module.__dict__:
        return None
    deleted: Tensor | None = module.__dict__.get(DELETED, {}).pop(field, None)
    return deleted if (here := tensor_of(module, field)) is None else here


def remember(module: CompiledModule, field: str) -> None:
    """Keeps the tensor of a field that is about to be deleted: the modules made of this one still have it."""
    if LINK in module.__dict__ and field in module._fields.values() and (here := tensor_of(module, field)) is not None:
        module.__dict__.setdefault(DELETED, {})[field] = here


def hand_on(module: CompiledModule, before: Tensor | None, after: Tensor | None) -> None:
    """Puts a tensor in the place of another in all modules made of this one."""
    if before is not None and after is not None and after is not before:
        _exchange(module.__dict__[LINK].dependents, before, after)


def exchanged(module: CompiledModule, before: dict[str, Tensor | None]) -> None:
    """Puts what PyTorch made of a module's tensors (on another device, of another type) or loaded in their stead in their place wherever
    they are shared. It changes most of them as they are, so that all who share one have it changed; where it makes new ones, the same comes
    of it so."""
    news = {field: tensor_of(module, field) for field in before}
    for field, old in before.items():
        # The last one of those that come for one tensor: it would have been written last into the one they were.
        new = [news[f] for f, other in before.items() if other is old][-1]
        if old is None or new is None or new is old:
            continue
        if tensor_of(module, field) is not new:
            setattr(module, field, new)
        _exchange(_linked(module), old, new)


def _linked(module: CompiledModule) -> list[CompiledModule]:
    """All modules that a module is linked with, directly or by way of others: of two that have a tensor of the user's in common, only
    what was made of both may know."""
    found, links = [module], list[Link]()
    for known in found:
        for link in (known.__dict__.get(LINK), *known.__dict__.get(ORIGINS, ())):
            if link is not None and link not in links:
                links.append(link)
                found.extend(m for m in (*link.owners, *link.dependents) if m not in found)
    return found


def _exchange(modules: Iterable[CompiledModule], before: Tensor, after: Tensor) -> None:
    for module in list(modules):
        for field in [f for f in module._fields.values() if tensor_of(module, f) is before]:
            if field in module._parameters and not isinstance(after, nn.Parameter):
                # PyTorch lets no buffer take the place of a parameter.
                delattr(module, field)
                module.register_buffer(field, after)
            else:
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
