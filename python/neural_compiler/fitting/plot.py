"""A fit as a matplotlib figure. In: a result; out: data and model with its bands above, residuals over the same and by quantiles below, a
column per target."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .result import FitResult


def figure(result: FitResult, log: str = "") -> Figure:
    """The figure; it belongs to no window and can be saved or shown. `log`: the axes with a logarithmic scale, of `x` and `y`."""
    if not isinstance(log, str) or not set(log) <= {"x", "y"}:
        # Most who give something else mean a file.
        wrong = ValueError if isinstance(log, str) else TypeError
        raise wrong(f"log is 'x', 'y' or 'xy', the axes that go by powers of ten, not {log!r}; plot().savefig(path) writes a file")
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    count = max(len(result.targets), 1)
    per = len(result.observed) // count
    made = NewFigure(figsize=(5 * count, 6.5), layout="constrained")
    axes: Any = made.subplots(3, count, squeeze=False, height_ratios=[2, 1, 1])
    lines, errors = result._lines(), _errors(result, per)
    for k, name in enumerate(result.targets):
        part = slice(k * per, (k + 1) * per)
        upper, lower = axes[0][k], axes[1][k]
        label, x = result._axis[:2] if result._axis is not None else ("prediction", result.predicted[part])
        for number, rows in enumerate(_groups(result, per)):
            colour = f"C{number}" if number or len(lines) > 1 else "C0"
            bars = None if errors is None else errors[rows]
            upper.errorbar(x[rows], result.observed[part][rows], bars, fmt=".", color=colour, label=None if number else "data")
            lower.plot(x[rows], result.residuals[part][rows], ".", color=colour)
        for number, (along, targets, bands) in enumerate(lines):
            colour = f"C{number}" if len(lines) > 1 else "C1"
            upper.plot(along, targets[k], "-", color=colour, label=None if number else "model")
            if (band := bands[k]) is not None:
                low, high, lowest, highest = band
                upper.fill_between(along, lowest, highest, color=colour, alpha=0.12, linewidth=0)
                upper.fill_between(along, low, high, color=colour, alpha=0.25, linewidth=0)
        if result._axis is None:
            upper.axline((x[0], x[0]), slope=1, color="C1", label="model")
        upper.set_ylabel(name)
        upper.legend()
        lower.axhline(0, linewidth=0.8)
        lower.set(ylabel="residual", xlabel=label)
        lower.sharex(upper)
        _quantiles(axes[2][k], result.standard_residuals[part])
        if "x" in log:
            upper.set_xscale("log")
        if "y" in log or (result.noise.get(name, "").startswith("(lognormal") and not log):
            upper.set_yscale("log")
    return made


def _quantiles(axes: Any, residuals: Any) -> None:
    """Standard residuals over what is expected of as many normal numbers."""
    there = np.sort(residuals[np.isfinite(residuals)])
    expected = np.array([NormalDist().inv_cdf((k + 0.625) / (len(there) + 0.25)) for k in range(len(there))])
    axes.plot(expected, there, ".", color="C0")
    axes.axline((0, 0), slope=1, color="C1")
    axes.set(ylabel="std. residual", xlabel="expected of normal residuals")


def _errors(result: FitResult, rows: int) -> Any:
    """Standard deviations of the rows, where the fit was given them."""
    column, number = result._given.get("sigma_column"), result._given.get("sigma")
    if column is not None:
        found = result._data[column]
        return found if len(found) == rows else None
    return None if number is None else np.full(rows, number)


def _groups(result: FitResult, rows: int) -> list[Any]:
    """The rows of each trajectory."""
    trajectory = None if result._axis is None else result._axis[2]
    if trajectory is None or len(trajectory) != rows:
        return [slice(None)]
    return [trajectory == k for k in range(int(trajectory.max(initial=0)) + 1)]
