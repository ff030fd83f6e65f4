"""SciPy's answer. In: a case; out: constants, standard errors and log-likelihood at tight tolerances, and the time of the fit a user of
SciPy would run: `least_squares` with finite differences from the declared values, `solve_ivp` at 1e-8.

Columns with scales of their own are weighted until the weights are what the fit leaves unexplained, the maximum of the likelihood."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from .cases import Array, Case

TIGHT = 1e-12
USUAL = 1e-8
EXPECTED = Path(__file__).parent / "expected.json"


@dataclass(frozen=True)
class Answer:
    """What a fit found."""

    values: dict[str, float]
    errors: dict[str, float]
    loglik: float


class Problem:
    """Residuals of a case as SciPy wants them."""

    def __init__(self, case: Case, tolerance: float) -> None:
        self.case, self.tolerance, self.table = case, tolerance, case.table()
        self.names = list(case.start())
        predicted = case.predict(self.table, case.start(), USUAL)
        self.columns = {name: np.isfinite(self.table[name]) for name in predicted}
        self.scales = dict.fromkeys(self.columns, 1.0)

    def parts(self, theta: Array) -> dict[str, Array]:
        predicted = self.case.predict(self.table, dict(zip(self.names, theta, strict=True)), self.tolerance)
        sigma = self.table[self.case.weights] if self.case.weights else None
        off = {name: (predicted[name] - self.table[name])[there] for name, there in self.columns.items()}
        return off if sigma is None else {name: r / sigma[self.columns[name]] for name, r in off.items()}

    def residuals(self, theta: Array) -> Array:
        found = np.concatenate([r / self.scales[name] for name, r in self.parts(theta).items()])
        return np.where(np.isfinite(found), found, 1e10)

    def search(self, start: Array, least: float) -> Array:
        """Down from a start, with finite differences as far as the solver's tolerance allows them."""
        ends = np.array([self.case.bounds()[n] for n in self.names]).T
        step = max(np.sqrt(self.tolerance), 1e-8)
        done = least_squares(
            self.residuals,
            start,
            bounds=tuple(ends),
            x_scale="jac",
            diff_step=step,
            ftol=least,
            xtol=least,
            gtol=None if least < 1e-12 else least,
            max_nfev=2000,
        )
        return done.x

    def jacobian(self, theta: Array, steps: Array) -> Array:
        """By differences of fourth order."""
        columns = []
        for j, (x, h) in enumerate(zip(theta, steps, strict=True)):
            at = lambda k: self.residuals(np.where(np.arange(len(theta)) == j, x + k * h, theta))
            columns.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h))
        return np.array(columns).T


def expected() -> dict[str, Answer]:
    """What was found before, by case."""
    return {name: Answer(**found) for name, found in json.loads(EXPECTED.read_text()).items()}


def usual(case: Case) -> None:
    """The fit a user would run, everything included."""
    problem = Problem(case, USUAL)
    problem.search(np.array(list(case.start().values())), 1e-8)


def answer(case: Case, near: dict[str, float]) -> Answer:
    """The minimum near some constants: from there, so that it is the same minimum, polished by Gauss-Newton steps of exact-enough
    derivatives, columns reweighted until nothing moves."""
    problem = Problem(case, TIGHT)
    theta = np.array([near[n] for n in problem.names])
    steps = 2e-4 * np.where(theta == 0, 1, np.abs(theta))
    own = len(problem.columns) > 1 and not case.one_scale and case.weights is None
    for _ in range(50):
        if own:
            problem.scales = {name: float(np.sqrt(np.mean(r**2))) for name, r in problem.parts(theta).items()}
        r, j = problem.residuals(theta), problem.jacobian(theta, steps)
        # The right length of a difference is a small part of a standard error, whatever the size of the constant.
        errors = np.sqrt(np.diag(np.linalg.pinv(j.T @ j)) * np.mean(r**2))
        steps = np.minimum(steps, 0.02 * errors + 1e-7 * np.abs(theta))
        step = np.linalg.lstsq(j, -r, rcond=None)[0]
        factor = 1.0
        while factor > 1e-6 and not np.sum(problem.residuals(theta + factor * step) ** 2) <= np.sum(r**2) * (1 + 1e-14):
            factor /= 2
        theta = theta + factor * step if factor > 1e-6 else theta
        if factor <= 1e-6 or np.all(np.abs(step) <= 1e-11 * np.abs(theta) + 1e-8 * errors):
            break
    r, j = problem.residuals(theta), problem.jacobian(theta, steps)
    n, p = j.shape
    variance = 1.0 if case.weights else np.sum(r**2) / (n - p)
    errors = np.sqrt(np.diag(np.linalg.inv(j.T @ j)) * variance)
    return Answer(
        dict(zip(problem.names, theta.tolist(), strict=True)),
        dict(zip(problem.names, errors.tolist(), strict=True)),
        loglik(problem, theta),
    )


def loglik(problem: Problem, theta: Array) -> float:
    """Of independent normal errors; unknown standard deviations at their most likely values, one for all columns or one for each."""
    parts = problem.parts(theta)
    if problem.case.weights:
        sigma = problem.table[problem.case.weights]
        return float(sum(-0.5 * np.sum(r**2 + np.log(2 * np.pi * sigma[problem.columns[c]] ** 2)) for c, r in parts.items()))
    groups = [np.concatenate(list(parts.values()))] if problem.case.one_scale else list(parts.values())
    return float(sum(-0.5 * len(r) * (np.log(2 * np.pi * np.mean(r**2)) + 1) for r in groups))
