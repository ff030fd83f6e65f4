"""docs/fits.md. In: rows; out: the page."""

from __future__ import annotations

from math import isinf
from pathlib import Path

from .compare import Row

PAGE = Path(__file__).parents[2] / "docs" / "fits.md"
HEAD = (
    "| fit | law | constants (first three) | digits | of the standard errors | log-likelihood | SciPy's time | ours | ratio |\n"
    "|---|---|---|---|---|---|---|---|---|"
)

TEXT = """# Classic fits, beside SciPy

`make fits` fits every model of [examples/fits](../examples/fits) with default options and writes this page. The same laws are written by
hand in NumPy (`bench/classics`) and fitted by SciPy; sources of the data are in
[examples/fits/README.md](../examples/fits/README.md).

- *digits*: common digits of the worst constant, ours beside SciPy's minimum at tolerances of 1e-12, polished by Gauss-Newton steps with
  differences of fourth order; *of the standard errors*: the same of the worst standard error. A table without noise has constants that
  are exact and error bars that are rounding errors: no digits are given for these. *log-likelihood*: ours less SciPy's.
- *time*: processor time of the whole fit from the declared values, one process. SciPy: `least_squares` with finite differences,
  `solve_ivp` with LSODA at 1e-8 (DOP853 for the thousand trajectories, taken as one system), what a user would write; where it ends
  in another minimum or none, its time still counts. Ours: `neural_compiler.fit` as it comes, search for other minima, error bars and
  the independent check included. Of both the fastest of four runs, where the first takes less than
  a second, else that one. Times wander, on a machine with other work by a factor of two.

{table}

{agree} of {count} agree; ours is faster in {faster} of {count}.
{wrong}
Where SciPy's time is shorter, or was, and why:

- Formulas of a few dozen rows, and the tank that drains: both take milliseconds. `least_squares` follows one start; ours follows several,
  since so few rows cannot tell whether a better minimum hides.
- van der Pol with mu = 100: `least_squares` from mu = 99 ends at 99.004, a minimum of the staircase this sum of squares is, and not
  the one that made the data. Ours follows nine starts and ends at 100.012. Of nine starts up to ten per cent off, two lead
  `least_squares` there, in twice the time it takes from 99 each.
- The thousand trajectories are near each other, now one ahead, now the other: SciPy's are one system of 1,000 equations with one step
  for all, in NumPy; ours take a step of their own each, and are solved again at 1e-10 for the check.
- Heat by `rosenbrock`, which its stiffness does not call for: each of its short steps solves systems that an explicit step does without.
"""


def number(x: float) -> str:
    return "all" if isinf(x) else f"{x:.1f}"


def seconds(x: float) -> str:
    return f"{1e3 * x:.3g} ms" if x < 1 else f"{x:.3g} s"


def table(rows: list[Row]) -> str:
    """As Markdown."""
    lines = [
        f"| {r.name} | {r.what} | {r.constants} | {number(r.digits)} | {'' if isinf(r.errors) else number(r.errors)} | {r.loglik:+.0e} "
        f"| {seconds(r.scipy)} | {seconds(r.ours)} | {r.scipy / r.ours:.3g} |{' ' + r.wrong if r.wrong else ''}"
        for r in rows
    ]
    return "\n".join([HEAD, *lines])


def write(rows: list[Row]) -> None:
    """The page."""
    wrong = "".join(f"\n- **{r.name}**: {r.wrong}" for r in rows if r.wrong)
    agree, faster = sum(not r.wrong for r in rows), sum(r.scipy > r.ours for r in rows)
    PAGE.write_text(TEXT.format(table=table(rows), agree=agree, count=len(rows), faster=faster, wrong=wrong))
