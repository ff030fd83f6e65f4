"""Runs a program on tensors, without autograd. In: tensors of one type on one device; out: a tensor, or a tuple of them.

Natively on the CPU; as torch operations on other devices, or where the program asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import EvaluationError
from .compiled import Chain, Compiled
from .gate import PLAIN, below, is_hidden, is_plain_below, seen, uncast


def run(compiled: Compiled, chain: Chain, tensors: tuple[Tensor, ...], check: bool = False, dtype: torch.dtype | None = None) -> Any:
    """The program, or what `chain` makes of it: a tensor, or a tuple of them for several results. `dtype`: that of a program without
    inputs."""
    if not check and (compiled.on_torch or (tensors and not tensors[0].is_cpu)):
        return _over_hidden(compiled, chain, tensors) if any(map(is_hidden, tensors)) else _run_torch(compiled, chain, tensors)
    function = compiled.function(chain)
    results = function.torch(tensors, torch.get_num_threads(), check)
    if results is not None:
        return results
    # Tensors the quick exchange does not take: hidden batches, lazily negated or zero ones, misaligned memory, an older PyTorch.
    if any(map(is_hidden, tensors)):
        return _over_hidden(compiled, chain, tensors)
    if any(map(is_plain_below, tensors)):
        return run(compiled, chain, tuple(map(below, tensors)), check, dtype)
    if any(type(t) not in PLAIN for t in tensors):
        # What a tensor of another class holds is its own to say, once a transform has taken its own wrapping off.
        from .library import chain_text, run_as_operation

        return run_as_operation(compiled, chain_text(chain), list(tensors))
    double = (tensors[0].dtype if tensors else dtype or torch.get_default_dtype()) == torch.float64
    arrays = [_array(t.detach()) for t in tensors]
    return _plain([torch.from_numpy(a) for a in function.numpy(arrays, None, double, torch.get_num_threads(), check)])


def _array(tensor: Tensor) -> Any:
    """The numbers of a tensor as an array whose memory is what it says, and aligned."""
    if torch._is_zerotensor(tensor):
        return torch.zeros(tensor.shape, dtype=tensor.dtype).numpy()
    return np.require(tensor.resolve_neg().numpy(), requirements="A")


def _run_torch(compiled: Compiled, chain: Chain, tensors: tuple[Tensor, ...]) -> Any:
    code = compiled.lowered(chain, compiled.core_shapes(tensors)).code
    with uncast(tensors):
        found = call(compiled, code, tensors)
    # The engine sums cotangents of inputs that the whole batch shares; torch operations leave it to us.
    return _plain(fitted(found, compiled.result_shapes(chain, tensors))) if chain else _plain(found)


def call(compiled: Compiled, code: Any, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The results of torch code; its errors point into the program's source. A long run asks the native engine whether it ends."""
    from ..fx.failures import relocated
    from ..fx.long import asking

    with asking(lambda: _limit_met(compiled, tensors)):
        try:
            found: Sequence[Tensor] = code(*tensors)
        except EvaluationError as error:
            raise relocated(error, error.lane, compiled.core.source) from None
    return found


def _limit_met(compiled: Compiled, tensors: Sequence[Tensor]) -> EvaluationError | None:
    """The error of a program that meets a limit when it runs natively: its value, for derivatives go round its loops as often."""
    if compiled.limits is not None:
        return None  # They may be wider than those of the engine.
    try:
        inputs = [np.require(seen(t, "hidden"), requirements="A") for t in tensors[: len(compiled.names)]]
    except RuntimeError:
        return None  # Nobody sees what `vmap` hides.
    double = not inputs or inputs[0].dtype == np.float64
    try:
        compiled.function().numpy(inputs, None, double, torch.get_num_threads(), False)
    except EvaluationError as error:
        if error.diagnostic.code.startswith("limit-"):
            return error
    return None


def fitted(results: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """Results summed over what they have beyond these shapes."""
    return [r if r.shape == s else r.sum_to_size(s) for r, s in zip(results, shapes)]


def fitted_behind(results: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """The same where both have an axis in front that is not summed: what is behind it is fitted."""
    wide = [(s[0], *[1] * (r.dim() - len(s)), *s[1:]) for r, s in zip(results, shapes)]
    return [r.reshape(s) for r, s in zip(fitted(results, wide), shapes)]


def _plain(results: Sequence[Tensor]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def in_front(
    compiled: Compiled, chain: Chain, tensors: Sequence[Tensor], dims: Sequence[int | None]
) -> tuple[list[Tensor], list[tuple[int, ...]]]:
    """Moves the axis `vmap` hides to the front of every tensor and of every other batch axis; gives the tensors and the shapes the
    results have with that axis in front.

    A result that is summed over the batch must not be summed over this axis, so every tensor gets it, hidden or not.
    """
    size = next(t.shape[d] for t, d in zip(tensors, dims) if d is not None)
    moved = [t.unsqueeze(0).expand(size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims)]
    inside = [torch.empty(t.shape[1:], device="meta") for t in moved]
    ranks = [len(axes) for axes in compiled.function(chain).input_axes([list(s) for s in compiled.core_shapes(inside)])]
    most = max(t.dim() - r for t, r in zip(inside, ranks))
    aligned = [t.reshape(size, *[1] * (most - (i.dim() - r)), *i.shape) for t, i, r in zip(moved, inside, ranks)]
    return aligned, [(size, *shape) for shape in compiled.result_shapes(chain, inside)]


def _over_hidden(compiled: Compiled, chain: Chain, tensors: Sequence[Tensor]) -> Any:
    """Runs over the batch that `torch.autograd` hides in a tensor when it pulls back many cotangents at once
    (`is_grads_batched=True`). That older kind of `vmap` has no rules for operations of others: its axis is moved by hand."""
    # The innermost one: what the next would be numbered, less one.
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    while True:
        # A tensor without this level is repeated as often as told, here not at all: an empty axis gives it away.
        shown = [torch._remove_batch_dim(t, level, 0, 0) if is_hidden(t) else None for t in tensors]
        size = max(s.shape[0] for s in shown if s is not None)
        if size or level == 1:
            break
        level -= 1
    bare = [t if s is None or s.shape[0] != size else s for t, s in zip(tensors, shown)]
    moved, shapes = in_front(compiled, chain, bare, [None if b is t else 0 for b, t in zip(bare, tensors)])
    found = run(compiled, chain, tuple(moved))
    results = fitted_behind(found if isinstance(found, tuple) else (found,), shapes)
    return _plain([torch._add_batch_dim(r, 0, level) for r in results])
