"""Loops written by hand in Rust and compiled for this CPU (../native): the limit. exp, sin and cos are those of the crate `wide`."""

from __future__ import annotations

import ctypes

import numpy as np
from buffers import aligned

from . import Case, NotSupported, Prepared, library

LABEL = "native loop"
LIBRARY = library.load("bench_native")
LIBRARY.native_new.restype = ctypes.c_void_p
LIBRARY.native_new.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_bool]
LIBRARY.native_run.restype = None
LIBRARY.native_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p] + [ctypes.c_size_t] * 4
LIBRARY.native_free.restype = None
LIBRARY.native_free.argtypes = [ctypes.c_void_p]


def version() -> str:
    """What it was built with."""
    return "rustc -C target-cpu=native, wide 1.7.1"


def prepare(case: Case) -> Prepared:
    """Runs and repeats inside Rust."""
    handle = LIBRARY.native_new(case.program.name.encode(), case.dtype.itemsize * 8, case.gradient)
    if not handle:
        raise NotSupported("not written by hand")
    out = aligned((case.results, case.lanes), case.dtype)
    inputs, outputs = library.pointers(case.columns), library.pointers(out)
    owner = library.Owner(handle, LIBRARY.native_free)

    def repeat(times: int) -> None:
        LIBRARY.native_run(owner.handle, inputs, len(inputs), outputs, len(outputs), case.lanes, case.threads, times)

    def run() -> np.ndarray:
        repeat(1)
        return out

    return Prepared(run, lambda out: list(out), repeat)
