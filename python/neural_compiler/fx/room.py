"""Room for large values, charged before torch takes it. In: a tensor on its way to an operation, and how many numbers that makes; out: the
tensor, or the error the native backend gives."""

from __future__ import annotations

import math

import torch

from .failures import evaluation_error
from .graph import Node
from .leaf import leaf

MEMORY_BYTES = 2 << 30
"""No value of a program is larger, for each element of a batch."""


def is_large(node: Node) -> bool:
    """Whether a value may be too large: it is in the longest type there is."""
    return not isinstance(node.type, str) and 8 * math.prod(node.type) > MEMORY_BYTES


@leaf
def charged(x: torch.Tensor, numbers: int, span: tuple[int, int]) -> torch.Tensor:
    """The tensor, if so many numbers of its type are within the limit."""
    if numbers * x.element_size() > MEMORY_BYTES:
        raise evaluation_error("limit-memory", f"the run needs more than {MEMORY_BYTES} bytes", span)
    return x
