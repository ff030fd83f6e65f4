"""Recursion without Python's stack. In: a generator that yields the generators it needs and is sent their results; out: its result."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

Deep = Generator[Any, Any, list[Any]]
"""A computation that yields computations of its kind."""


def run(computation: Deep) -> list[Any]:
    """Runs a computation and all it needs, however deep."""
    stack = [computation]
    sent: Any = None
    while True:
        try:
            stack.append(stack[-1].send(sent))
            sent = None
        except StopIteration as end:
            stack.pop()
            sent = end.value
            if not stack:
                return list(sent)
