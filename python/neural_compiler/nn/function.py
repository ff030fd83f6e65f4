"""Autograd: one node per program. Derivatives of every order are programs of their own, run by the same functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _native
from .compiled import Chain, Compiled
from .gate import FORWARD_MODE, HOOKS, WATCHERS
from .run import fitted_behind, in_front, run


def _listed(results: Any) -> tuple[Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)


def pulled_back(
    run: Callable[[Chain, list[Tensor]], Sequence[Tensor]],
    chain: Chain,
    tensors: Sequence[Tensor],
    needs: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The backward pass, whoever runs it: the cotangent of each tensor, or nothing where none is needed or none is given."""
    results: list[Tensor | None] = [None] * len(tensors)
    wrt = tuple(k for k, n in enumerate(needs) if n)
    seeds = tuple(k for k, g in enumerate(grads) if g is not None)
    if wrt and seeds:
        found = run((*chain, ("vjp", wrt, seeds)), [*tensors, *(g for g in grads if g is not None)])
        for k, g in zip(wrt, found):
            # Summed over what broadcasting repeated.
            results[k] = g if g.shape == tensors[k].shape else g.sum_to_size(tensors[k].shape)
    return results


def pushed_forward(
    run: Callable[[Chain, list[Tensor]], Sequence[Tensor]], chain: Chain, tensors: Sequence[Tensor], tangents: Sequence[Tensor | None]
) -> tuple[Tensor, ...]:
    """The forward pass of derivatives, whoever runs it: the tangents of the results."""
    along = tuple(k for k, t in enumerate(tangents) if t is not None)
    found = run((*chain, ("jvp", along, ())), [*tensors, *(t for t in tangents if t is not None)])
    return tuple(found[len(found) // 2 :])


class QuickRun(torch.autograd.Function):
    """For plain eager autograd on the CPU, where nothing but the engine looks on: `Function.plain` and `Caller.call` make such nodes."""

    forward = staticmethod(_native.remember)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        how, tensors, needs = ctx.how, ctx.saved_tensors, ctx.needs_input_grad
        found = how.pull(tensors, grads, needs)
        if found is not None:
            return found

        def longer(chain: Chain, given: list[Tensor]) -> tuple[Tensor, ...]:
            dtype = given[len(tensors)].dtype
            inputs = tuple([t if t.dtype is dtype else t.to(dtype) for t in given])
            return _listed(apply(how.compiled, chain, inputs) if torch.is_grad_enabled() else run(how.compiled, chain, inputs))

        return (None, *pulled_back(longer, (), tensors, needs[1:], grads))


# What the engine calls: the class's own first looks which of two names a backward pass has.
QuickRun._backward_cls.apply = QuickRun.backward  # type: ignore[attr-defined]

_native.use_autograd(
    WATCHERS,
    FORWARD_MODE,
    torch.is_grad_enabled,
    torch.get_num_threads,
    HOOKS,
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
        return (None, None, *pulled_back(_again(ctx), ctx.chain, ctx.saved_tensors, ctx.needs_input_grad[2:], grads))

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *tangents: Tensor | None) -> Any:
        found = pushed_forward(_again(ctx), ctx.chain, ctx.saved_tensors, tangents)
        return found[0] if len(found) == 1 else found

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], compiled: Compiled, chain: Chain, *tensors: Tensor) -> Any:
        moved, shapes = in_front(compiled, chain, tensors, in_dims[2:])
        found = tuple(fitted_behind(_listed(Run.apply(compiled, chain, *moved)), shapes))
        return (found[0], 0) if len(found) == 1 else (found, (0,) * len(found))


def _again(ctx: Any) -> Callable[[Chain, list[Tensor]], tuple[Tensor, ...]]:
    """What runs derivatives of a call: the same function."""
    return lambda chain, tensors: _listed(Run.apply(ctx.compiled, chain, *tensors))


def apply(compiled: Compiled, chain: Chain, tensors: Sequence[Tensor]) -> Any:
    """Runs with autograd, by way of whatever transform is active."""
    return Run.apply(compiled, chain, *tensors)
