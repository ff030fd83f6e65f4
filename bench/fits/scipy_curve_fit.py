"""`scipy.optimize.curve_fit` without a Jacobian: derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from peers import NotSupported
from scipy.optimize import curve_fit

from .problems import Problem

LABEL = "scipy curve_fit"


def version() -> str:
    """Of SciPy."""
    return scipy.__version__


def prepare(problem: Problem) -> Callable[[], dict[str, float]]:
    """The function in NumPy, as a user writes it."""
    formula = problem.formula
    if formula is None:
        raise NotSupported("curve_fit knows no models with states")

    def run() -> dict[str, float]:
        found, _ = curve_fit(lambda x, *p: formula(np, x, *p), problem.data["x"], problem.data["y"], p0=list(problem.start.values()))
        return dict(zip(problem.start, map(float, found)))

    return run
