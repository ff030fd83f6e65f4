"""The two libraries of the benchmark, built by `make bench-env`. In: a name; out: the library and pointers it understands."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

PLACE = Path(os.environ.get("BENCH_LIBRARIES", Path(__file__).parent.parent / "target" / "release"))


def load(name: str) -> ctypes.CDLL:
    """`OSError` when it is not built."""
    path = PLACE / (f"lib{name}.dylib" if sys.platform == "darwin" else f"lib{name}.so")
    if not path.exists():
        raise OSError(f"{path.name} is not built: make bench-env")
    return ctypes.CDLL(str(path))


def pointers(rows: np.ndarray) -> ctypes.Array[ctypes.c_void_p]:
    """The addresses of the rows; they keep the matrix alive."""
    addresses = (ctypes.c_void_p * len(rows))(*(rows.ctypes.data + i * rows.strides[0] for i in range(len(rows))))
    addresses.matrix = rows  # type: ignore[attr-defined]
    return addresses


class Owner:
    """Frees a handle when it is dropped."""

    def __init__(self, handle: int, free: Callable[[int], None]) -> None:
        self.handle = handle
        self._free = free

    def __del__(self) -> None:
        self._free(self.handle)
