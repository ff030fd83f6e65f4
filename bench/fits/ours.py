"""Our `fit` from the declared values alone, as the others start; compiling the model is part of it."""

from __future__ import annotations

from collections.abc import Callable

import neural_compiler

from .problems import Problem

LABEL = "ours"
STARTS: int | None = 1


def version() -> str:
    """This work tree."""
    return "this commit"


def prepare(problem: Problem, starts: int | None = STARTS) -> Callable[[], dict[str, float]]:
    """From text to constants with standard errors."""

    def run() -> dict[str, float]:
        # A model with states looks for a start by multiple shooting unless it may follow one start only.
        chosen = starts if problem.formula is not None else 2 if starts == 1 else starts
        found = neural_compiler.fit(problem.model, problem.data, starts=chosen, threads=1, **problem.options)
        return {k: float(v) for k, v in found.params.items()}

    return run
