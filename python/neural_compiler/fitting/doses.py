"""Doses and infusions as tables. In: a dict of columns or a frame with `time`, `amount`, `rate`, `target` and the column of groups; out:
rows as the extension takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import _items, _plain

Dose = tuple[float, float, float, "str | None", "float | None"]


def doses(events: Any, time: str | None = None, group: str | None = None, data: Any = None, every: bool = True) -> list[Dose]:
    """The rows of `events`; `data`: the table whose column `group` says which groups there are, and what numbers stand for their names;
    `every`: a row for a group that is not there is a mistake, else it is left out."""
    if events is None:
        return []
    columns = {name: np.asarray(_plain(values)[0]) for name, values in _items(events)}
    when = next((columns[n] for n in (time, "time", "t") if n in columns), None)
    if when is None or "amount" not in columns:
        raise ValueError("events are a table with the columns time, amount, rate (0: at once), target (a state) and that of the groups")
    known = {time, "time", "t", "amount", "rate", "target", group}
    if others := [n for n in columns if n not in known]:
        raise ValueError(f"the column {others[0]!r} of the events means nothing: they have time, amount, rate, target and the groups")
    count = len(when)
    rate = np.nan_to_num(np.asarray(columns.get("rate", np.zeros(count)), np.float64))
    target = columns.get("target")
    whose: list[float | None] = [None] * count
    if group is not None and group in columns and data is not None:
        names = np.asarray(_plain(dict(_items(data))[group])[0])
        numbers = names.dtype.kind in "fiub"
        there = {name: float(name) if numbers else float(k) for k, name in enumerate(np.unique(names if numbers else names.astype(str)))}
        for k, name in enumerate(columns[group] if numbers else columns[group].astype(str)):
            if name not in there and every:
                raise ValueError(f"the data have no group {name!r}, which row {k + 1} of the events is for")
            whose[k] = there.get(name, np.nan)
    return [
        (float(when[k]), float(columns["amount"][k]), float(rate[k]), None if target is None else str(target[k]), whose[k])
        for k in range(count)
        if (own := whose[k]) is None or not np.isnan(own)
    ]
