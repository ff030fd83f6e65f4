"""Runs without a result: the same `EvaluationError` the native backend raises. In: what failed, where, in which lane; out: the error."""

from __future__ import annotations

from .. import _native
from ..errors import EvaluationError


def evaluation_error(code: str, message: str, span: tuple[int, int], lane: int | None = None, source: str | None = None) -> EvaluationError:
    """The error users see. Where the source is not at hand, `relocated` puts it in later."""
    text = " " * span[1] if source is None else source
    return EvaluationError(text, _native.failure(text, code, message, *span), lane)


def relocated(error: EvaluationError, lane: int | None, source: str) -> EvaluationError:
    """An error of a lane that stands elsewhere in the whole batch, with the source it is about."""
    at = error.diagnostic
    return evaluation_error(at.code, at.message, (at.start, at.end), lane, source)
