"""Ours beside SciPy's. In: a case; out: how far constants and error bars are apart, and the ratio of the times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log10
from typing import TypeVar

import neural_compiler as nc

from .cases import Case
from .reference import Answer, answer, usual

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    what: str
    constants: str
    digits: float
    """Common digits of the worst constant; `inf`: the same numbers."""
    errors: float
    """Common digits of the worst standard error."""
    off: float
    """How far the worst constant is from SciPy's, in standard errors."""
    loglik: float
    """Difference of the log-likelihoods."""
    ours: float
    scipy: float
    wrong: str | None


def digits(a: float, b: float) -> float:
    """Common digits of two numbers."""
    return inf if a == b else -log10(abs(a - b) / abs(b)) if b else 0.0


REPEATS = 3
"""How often a fit of less than a second is timed again, ours and SciPy's alike."""


def fastest(run: Callable[[], T], repeats: int) -> tuple[T, float]:
    """What a run gives, and the processor time of the fastest of some, in seconds."""
    begun = time.process_time()
    found = run()
    least = time.process_time() - begun
    for _ in range(repeats if least < 1 else 0):
        begun = time.process_time()
        run()
        least = min(least, time.process_time() - begun)
    return found, least


def compare(case: Case, known: Answer | None = None, timed: bool = True) -> Row:
    """Beside a known answer, or one found now."""
    table, options = case.table(), dict(case.options)
    found, ours = fastest(lambda: nc.fit(case.model, table, **options), REPEATS if timed else 0)
    best = known or answer(case, {name: float(found.params[name]) for name in case.start()})
    exact = max(best.errors[n] / abs(v or 1) for n, v in best.values.items()) < 1e-6
    off = max(abs(float(found.params[n]) - v) / (abs(v) if exact else best.errors[n]) for n, v in best.values.items())
    wrong = None
    if not off < (1e-6 if exact else case.within * 1e3):
        wrong = f"off by {off:.2g} {'relatively' if exact else 'standard errors'}"
    elif not exact and any(found.params[n].stderr is None for n in best.values):
        wrong = "no error bar: " + "; ".join(f"{n} {found.params[n].note}" for n in best.values if found.params[n].stderr is None)
    same = inf if exact else min(digits(found.params[n].stderr or 0.0, e) for n, e in best.errors.items())
    shown = ", ".join(
        repr(found.params[n]) if found.params[n].stderr is not None else f"{float(found.params[n]):.6g}" for n in list(best.values)[:3]
    )
    likely = 0.0 if exact else found.loglik - best.loglik
    return Row(
        case.name,
        case.what,
        shown,
        min(digits(float(found.params[n]), v) for n, v in best.values.items()),
        same,
        off,
        likely,
        ours,
        fastest(lambda: usual(case), REPEATS)[1] if timed else 0.0,
        wrong,
    )
