"""Long runs of what the tests do shortly: calls while other threads change what they read, forks after use, ever new lengths.

    python tools/soak.py             # everything, about half an hour: `make soak`
    python tools/soak.py threads     # one of: threads, tensor_threads, forks, lengths, tensor_lengths

Each prints what it did, how long it took and the memory it held. A wrong number, an error in any thread, a child that fails or hangs, or
memory beyond the bound ends the whole with an error; so do two hours in one of them, with the place of every thread.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import threading
import time
from collections.abc import Callable

import neural_compiler as nc
import numpy as np


def resident() -> int:
    """Bytes of memory this process holds."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def under_change(change: Callable[[int], None], call: Callable[[int], None], calls: int, workers: int) -> int:
    """Makes the calls from several threads while another changes what they read. How often it did; raises the first error of any thread."""
    stop, failed, changes = threading.Event(), [], [0]

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def go() -> None:
            try:
                work()
            except BaseException as error:  # handed to the caller's thread
                failed.append(error)

        return go

    def changing() -> None:
        while not stop.is_set():
            change(changes[0])
            changes[0] += 1

    def calling() -> None:
        for k in range(calls // workers):
            if failed:
                return
            call(k)

    changer = threading.Thread(target=guarded(changing))
    callers = [threading.Thread(target=guarded(calling)) for _ in range(workers)]
    changer.start()
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    changer.join()
    if failed:
        raise failed[0]
    return changes[0]


def bounded(before: int, most_bytes: int, k: int) -> None:
    """Looks that no more memory came than it may."""
    more = resident() - before
    assert more < most_bytes, f"{more >> 20} MB more after {k} calls"


def threads(calls: int = 1_000_000, workers: int = 4, n: int = 1_000, most_bytes: int = 500 << 20) -> str:
    """Calls from several threads while another exchanges the parameters: every result is that of one parameter or the other."""
    program = nc.compile("(+ (vsum (* w w)) x)", inputs={"w": n, "x": ()}, params={"w": np.ones(n)})
    batches = [np.zeros(k) for k in (1, 7, 300)]
    before = resident()

    def change(k: int) -> None:
        program.params["w"] = np.full(n, 1.0 + k % 2)

    def call(k: int) -> None:
        x = batches[k % len(batches)]
        found = program(x=x) if k % 5 else program.value_and_grad(x=x)[0]
        assert np.all(found == n) or np.all(found == 4 * n), f"neither {n} nor {4 * n}: {found[:3]}"
        if k % 1000 == 0:
            bounded(before, most_bytes, k)

    return f"{calls} calls from {workers} threads, {under_change(change, call, calls, workers)} changes"


def tensor_threads(calls: int = 200_000, workers: int = 4, n: int = 1_000, most_bytes: int = 500 << 20) -> str:
    """The same with a module whose parameter another thread exchanges, values and gradients."""
    import torch
    from neural_compiler import compile_scheme

    module = compile_scheme("(vsum (* w w x))", inputs={"w": n, "x": ()}, params={"w": [1.0] * n})
    batches = [torch.ones(k, dtype=module.w.dtype, requires_grad=True) for k in (1, 7, 40)]
    before = resident()

    def change(k: int) -> None:
        module.w.data = torch.full((n,), 1.0 + k % 2, dtype=module.w.dtype)

    def call(k: int) -> None:
        x = batches[k % len(batches)]
        found = module(x=x)
        assert torch.all(found == n) or torch.all(found == 4 * n), f"neither {n} nor {4 * n}: {found[:3]}"
        if k % 5 == 0:
            (slope,) = torch.autograd.grad(found.sum(), x)
            assert torch.all((slope == n) | (slope == 4 * n)), f"neither {n} nor {4 * n}: {slope[:3]}"
        if k % 1000 == 0:
            bounded(before, most_bytes, k)

    return f"{calls} calls from {workers} threads, {under_change(change, call, calls, workers)} changes"


def forks(count: int = 2_000) -> str:
    """Children that use programs, modules, their gradients and fits their parent has used, while another thread of the parent uses them
    too."""
    import signal

    import torch
    from neural_compiler import compile_scheme

    program = nc.compile("(* x (sin (* x y)))")
    module = compile_scheme("(param a 1.5) (* a x (sin x))")
    before = nc.get_num_threads()
    nc.set_num_threads(4)
    x = np.linspace(0, 1, 20_000)
    tensor = torch.linspace(0, 1, 20_000, dtype=torch.float64, requires_grad=True)
    table = {"x": x[::400], "y": 2 * np.exp(0.5 * x[::400])}

    def used(k: int) -> list[object]:
        """What a process computes: all of it in every tenth child, a program in the others."""
        found: list[object] = [program(x, 0.5).tobytes()]
        if k % 10 == 0:
            value = module(x=tensor)
            found.append(value.detach().numpy().tobytes())
            found += [g.numpy().tobytes() for g in torch.autograd.grad(value, [tensor, module.a], torch.ones_like(value))]
            found.append(nc.fit("(param a 1) (param b 1) (* a (exp (* b x)))", table, target="y", starts=4).params["a"])
        return found

    expected = used(0)
    stop = threading.Event()

    def busy() -> None:
        k = 0
        while not stop.is_set():
            program(x[: 5_000 + k % 3], 0.5)
            k += 1

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for k in range(count):
            child = os.fork()
            if child == 0:
                # A child that hangs is ended by its alarm, which is a signal the parent sees.
                signal.alarm(120)
                try:
                    found = used(k)
                    os._exit(0 if found == expected[: len(found)] else 1)
                finally:
                    os._exit(2)
            status = os.waitpid(child, 0)[1]
            assert status == 0, f"child {k}: {'signal' if status < 256 else 'exit code'} {status if status < 256 else status >> 8}"
    finally:
        stop.set()
        thread.join()
        nc.set_num_threads(before)
    return f"{count} forks"


def lengths(calls: int = 100_000, lengths: int = 10_000, most_bytes: int = 500 << 20) -> str:
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
            bounded(before, most_bytes, k)
    return f"{calls} calls, {lengths} lengths, {(resident() - before) >> 20} MB more than before"


def tensor_lengths(calls: int = 100_000, lengths: int = 10_000, most_bytes: int = 500 << 20) -> str:
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
            bounded(before, most_bytes, k)
    return f"{calls} calls, {lengths} lengths, {(resident() - before) >> 20} MB more than before"


PARTS = (threads, tensor_threads, forks, lengths, tensor_lengths)

if __name__ == "__main__":
    named = {part.__name__: part for part in PARTS}
    if unknown := [name for name in sys.argv[1:] if name not in named]:
        sys.exit(f"no part {unknown[0]}: {', '.join(named)}")
    for name in sys.argv[1:] or named:
        faulthandler.dump_traceback_later(7200, exit=True)
        begun = time.perf_counter()
        did = named[name]()
        print(f"{name}: {did}, {time.perf_counter() - begun:.0f} s, {resident() >> 20} MB resident: fine", flush=True)
    faulthandler.cancel_dump_traceback_later()
