"""Our engine called from Rust (../engine): batches without the cost of Python."""

from __future__ import annotations

import ctypes

import numpy as np
from buffers import aligned

from . import Case, NotSupported, Prepared, library

LABEL = "ours (Rust)"
LIBRARY = library.load("bench_engine")
LIBRARY.ours_new.restype = ctypes.c_void_p
LIBRARY.ours_new.argtypes = [ctypes.c_char_p, ctypes.c_bool, ctypes.POINTER(ctypes.c_void_p)]
LIBRARY.ours_run.restype = ctypes.c_int64
LIBRARY.ours_run.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_size_t] * 3
LIBRARY.ours_free.restype = LIBRARY.text_free.restype = None
LIBRARY.ours_free.argtypes = LIBRARY.text_free.argtypes = [ctypes.c_void_p]


def version() -> str:
    """This work tree."""
    return "this commit"


def prepare(case: Case) -> Prepared:
    """Runs and repeats inside Rust."""
    text = ctypes.c_void_p()
    handle = LIBRARY.ours_new(case.program.source.encode(), case.gradient, ctypes.byref(text))
    said = ctypes.string_at(text.value or 0).decode()
    LIBRARY.text_free(text)
    if not handle:
        raise NotSupported(said)
    owner = library.Owner(handle, LIBRARY.ours_free)
    # The order of the program's inputs is that of their first appearance in the text.
    order = [said.split().index(name) for name in case.program.inputs]
    out = aligned((case.results, case.lanes), case.dtype)
    given, taken = library.pointers(case.columns), library.pointers(out)
    inputs, outputs = library.pointers(case.columns), library.pointers(out)
    for ours, theirs in enumerate(order):
        inputs[theirs] = given[ours]
        if case.gradient:
            outputs[1 + theirs] = taken[1 + ours]
    bits = case.dtype.itemsize * 8

    def repeat(times: int) -> None:
        failed = LIBRARY.ours_run(owner.handle, bits, inputs, outputs, case.lanes, case.threads, times)
        if failed:
            raise RuntimeError(f"{failed} lanes failed")

    def run() -> np.ndarray:
        repeat(1)
        return out

    return Prepared(run, lambda out: list(out), repeat)
