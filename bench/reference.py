"""What the right results are. In: a case; out: values by NumPy in f64 and derivatives by the complex step, at some of the lanes.

The complex step f(x + ih)/h has no subtraction, so its derivatives are good to the last digits; it shares no code with any
contender. Invariant: a contender whose results leave the tolerance is never timed.
"""

from __future__ import annotations

import numpy as np
from peers import Case, Namespace

LANES_CHECKED = 512
INPUTS_CHECKED = 24
TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-12}
"""Relative to the size of the column: contenders round differently, a result near zero is a difference of larger numbers."""


class Real(Namespace):
    """NumPy; comparisons look at the real part of a complex step."""

    def __init__(self) -> None:
        super().__init__(np, float)

    less = staticmethod(lambda a, b: np.real(a) < np.real(b))
    greater = staticmethod(lambda a, b: np.real(a) > np.real(b))
    at_least = staticmethod(lambda a, b: np.real(a) >= np.real(b))


def verify(case: Case, results: list[np.ndarray]) -> str | None:
    """What is wrong with these results, if anything is."""
    if len(results) != case.results or any(r.shape != (case.lanes,) for r in results):
        return (
            f"{len(results)} columns of shapes {sorted({r.shape for r in results})}, {case.results} of {case.lanes} numbers were asked for"
        )
    lanes = np.unique(np.linspace(0, case.lanes - 1, LANES_CHECKED).astype(int))
    columns = case.columns[:, lanes].astype(np.float64)
    formula = case.program.formula
    expected = {0: np.broadcast_to(formula(Real(), *columns), lanes.shape)}
    if case.gradient:
        step = 1e-30
        every = max(1, len(columns) // INPUTS_CHECKED)
        for k in range(0, len(columns), every):
            moved = list(columns.astype(np.complex128))
            moved[k] = moved[k] + 1j * step
            expected[1 + k] = np.imag(np.broadcast_to(formula(Real(), *moved), lanes.shape)) / step
    for k, right in expected.items():
        got = results[k][lanes].astype(np.float64)
        size = np.sqrt(np.mean(right**2))
        off = np.abs(got - right) / (np.abs(right) + size + 1e-300)
        if not np.all(off <= TOLERANCE[case.dtype]):
            worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            what = "the value" if k == 0 else f"d/d{list(case.program.inputs)[k - 1]}"
            return f"{what} of lane {lanes[worst]} is {got[worst]:.9g}, should be {right[worst]:.9g}"
    return None
