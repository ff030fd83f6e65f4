"""Questions that many fits answer. In: a model, its data, and where the fits run; out: constants by group, the best of several starts,
errors by bootstrap, a profile. All of it is lists of tasks for `fit_many`: the options `executor` and `folder` are explained there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..errors import FitError
from ..fitting import FitResult
from ..fitting.columns import _items
from ..signature import read_inputs
from .tasks import fit_many

Array = NDArray[np.float64]


def fit_groups(model: str, data: Any, group: str, *, executor: Any = None, folder: Any = None, **options: Any) -> dict[Any, FitResult]:
    """A fit of its own for each value of the column `group`, by that value, in the order in which the values first appear.

    For constants that some groups share, write `:per` in the model instead.

    >>> t = np.tile(np.linspace(0, 1, 10), 2)
    >>> who = np.repeat(["a", "b"], 10)
    >>> data = {"t": t, "y": np.exp(np.where(who == "a", 2, 3) * t), "who": who}
    >>> found = fit_groups("(param k 1) (exp (* k t))", data, "who")
    >>> {name: round(one.params["k"], 6) for name, one in found.items()}
    {'a': 2.0, 'b': 3.0}
    """
    columns = _columns(data)
    if group not in columns:
        raise ValueError(f"the data have no column `{group}`")
    values, first, of_row = np.unique(columns[group], return_index=True, return_inverse=True)
    rest = {name: column for name, column in columns.items() if name != group}
    order = np.argsort(first)
    tasks = [{**options, "model": model, "data": _taken(rest, np.flatnonzero(of_row == k))} for k in order]
    found = fit_many(tasks, executor=executor, folder=folder)
    return {values[k].item(): one for k, one in zip(order, found)}


def fit_starts(
    model: str, data: Any, starts: Sequence[Mapping[str, float]], *, executor: Any = None, folder: Any = None, **options: Any
) -> list[FitResult]:
    """A fit from each of these starts (values of parameters by name; others start as declared), the best first.

    `fit` chooses starts itself and follows them in this process; this is for those that take hours each.
    """
    tasks = [{"starts": 1, **options, "model": with_values(model, start), "data": data} for start in starts]
    kept = fit_many(tasks, executor=executor, folder=folder, failures="keep")
    found = [one for one in kept if isinstance(one, FitResult)]
    if not found:
        raise kept[0] if kept else ValueError("no start was given")
    return sorted(found, key=lambda one: (not one.converged, one.cost))


@dataclass(frozen=True)
class Bootstrap:
    """Fits to data drawn anew."""

    fitted: FitResult
    """To the data themselves."""
    samples: dict[str, Array]
    """Every parameter's values, a replicate each, in their order."""
    failed: int
    """Replicates that could not be fitted; they are not among the samples."""

    @property
    def stderr(self) -> dict[str, float]:
        """Standard errors: the scatter of the samples."""
        return {name: float(np.std(values, ddof=1)) for name, values in self.samples.items()}

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Percentile intervals."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        return {name: (float(low), float(high)) for name, values in self.samples.items() for low, high in [np.quantile(values, ends)]}


def bootstrap(
    model: str, data: Any, replicates: int = 200, *, seed: int = 0, executor: Any = None, folder: Any = None, **options: Any
) -> Bootstrap:
    """Errors without assumptions on their distribution: fits to rows drawn anew with replacement; where `group` names a column, to whole
    groups drawn anew. Models with states need groups: rows of one trajectory are no independent draws.

    Replicate k is drawn from `seed` and k alone. Each begins at the values fitted to the data themselves.
    """
    columns = _columns(data)
    (fitted,) = fit_many([{**options, "seed": seed, "model": model, "data": data}], executor=executor, folder=folder)
    source = fitted.source
    group = options.get("group")
    if group is None and _native.Core(source, None, []).kind != "expression":
        raise ValueError("rows of a model with states are no independent draws: name the column that tells trajectories apart as `group`")
    rows = len(next(iter(columns.values())))
    common = {"starts": 1, **options, "seed": seed, "model": source}
    common.pop("syntax", None)
    tasks = []
    for k in range(replicates):
        draw = np.random.default_rng([seed, k])
        if group is None:
            tasks.append({**common, "data": _taken(columns, draw.integers(rows, size=rows))})
            continue
        values, of_row = np.unique(columns[group], return_inverse=True)
        chosen = [np.flatnonzero(of_row == g) for g in draw.integers(len(values), size=len(values))]
        drawn = _taken(columns, np.concatenate(chosen))
        # A group drawn twice is two groups.
        drawn[group] = np.repeat(np.arange(len(chosen)), [len(c) for c in chosen])
        tasks.append({**common, "data": drawn})
    found = [one for one in fit_many(tasks, executor=executor, folder=folder, failures="keep") if isinstance(one, FitResult)]
    samples = {name: np.array([float(one.params[name]) for one in found]) for name in fitted.params}
    return Bootstrap(fitted, samples, replicates - len(found))


def profile(
    model: str, data: Any, name: str, values: Sequence[float], *, executor: Any = None, folder: Any = None, **options: Any
) -> list[FitResult | FitError]:
    """The fit of all other parameters with `name` kept at each of these values: `[found.loglik for found in profile(…)]` is its profile
    likelihood. A value at which the model cannot be fitted has the error in its place."""
    tasks = [{**options, "model": with_values(model, {name: value}, fixed=True), "data": data} for value in values]
    return fit_many(tasks, executor=executor, folder=folder, failures="keep")


def with_values(model: str, values: Mapping[str, float], fixed: bool = False) -> str:
    """The text of a model in Scheme with other initial values of parameters, which `fixed` keeps there.

    >>> with_values("(param k 1 :min 0) (* k t)", {"k": 2.5}, fixed=True)
    '(param k 2.5 :fixed :min 0) (* k t)'
    """
    for name, value in values.items():
        declared = re.compile(rf"(\(\s*param\s+{re.escape(name)}\s+)([^\s()\[\]]+)((?:\s+:fixed)?)")
        model, count = declared.subn(lambda m, v=float(value): f"{m[1]}{v!r}{' :fixed' if fixed else m[3]}", model)  # type: ignore[misc]
        # Whatever else the text may say, in remarks for example: this is what it means now.
        known = {i.name: i for i in read_inputs(_native.Core(model, None, []))} if count == 1 else {}
        said = known[name].info if name in known and known[name].kind == "param" else {}
        if np.ravel(said.get("initial", ())).tolist() != [float(value)] or (fixed and not said["fixed"]):
            raise ValueError(f"`{name}` is no parameter that the text declares once, with a number: (param {name} 1)")
    return model


def _columns(data: Any) -> dict[str, Any]:
    found = {str(name): np.asanyarray(c.to_numpy() if hasattr(c, "to_numpy") else c) for name, c in _items(data)}
    if not found:
        raise ValueError("the data have no columns")
    return found


def _taken(columns: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    return {name: column[rows] for name, column in columns.items()}
