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
_POWERS = {
    torch.float64: (2.0**-400, 2.0**450, 2.0**700, 2.0**-600),
    torch.float32: (2.0**-50, 2.0**50, 2.0**95, 2.0**-80),
    torch.bfloat16: (2.0**-50, 2.0**50, 2.0**95, 2.0**-80),
}
"""Below and above which largest number a vector is scaled, and by what, so that the square of that number is far from either end. Squares
of half precision are added up in single precision, where all of them are."""


@leaf
def norm(v: Tensor) -> Tensor:
    """The length of each vector."""
    if torch.compiler.is_compiling() or v.dtype not in _EASY or torch._C._functorch.is_legacy_batchedtensor(v):
        return _scaled(v)
    length: Tensor = torch.linalg.vector_norm(v, dim=-1)
    return length if _native.all_between(length, *_EASY[v.dtype]) else _scaled(v)


def _scaled(v: Tensor) -> Tensor:
    if v.dtype not in _POWERS:
        plain: Tensor = torch.linalg.vector_norm(v, dim=-1)
        return plain
    low, high, up, down = _POWERS[v.dtype]
    largest = v.detach().abs().amax(-1)
    # Of three powers one: ONNX, to which torch exports this, cannot take a number apart.
    ordinary = torch.ones_like(largest)
    scale = torch.where((largest > 0) & (largest < low), up * ordinary, torch.where(largest > high, down * ordinary, ordinary))
    found: Tensor = torch.linalg.vector_norm(v * scale[..., None], dim=-1) / scale
    return found
