"""Runs without a result: the same `EvaluationError` the native backend raises. In: what failed, where, in which lane; out: the error."""

from __future__ import annotations

from ..errors import EvaluationError


def evaluation_error(code: str, message: str, span: tuple[int, int], lane: int | None = None, source: str = "") -> EvaluationError:
    """The error users see."""
    start, end = span
    before = source.encode()[:start].decode(errors="replace")
    found = {
        "code": code,
        "severity": "error",
        "message": message,
        "start": start,
        "end": end,
        "line": before.count("\n") + 1,
        "column": len(before) - before.rfind("\n"),
        "labels": [],
        "help": None,
        "text": f"error[{code}] at {start}..{end}: {message}",
    }
    return EvaluationError(source, found, lane)


def relocated(error: EvaluationError, lane: int | None, source: str) -> EvaluationError:
    """An error of a lane that stands elsewhere in the whole batch."""
    at = error.diagnostic
    return evaluation_error(at.code, at.message, (at.start, at.end), lane, source)
