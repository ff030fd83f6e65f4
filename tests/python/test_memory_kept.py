"""What programs keep for shapes they have seen is bounded, and goes with them."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import soak


def test_ever_new_lengths_of_arrays() -> None:
    soak.lengths(calls=1_500, lengths=1_000, most_bytes=200 << 20)


def test_ever_new_lengths_of_tensors() -> None:
    pytest.importorskip("torch")
    soak.tensor_lengths(calls=600, lengths=400, most_bytes=200 << 20)


def test_programs_go_with_their_modules() -> None:
    pytest.importorskip("torch")
    import torch
    from neural_compiler import compile_scheme
    from neural_compiler.nn import compiled

    module = compile_scheme("(vsum (* 3.25 v v))")
    module(v=torch.ones(5, requires_grad=True)).backward()
    spec = module._spec
    assert spec in compiled._found
    del module
    gc.collect()
    assert spec not in compiled._found


def test_dropped_modules_leave_no_memory() -> None:
    pytest.importorskip("torch")
    import torch
    from neural_compiler import compile_scheme

    def make(first: int, count: int) -> None:
        for k in range(first, first + count):
            module = compile_scheme(f"(vsum (* {k}.5 (exp (* -0.01 v v))))")
            module(v=torch.ones(2_000, requires_grad=True)).backward()
        del module
        gc.collect()

    # Caches of the allocator and of PyTorch fill first.
    make(0, 300)
    before = soak.resident()
    make(300, 1_000)
    assert soak.resident() - before < 60 << 20, "a module of these that stayed would keep 100 kB and more"
