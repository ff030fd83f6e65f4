"""The length of a vector. In: vectors with any leading batch sizes; out: their lengths, right wherever the length itself is a number of the type.

Squares overflow, or vanish, where lengths do not: the vector is scaled by a power of two first, which changes no bit elsewhere. Where the
numbers can be looked at without waiting for them, it is scaled only if one of the lengths asks for it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .leaf import leaf

_EASY = {torch.float32: (2.0**-40, 2.0**60), torch.float64: (2.0**-400, 2.0**500)}
"""Lengths between these have squares far from either end of the type, and what vanishes beside them is far below their last bit."""


@leaf
def norm(v: Tensor) -> Tensor:
    """The length of each vector."""
    if not _in_sight(v):
        return _scaled(v)
    length: Tensor = torch.linalg.vector_norm(v, dim=-1)
    if length.numel() == 0:
        return length
    least, most = length.detach().aminmax()
    low, high = _EASY[v.dtype]
    # NaN compares as false, too.
    return length if low <= least.item() and most.item() <= high else _scaled(v)


def _scaled(v: Tensor) -> Tensor:
    largest = v.detach().abs().amax(-1)
    power = largest / (2 * torch.frexp(largest)[0])
    scale = torch.where((largest > 0) & torch.isfinite(largest), power, 1.0)
    found: Tensor = torch.linalg.vector_norm(v / scale[..., None], dim=-1) * scale
    return found


def _in_sight(v: Tensor) -> bool:
    """Whether the numbers are there to be looked at: on the CPU, and no tracer or transform stands between."""
    return (
        not torch.compiler.is_compiling()
        and type(v) in (Tensor, nn.Parameter)
        and v.is_cpu
        and v.dtype in _EASY
        and torch._C._functorch.peek_interpreter_stack() is None
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._is_tracing()
        and not torch._C._functorch.is_legacy_batchedtensor(v)
    )
