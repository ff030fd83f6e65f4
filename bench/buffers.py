"""Memory for columns. In: a shape; out: an array that starts where a cache line does.

Large NumPy arrays start 16 bytes into a page, so that every 64-byte load or store of theirs touches two cache lines; where it
falls would decide more than what is measured. PyTorch and JAX align their own arrays; this does it for everyone else.
"""

from __future__ import annotations

import numpy as np

LINE = 64


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros."""
    bytes_needed = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(bytes_needed + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + bytes_needed].view(dtype).reshape(shape)
