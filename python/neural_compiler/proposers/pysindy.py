"""PySINDy as a proposer of differential equations: `--proposer 'python -m neural_compiler.proposers.pysindy'`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .protocol import Request, serve

THRESHOLDS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)


def term(name: str, states: list[str]) -> str:
    """A feature of a polynomial library, `x0^2 x1`, in the language."""
    if name == "1":
        return ""
    factors: list[str] = []
    for part in name.split():
        base, _, power = part.partition("^")
        factors += [base] * int(power or 1)
    assert all(f in states for f in factors), name
    return " ".join(factors)


def text(states: list[str], features: list[str], coefficients: Any, starts: Any) -> str:
    """A model of the language."""
    lines, number = [], 0
    for state, start in zip(states, starts):
        lines += [f"(param {state}_start {float(start)!r})", f"(state {state} {state}_start)"]
    for state, row in zip(states, coefficients):
        parts = []
        for feature, value in zip(features, row):
            if value != 0.0:
                number += 1
                lines.append(f"(param c{number} {float(value)!r})")
                parts.append(f"(* c{number} {term(feature, states)})")
        lines.append(f"(derive {state} (+ 0 {' '.join(parts)}))")
    return "\n".join(lines)


def propose(request: Request) -> Iterator[tuple[str, str]]:
    """A model for each threshold, once."""
    problem = request.problem
    if request.round > 0 or problem["kind"] != "ode" or problem["of"]["group"] is not None:
        return
    import pysindy

    states = problem["of"]["states"]
    times = np.array(problem["columns"][problem["of"]["time"]], float)
    order = np.argsort(times, kind="stable")
    values = np.column_stack([np.array(problem["columns"][s], float) for s in states])[order]
    seen = set()
    for threshold in THRESHOLDS:
        model = pysindy.SINDy(
            optimizer=pysindy.STLSQ(threshold=threshold),
            feature_library=pysindy.PolynomialLibrary(degree=3),
            differentiation_method=pysindy.SmoothedFiniteDifference(),
        )
        model.fit(values, t=times[order], feature_names=states)
        found = text(states, model.get_feature_names(), model.coefficients(), values[0])
        if found not in seen:
            seen.add(found)
            yield found, f"PySINDy with the threshold {threshold}"


if __name__ == "__main__":
    serve(propose)
