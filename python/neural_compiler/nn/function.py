"""Autograd: one node per program. Derivatives of every order are programs of their own, run by the same functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.autograd.forward_ad
import torch.nn.modules.module as modules
from torch import Tensor

from .. import _native
from .compiled import Chain, Compiled
from .run import fitted_behind, in_front, run


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


def _push(chain: Chain, tangents: Sequence[Tensor | None]) -> tuple[Chain, list[Tensor]]:
    """The chain of the forward pass, which gives results and then their tangents, and the tangents there are."""
    along = tuple(k for k, t in enumerate(tangents) if t is not None)
    return (*chain, ("jvp", along, ())), [t for t in tangents if t is not None]


class QuickRun(torch.autograd.Function):
    """For plain eager autograd on the CPU, where nothing but the engine looks on: `Function.plain` and `Caller.call` make such nodes."""

    forward = staticmethod(_native.remember)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        how, tensors, needs = ctx.how, ctx.saved_tensors, ctx.needs_input_grad
        found = how.pull(tensors, grads, needs)
        if found is not None:
            return found
        chain, wrt, cotangents = _pull((), needs[1:], grads)
        results: list[Tensor | None] = [None] * (1 + len(tensors))
        if cotangents:
            dtype = cotangents[0].dtype
            inputs = tuple([t if t.dtype is dtype else t.to(dtype) for t in (*tensors, *cotangents)])
            found = apply(how.compiled, chain, inputs) if torch.is_grad_enabled() else run(how.compiled, chain, inputs)
            for k, g in zip(wrt, _listed(found)):
                results[1 + k] = _fit(g, tensors[k])
        return tuple(results)


# What the engine calls: the class's own first looks which of two names a backward pass has.
QuickRun._backward_cls.apply = QuickRun.backward  # type: ignore[attr-defined]

_native.use_autograd(
    [
        torch._C._functorch.peek_interpreter_stack,
        torch._C._len_torch_dispatch_stack,
        torch._C._len_torch_function_stack,
        torch._C._is_tracing,
        torch._C._is_any_autocast_enabled,
    ],
    vars(torch.autograd.forward_ad),
    torch.is_grad_enabled,
    torch.get_num_threads,
    [
        modules._global_forward_hooks,
        modules._global_forward_pre_hooks,
        modules._global_backward_hooks,
        modules._global_backward_pre_hooks,
    ],
    # The class's own `apply` first looks for transforms; whoever calls this has looked already.
    super(torch.autograd.Function, QuickRun).apply,
)


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
        chain, along = _push(ctx.chain, tangents)
        found = Run.apply(ctx.compiled, chain, *tensors, *along)
        half = found[len(found) // 2 :]
        return half[0] if len(half) == 1 else tuple(half)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], compiled: Compiled, chain: Chain, *tensors: Tensor) -> Any:
        moved, shapes = in_front(compiled, chain, tensors, in_dims[2:])
        found = tuple(fitted_behind(_listed(Run.apply(compiled, chain, *moved)), shapes))
        return (found[0], 0) if len(found) == 1 else (found, (0,) * len(found))


def apply(compiled: Compiled, chain: Chain, tensors: Sequence[Tensor]) -> Any:
    """Runs with autograd, by way of whatever transform is active."""
    return Run.apply(compiled, chain, *tensors)
