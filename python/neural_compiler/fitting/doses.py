"""Doses and infusions as tables. In: a dict of columns or a frame with `time`, `amount`, `rate`, `target` and the column of groups; out:
rows as the extension takes them, in the units of the model. A row that is no dose is a `FitError` with its number, `bad-events`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from ..errors import FitError
from .columns import Column, _items, _number, _plain, _unmasked, named_groups, written

Dose = tuple[float, float, float, "str | None", "float | None"]


def doses(
    core: _native.Core, events: Any, time: str | None = None, group: str | None = None, data: Any = None, every: bool = True
) -> list[Dose]:
    """The rows of `events`; `data`: the table whose column `group`, or that by which constants of the model differ, says which groups there
    are, and what numbers stand for their names (without that column, which is for whoever reads the data to say, rows are for none);
    `every`: a row for a group that is not there is a mistake, else it is for no group of these."""
    if events is None:
        return []
    items = [(name, np.asarray(_plain(_unmasked(values))[0])) for name, values in _items(events)]
    headers, columns = [name for name, _ in items], [values for _, values in items]
    group = None if data is None else group or next(iter(core.groups), None)
    called = (time, group)
    when, amount, (rate, target, whose) = _native.dose_columns(core, headers, called)
    _refuse_uneven(core, items, headers[when])
    count = len(columns[when])
    if columns[when].dtype.kind == "M":
        raise ValueError(
            "the times of events are dates: give them as numbers of what the dates of the data count (`FitResult.dates` says it)"
        )
    rates = np.zeros(count) if rate is None else np.nan_to_num(_numbers(core, "rate", columns[rate]), posinf=np.inf, neginf=-np.inf)
    times, amounts = _numbers(core, "time", columns[when]), _numbers(core, "amount", columns[amount])
    to = [None] * count if target is None else [written(name) for name in columns[target]]
    of: list[float | None] = [None] * count
    if whose is not None:
        numbers, texts = named_groups(np.asarray(_plain(_unmasked(dict(_items(data)).get(group, ())))[0]))
        there: dict[Any, float] = {text: float(k) for k, text in enumerate(texts)} or {x: float(x) for x in numbers}
        for k, given in enumerate(columns[whose]):
            text = written(given)
            if text is None:
                raise _bad(core, f"row {k + 1}: the group is missing, in the column `{headers[whose]}`")
            name = float(given) if not texts and _number(given) else _native.group_name(text)
            if name not in there and every and len(numbers):
                raise _bad(core, f"row {k + 1}: the data have no group {name!r}")
            of[k] = there.get(name, np.nan)
    rows = list(zip(times.tolist(), amounts.tolist(), rates.tolist(), to, of))
    return _native.doses_in_units(core, headers, called, rows)


def _refuse_uneven(core: _native.Core, items: list[tuple[str, Any]], time: str) -> None:
    """Refuses columns that have not one value for each row of the times."""
    for name, values in items:
        if values.ndim == 0:
            raise _bad(core, f"the column `{name}` is a single value; columns are arrays with a value per row")
        if values.ndim > 1:
            raise _bad(core, f"the column `{name}` has the shape {list(values.shape)}; columns are arrays with a value per row")
    count = len(dict(items)[time])
    for name, values in items:
        if len(values) != count:
            raise _bad(core, f"the column `{name}` has the length {len(values)}, `{time}` has {count}: a row is one dose")


def _numbers(core: _native.Core, name: str, cells: Any) -> Column:
    """The numbers of a column; NaN where one is missing."""
    try:
        return np.array([np.nan if written(cell) is None else cell for cell in cells], np.float64)
    except (TypeError, ValueError):
        k, wrong = next((k, cell) for k, cell in enumerate(cells) if written(cell) is not None and not _number(cell))
        raise _bad(core, f"row {k + 1}: {written(wrong)!r} is no number, in the column `{name}`") from None


def _bad(core: _native.Core, message: str) -> FitError:
    found = {"code": "bad-events", "severity": "error", "message": f"events, {message}", "start": 0, "end": 0, "line": 1, "column": 1}
    return FitError(core.source, [{**found, "labels": ()}])
