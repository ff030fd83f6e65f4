"""The operation PyTorch's compilers see: `neural_compiler::run`. Its arguments are texts and tensors only, so that exported and
compiled graphs hold everything they need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from .compiled import Chain, Compiled, find
from .function import _fit, _pull
from .run import fitted_behind, in_front, run


@lru_cache(maxsize=4096)
def _chain(text: str) -> Chain:
    return tuple((what, tuple(wrt), tuple(seeds)) for what, wrt, seeds in json.loads(text))


def chain_text(chain: Chain) -> str:
    """A chain as the operation takes it."""
    return json.dumps(chain)


@torch.library.custom_op("neural_compiler::run", mutates_args=())
def operation(spec: str, chain: str, inputs: list[Tensor]) -> list[Tensor]:
    """Runs the program `spec` describes, or what `chain` makes of it, on tensors of one type."""
    found = run(find(spec), _chain(chain), tuple(inputs))
    return list(found) if isinstance(found, tuple) else [found]


@operation.register_fake
def _(spec: str, chain: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    shapes = find(spec).result_shapes(_chain(chain), inputs)
    like = inputs[0] if inputs else torch.empty((), dtype=torch.get_default_dtype())
    return [like.new_empty(shape) for shape in shapes]


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.spec, ctx.chain, tensors = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, grads: Sequence[Tensor | None]) -> Any:
    tensors = ctx.saved_tensors
    # The engine asks for all or nothing of a list; which tensors need a gradient is theirs to say.
    chain, wrt, cotangents = _pull(_chain(ctx.chain), [t.requires_grad for t in tensors], grads)
    results: list[Tensor | None] = [None] * len(tensors)
    if cotangents and wrt:
        found = operation(ctx.spec, chain_text(chain), [*tensors, *cotangents])
        for k, g in zip(wrt, found):
            results[k] = _fit(g, tensors[k])
    return None, None, results


operation.register_autograd(_backward, setup_context=_setup)


@operation.register_vmap
def _(info: Any, in_dims: Any, spec: str, chain: str, inputs: Sequence[Tensor]) -> Any:
    compiled: Compiled = find(spec)
    moved, shapes = in_front(compiled, _chain(chain), inputs, in_dims[2])
    found = fitted_behind(operation(spec, chain, moved), shapes)
    return found, [0] * len(found)
