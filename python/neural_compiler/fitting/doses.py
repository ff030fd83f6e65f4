"""Doses and infusions as tables. In: a dict of columns or a frame with `time`, `amount`, `rate`, `target` and the column of groups; out:
rows as the extension takes them, in the units of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .columns import _items, _number, _plain, named_groups

Dose = tuple[float, float, float, "str | None", "float | None"]


def doses(
    core: _native.Core, events: Any, time: str | None = None, group: str | None = None, data: Any = None, every: bool = True
) -> list[Dose]:
    """The rows of `events`; `data`: the table whose column `group`, or that by which constants of the model differ, says which groups there
    are, and what numbers stand for their names; `every`: a row for a group that is not there is a mistake, else it is for no group
    of these."""
    if events is None:
        return []
    items = [(name, np.asarray(_plain(values)[0])) for name, values in _items(events)]
    headers, columns = [name for name, _ in items], [values for _, values in items]
    group = None if data is None else group or next(iter(core.groups), None)
    called = (time, group)
    when, amount, (rate, target, whose) = _native.dose_columns(core, headers, called)
    count = len(columns[when])
    if columns[when].dtype.kind == "M":
        raise ValueError(
            "the times of events are dates: give them as numbers of what the dates of the data count (`FitResult.dates` says it)"
        )
    rates = np.zeros(count) if rate is None else np.nan_to_num(np.asarray(columns[rate], np.float64))
    of: list[float | None] = [None] * count
    if whose is not None:
        numbers, texts = named_groups(np.asarray(_plain(dict(_items(data))[group])[0]))
        there: dict[Any, float] = {text: float(k) for k, text in enumerate(texts)} or {x: float(x) for x in numbers}
        for k, given in enumerate(columns[whose]):
            name = float(given) if not texts and _number(given) else _native.group_name(str(given).strip())
            if name not in there and every:
                raise ValueError(f"the data have no group {name!r}, which row {k + 1} of the events is for")
            of[k] = there.get(name, np.nan)
    rows = [
        (float(columns[when][k]), float(columns[amount][k]), float(rates[k]), None if target is None else str(columns[target][k]), of[k])
        for k in range(count)
    ]
    return _native.doses_in_units(core, headers, called, rows)
