"""Runs that go on and on. In: a way to ask somebody faster whether a run ends; out: the error of one that does not.

A round of a loop as torch operations costs a thousand times what it costs natively: a lane that never ends, as where a test of NaN never
holds, would reach the limit of rounds after hours. Who calls torch code of a program may say how to ask; the machine asks once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import EvaluationError

LONG = 1 << 12
"""Rounds and calls after which a run is long."""

_ask: ContextVar[Callable[[], EvaluationError | None] | None] = ContextVar("ask", default=None)


class Endless(Exception):
    """A run that was found to have no end; `error` says so to users."""

    def __init__(self, error: EvaluationError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def asking(ask: Callable[[], EvaluationError | None]) -> Iterator[None]:
    """Lets runs of torch code that turn out long ask: the answer is the error of a run that meets a limit."""
    before = _ask.set(ask)
    try:
        yield
    except Endless as found:
        raise found.error from None
    finally:
        _ask.reset(before)


def look_ahead() -> None:
    """Asks, if anybody can be asked."""
    ask = _ask.get()
    error = ask() if ask is not None else None
    if error is not None:
        raise Endless(error)
