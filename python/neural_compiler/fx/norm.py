"""The length of a vector. In: vectors with any leading batch sizes; out: their lengths, right wherever the length itself is a number of
the type.

Squares overflow, or vanish, where lengths do not: the vector is scaled by a power of two first, which changes no bit elsewhere. Where
the numbers can be looked at without waiting for them, and no tracer or transform hides them, it is scaled only if one of the lengths
asks for it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import _native
from .leaf import leaf

_EASY = {torch.float32: (2.0**-40, 2.0**60), torch.float64: (2.0**-400, 2.0**500)}
"""Lengths between these have squares far from either end of the type, and what vanishes beside them is far below their last bit."""


@leaf
def norm(v: Tensor) -> Tensor:
    """The length of each vector."""
    if torch.compiler.is_compiling() or v.dtype not in _EASY or torch._C._functorch.is_legacy_batchedtensor(v):
        return _scaled(v)
    length: Tensor = torch.linalg.vector_norm(v, dim=-1)
    return length if _native.all_between(length, *_EASY[v.dtype]) else _scaled(v)


def _scaled(v: Tensor) -> Tensor:
    largest = v.detach().abs().amax(-1)
    power = largest / (2 * torch.frexp(largest)[0])
    scale = torch.where((largest > 0) & torch.isfinite(largest), power, 1.0)
    found: Tensor = torch.linalg.vector_norm(v / scale[..., None], dim=-1) * scale
    return found
