"""Autograd: one node per program. Derivatives of every order are programs of their own, run by the same functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .compiled import Chain, Compiled
from .run import fitted, in_front, run

_is_grad_enabled = torch.is_grad_enabled
_get_num_threads = torch.get_num_threads


def _listed(results: Any) -> tuple[Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)


def _fit(grad: Tensor, like: Tensor) -> Tensor:
    """Sums over what broadcasting repeated."""
    return grad if grad.shape == like.shape else grad.sum_to_size(like.shape)


def _pull(chain: Chain, needs: Sequence[bool], grads: Sequence[Tensor | None]) -> tuple[Chain, list[int], list[Tensor]]:
    """The chain of the backward pass, the inputs it is about, and the cotangents there are."""
    wrt = [k for k, n in enumerate(needs) if n]
    seeds = [k for k, g in enumerate(grads) if g is not None]
    return (*chain, ("vjp", tuple(wrt), tuple(seeds))), wrt, [g for g in grads if g is not None]


class NotPlain(Exception):
    """The tensors are not those of the quick path; nothing has been computed."""


class QuickRun(torch.autograd.Function):
    """For plain eager autograd on the CPU, where nothing but the engine looks on. Tensors in the bits `follow` take the type of the others."""

    @staticmethod
    def forward(ctx: Any, compiled: Compiled, follow: int, *tensors: Tensor) -> Any:
        found = compiled.value.torch(tensors, _get_num_threads(), False, follow)
        if found is None:
            raise NotPlain
        ctx.how = compiled, follow
        ctx.save_for_backward(*tensors)
        if type(found) is tuple:
            ctx.set_materialize_grads(False)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        (compiled, follow), tensors, needs = ctx.how, ctx.saved_tensors, ctx.needs_input_grad
        if not _is_grad_enabled() and (len(grads) == 1 or all([g is not None for g in grads])):
            found = compiled.backward(needs, len(grads)).pull((*tensors, *grads), 2, len(tensors), _get_num_threads(), follow)
            if found is not None:
                return found
        chain, wrt, cotangents = _pull((), needs[2:], grads)
        results: list[Tensor | None] = [None] * (2 + len(tensors))
        if cotangents:
            dtype = cotangents[0].dtype
            inputs = tuple([t if t.dtype is dtype else t.to(dtype) for t in (*tensors, *cotangents)])
            found = apply(compiled, chain, inputs) if _is_grad_enabled() else run(compiled, chain, inputs)
            for k, g in zip(wrt, _listed(found)):
                results[2 + k] = _fit(g, tensors[k])
        return tuple(results)


# The class's own `apply` first looks for transforms; whoever calls this has looked already.
quick_apply = super(torch.autograd.Function, QuickRun).apply


class Run(torch.autograd.Function):
    """For function transforms and forward mode. Tensors are of one type."""

    @staticmethod
    def forward(compiled: Compiled, chain: Chain, *tensors: Tensor) -> Any:
        return run(compiled, chain, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.compiled, ctx.chain, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        tensors = ctx.saved_tensors
        chain, wrt, cotangents = _pull(ctx.chain, ctx.needs_input_grad[2:], grads)
        results: list[Tensor | None] = [None] * (2 + len(tensors))
        if cotangents:
            found = Run.apply(ctx.compiled, chain, *tensors, *cotangents)
            for k, g in zip(wrt, _listed(found)):
                results[2 + k] = _fit(g, tensors[k])
        return tuple(results)

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *tangents: Tensor | None) -> Any:
        tensors = ctx.saved_tensors
        along = tuple(k for k, t in enumerate(tangents) if t is not None)
        chain = (*ctx.chain, ("jvp", along, ()))
        found = Run.apply(ctx.compiled, chain, *tensors, *(t for t in tangents if t is not None))
        half = found[len(found) // 2 :]
        return half[0] if len(half) == 1 else tuple(half)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], compiled: Compiled, chain: Chain, *tensors: Tensor) -> Any:
        moved, shapes = in_front(compiled, chain, tensors, in_dims[2:])
        found = tuple(fitted(_listed(Run.apply(compiled, chain, *moved)), shapes))
        return (found[0], 0) if len(found) == 1 else (found, (0,) * len(found))


def apply(compiled: Compiled, chain: Chain, tensors: Sequence[Tensor]) -> Any:
    """Runs with autograd, by way of whatever transform is active."""
    return Run.apply(compiled, chain, *tensors)
