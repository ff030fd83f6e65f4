"""Our `fit` as it comes: as many starts as it takes to be sure of the best minimum."""

from __future__ import annotations

from collections.abc import Callable

from . import ours
from .problems import Problem

LABEL = "ours, many starts"
version = ours.version


def prepare(problem: Problem) -> Callable[[], dict[str, float]]:
    """Default settings."""
    return ours.prepare(problem, None)
