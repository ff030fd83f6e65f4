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
from ..errors import FitError, TableError
from ..fitting import FitResult
from ..fitting.columns import _items, _missing
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
    groups = _groups(columns, group)
    rest = {name: column for name, column in columns.items() if name != group}
    tasks = [{**options, "model": model, "data": _taken(rest, rows)} for rows in groups.values()]
    return dict(zip(groups, fit_many(tasks, executor=executor, folder=folder)))


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
    if not isinstance(replicates, (int, np.integer)) or replicates < 1:
        raise ValueError(f"the number of replicates is a whole number from 1, not {replicates!r}")
    columns = _columns(data)
    group = options.get("group")
    groups = [] if group is None else list(_groups(columns, group).values())
    (fitted,) = fit_many([{**options, "seed": seed, "model": model, "data": data}], executor=executor, folder=folder)
    source = fitted.source
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
        chosen = [groups[g] for g in draw.integers(len(groups), size=len(groups))]
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
    if not isinstance(model, str) or not isinstance(values, Mapping):
        wrong = values if isinstance(model, str) else model
        raise TypeError(f"a model is a text, and has values of parameters by name, as a dict; {wrong!r} is neither")
    for name, value in values.items():
        if not isinstance(value, (int, float, np.integer, np.floating)) or not np.isfinite(value):
            raise ValueError(f"`{name}` is given a finite number, not {value!r}")
        declared = re.compile(rf"(\(\s*param\s+{re.escape(name)}\s+)([^\s()\[\]]+)((?:\s+:fixed)?)")
        model, count = declared.subn(lambda m, v=float(value): f"{m[1]}{v!r}{' :fixed' if fixed else m[3]}", model)  # type: ignore[misc]
        # Whatever else the text may say, in remarks for example: this is what it means now.
        known = {i.name: i for i in read_inputs(_native.Core(model, None, []))} if count == 1 else {}
        said = known[name].info if name in known and known[name].kind == "param" else {}
        if np.ravel(said.get("initial", ())).tolist() != [float(value)] or (fixed and not said["fixed"]):
            raise ValueError(f"`{name}` is no parameter that the text declares once, with a number: (param {name} 1)")
    return model


def _columns(data: Any) -> dict[str, Any]:
    """Columns as arrays of as many rows each."""
    found: dict[str, Any] = {}
    for key, values in _items(data):
        name = str(key)
        values = values.detach() if getattr(values, "requires_grad", False) else values
        try:
            column = np.asanyarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        except ValueError as error:
            raise TableError("bad-value", f"the column `{name}` is no array with a value per row: {error}", name) from None
        if column.ndim == 0:
            raise TableError("bad-value", f"the column `{name}` is a single value; columns are arrays with a value per row", name)
        first = next(iter(found), name)
        if len(column) != len(found.get(first, column)):
            message = f"the column `{name}` has {len(column)} rows, `{first}` has {len(found[first])}"
            raise TableError("ragged-row", message, name, min(len(column), len(found[first])) + 1)
        found[name] = column
    if not found or not len(next(iter(found.values()))):
        raise TableError("empty-table", f"the data have no {'rows' if found else 'columns'}")
    return found


def _groups(columns: Mapping[str, Any], group: str) -> dict[Any, NDArray[np.intp]]:
    """The rows of each value of a column, in the order in which the values first appear."""
    if group not in columns:
        raise TableError("missing-column", f"the data have no column `{group}`", str(group), help=f"they have {', '.join(columns)}")
    column = columns[group]
    if column.ndim != 1:
        raise TableError("bad-value", f"the column `{group}` has several values a row; it says which group a row is of", group)
    places: dict[Any, int] = {}
    of_row = np.empty(len(column), np.intp)
    # What is masked becomes None here, and so does a time that is none.
    for row, value in enumerate(column.tolist()):
        try:
            known = not _missing(value) and bool(value == value)
            of_row[row] = places.setdefault(value, len(places)) if known else 0
        except (TypeError, ValueError):
            message = f"row {row + 1}, column `{group}`: {type(value).__name__} is no name of a group"
            raise TableError("bad-value", message, group, row + 1) from None
        if not known:
            message = f"row {row + 1}, column `{group}`: the value is missing, the name of a group is needed"
            raise TableError("empty-cell", message, group, row + 1)
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row))[:-1]
    return dict(zip(places, np.split(order, ends)))


def _taken(columns: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    return {name: column[rows] for name, column in columns.items()}
