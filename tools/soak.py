"""Long runs of what the tests do shortly: calls while other threads change what they read, forks after use, ever new lengths.

    python tools/soak.py             # everything, about half an hour: `make soak`
    python tools/soak.py threads     # one of: threads, forks, lengths, tensor_lengths

Each ends with an AssertionError where something is wrong, or with the process where memory is.
"""

from __future__ import annotations

import gc
import os
import sys
import threading

import neural_compiler as nc
import numpy as np


def resident() -> int:
    """Bytes of memory this process holds."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def threads(calls: int = 1_000_000, workers: int = 4, n: int = 1_000) -> None:
    """Calls from several threads while another exchanges the parameters: every result is that of one parameter or the other."""
    program = nc.compile("(+ (vsum (* w w)) x)", inputs={"w": n, "x": ()}, params={"w": np.ones(n)})
    batches = [np.zeros(k) for k in (1, 7, 300)]
    stop, failed = threading.Event(), []

    def change() -> None:
        k = 0
        while not stop.is_set():
            program.params["w"] = np.full(n, 1.0 + k % 2)
            k += 1

    def call(count: int) -> None:
        for k in range(count):
            x = batches[k % len(batches)]
            found = program(x=x) if k % 5 else program.value_and_grad(x=x)[0]
            if not (np.all(found == n) or np.all(found == 4 * n)):
                failed.append(found)
                return

    changing = threading.Thread(target=change)
    calling = [threading.Thread(target=call, args=(calls // workers,)) for _ in range(workers)]
    changing.start()
    for thread in calling:
        thread.start()
    for thread in calling:
        thread.join()
    stop.set()
    changing.join()
    assert not failed, failed[:3]


def forks(count: int = 2_000) -> None:
    """Children that use programs and threads their parent has used, while other threads of the parent use them too."""
    program = nc.compile("(* x (sin (* x y)))")
    before = nc.get_num_threads()
    nc.set_num_threads(4)
    x = np.linspace(0, 1, 20_000)
    expected = program(x, 0.5)
    stop = threading.Event()

    def busy() -> None:
        k = 0
        while not stop.is_set():
            program(x[: 5_000 + k % 3], 0.5)
            k += 1

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                # A child that hangs is ended by its alarm, which is a signal the parent sees.
                import signal

                signal.alarm(120)
                os._exit(0 if np.array_equal(program(x, 0.5), expected) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
        nc.set_num_threads(before)


def lengths(calls: int = 100_000, lengths: int = 10_000, most_bytes: int = 500 << 20) -> None:
    """Vectors of ever new lengths: memory stays bounded."""
    program = nc.compile("(vsum (* v (sin v)))", inputs=["v"])
    numbers = np.linspace(0, 1, lengths)
    gc.collect()
    before = resident()
    for k in range(calls):
        n = 1 + (k * 7919) % lengths
        if k % 10:
            program(v=numbers[:n])
        else:
            program.value_and_grad(v=numbers[:n])
        if k % 100 == 0:
            assert resident() - before < most_bytes, f"{(resident() - before) >> 20} MB more after {k} calls"


def tensor_lengths(calls: int = 100_000, lengths: int = 10_000, most_bytes: int = 500 << 20) -> None:
    """The same with a module and its gradients, on both backends."""
    import torch
    from neural_compiler import compile_scheme

    modules = [compile_scheme("(vsum (* v (sin v)))", inputs=["v"], backend=backend) for backend in ("native", "torch")]
    for module in modules:
        module(v=torch.ones(3, requires_grad=True)).backward()
    gc.collect()
    before = resident()
    for k in range(calls):
        n = 1 + (k * 7919) % lengths
        modules[k % 2](v=torch.linspace(0, 1, n).requires_grad_()).backward()
        if k % 100 == 0:
            assert resident() - before < most_bytes, f"{(resident() - before) >> 20} MB more after {k} calls"


if __name__ == "__main__":
    for name in sys.argv[1:] or ["threads", "forks", "lengths", "tensor_lengths"]:
        globals()[name]()
        print(f"{name}: fine, {resident() >> 20} MB resident", flush=True)
