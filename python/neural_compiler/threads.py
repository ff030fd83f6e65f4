"""How many threads a batch may use. PyTorch modules follow `torch.get_num_threads()` instead."""

from __future__ import annotations

import os

_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Lets batches of NumPy arrays use at most `n` threads.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    """
    global _threads
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"a number of threads is 1 or more, not {n!r}")
    _threads = n


def get_num_threads() -> int:
    """At most this many threads work on a batch of NumPy arrays; at first, as many as there are cores to run on."""
    return _threads
