"""Other threads change what a call reads while it runs: every call sees one value or another, whole, and no freed memory."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import neural_compiler as nc
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import soak

N = 100_000


@contextmanager
def meanwhile(change: Callable[[int], None]) -> Iterator[None]:
    """Calls `change` again and again from another thread."""
    stop, failed = threading.Event(), []

    def go() -> None:
        k = 0
        while not stop.is_set():
            try:
                change(k)
            except Exception as error:
                failed.append(error)
                return
            k += 1

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failed, failed


def test_parameters_are_held_while_a_call_reads_them() -> None:
    program = nc.compile("(+ (vsum (* w w)) x)", inputs={"w": N, "x": ()}, params={"w": np.ones(N)})

    def change(k: int) -> None:
        program.params["w"] = np.full(N, 1.0 + k % 2)

    x = np.zeros(40)
    with meanwhile(change):
        for _ in range(30):
            for found in (program(x=x), program.value_and_grad(x=x)[0]):
                assert np.all(found == N) or np.all(found == 4 * N)


def test_arrays_cannot_be_resized_while_a_call_uses_them() -> None:
    program = nc.compile("(* x (sin (* x x)))")
    x, out = np.full(300_000, 0.5), np.empty(300_000)
    expected = float(program(0.5))

    def change(k: int) -> None:
        for array in (x, out):
            try:
                array.resize(300_000 + k % 2, refcheck=False)
            except ValueError:
                pass  # it is in use

    with meanwhile(change):
        for _ in range(30):
            try:
                found = program(x=x, out=out)
            except ValueError:
                continue  # they had different lengths when the call began
            assert set(np.unique(found)) <= {expected, 0.0}


def test_storage_of_tensors_may_be_exchanged_while_a_call_reads_it() -> None:
    torch = pytest.importorskip("torch")
    n = N // 5
    module = nc.compile_scheme("(vsum (* w w x))", inputs={"w": n, "x": ()}, params={"w": [1.0] * n})
    x = torch.ones(40, dtype=module.w.dtype)

    def change(k: int) -> None:
        new = torch.full((n,), 1.0 + k % 2, dtype=x.dtype)
        with torch.no_grad():
            if k % 3:
                module.w.data = new
            else:
                module.w.set_(new)

    with meanwhile(change), torch.no_grad():
        for _ in range(30):
            found = module(x=x)
            assert torch.all(found == n) or torch.all(found == 4 * n)


def test_a_short_soak() -> None:
    soak.threads(calls=2_000)


def test_a_short_soak_of_modules() -> None:
    pytest.importorskip("torch")
    soak.tensor_threads(calls=4_000)


def test_errors_in_threads_end_a_soak() -> None:
    def call(k: int) -> None:
        raise ValueError(f"call {k}")

    with pytest.raises(ValueError, match="call 0"):
        soak.under_change(lambda k: None, call, calls=8, workers=2)
    with pytest.raises(AssertionError, match="MB more after 0 calls"):
        soak.threads(calls=8, most_bytes=-1 << 40)


SIZES_IN_TURN = """
import os, time
import neural_compiler as nc
import numpy as np

program = nc.compile("(sin (* x (exp x)))")
x = np.linspace(0.0, 1.0, 200_000)
expected = program(x).tobytes()
count = lambda: len(os.listdir("/proc/self/task"))
for n in (*range(2, 20), *range(2, 20)):
    nc.set_num_threads(n)
    assert program(x).tobytes() == expected
# Those of the last two numbers, the main thread, and what NumPy has; ending takes the system a moment.
nc.set_num_threads(1)
deadline = time.monotonic() + 900
while count() > 18 + 19 + 1 + SPARE and time.monotonic() < deadline:
    time.sleep(0.01)
assert count() <= 18 + 19 + 1 + SPARE, count()
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads where Linux lists them")
def test_threads_of_other_numbers_end() -> None:
    # As many as the process has before it asks for any of ours.
    counted = "import os, numpy, neural_compiler; print(len(os.listdir('/proc/self/task')))"
    spare = int(subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, check=True).stdout)
    run = subprocess.run([sys.executable, "-c", SIZES_IN_TURN.replace("SPARE", str(spare))], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
