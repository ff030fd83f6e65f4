"""What a training step costs, one way beside another. In: training loops; out: seconds per step, and ratios to the hand-written one.

The loops take turns in short rounds and each round gives a ratio, so that what else the machine does falls on all of them; the median of
the ratios is reported."""

from __future__ import annotations

import statistics
import time

from .training import Loop


def compare(loops: dict[str, Loop], base: str, rounds: int, steps: int) -> dict[str, dict[str, float]]:
    """For each loop: `seconds` per step (median) and `ratio` to `base`."""
    for loop in loops.values():
        for _ in range(3):
            loop.step()
    taken: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(rounds):
        order = list(loops) if turn % 2 == 0 else list(reversed(loops))
        for name in order:
            begun = time.perf_counter()
            for _ in range(steps):
                loops[name].step()
            taken[name].append((time.perf_counter() - begun) / steps)
    return {
        name: {
            "seconds": statistics.median(times),
            "ratio": statistics.median(t / b for t, b in zip(times, taken[base])),
        }
        for name, times in taken.items()
    }
