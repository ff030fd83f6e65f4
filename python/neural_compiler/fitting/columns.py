"""Data as columns of numbers. In: a dict of arrays, a pandas or polars frame, an Arrow table, a NumPy record array; out: float64 columns by
name, and why a column that is there is not among them. Cells such as "<0.5" are values known from one side only. Dates become times where
the model asks for the column by name; what a NumPy array masks is missing; a whole number that no float64 holds is no number here.

An array with more axes than rows becomes one column per number, named as the model names the numbers of a vector: `r[0]`, `r[1]`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..advice import is_lazy
from ..errors import FitError
from ..whole import ADVICE, rounded

Column = NDArray[np.float64]


class Columns:
    """Columns that are numbers, and the reasons why others are not."""

    def __init__(self, data: Any, codes: Collection[str | None] = ()) -> None:
        self.numbers: dict[str, Column] = {}
        self.others: dict[str, tuple[str, bool]] = {}
        """Columns that are no numbers: what they are, and whether they are numbers but for a value."""
        self.calendar: str | None = None
        """What times that came as dates count."""
        self.censored: list[tuple[str, list[float], list[int]]] = []
        """Columns in which some values are known from one side only: numbers, and for each -1 (below), 1 (above) or 0 (as it is)."""
        self.labels: list[tuple[str, list[str]]] = []
        """What the numbers of columns stand for that came as texts."""
        self._dates: dict[str, tuple[NDArray[Any], bool]] = {}
        for name, values in _items(data):
            if not isinstance(name, str):
                raise TypeError(f"columns have names that are texts, not {name!r}")
            self._add(name, values, name in codes)

    def _add(self, name: str, values: Any, code: bool) -> None:
        array, zoned = _plain(_unmasked(values))
        if array.ndim == 0:
            raise ValueError(f"the column `{name}` is a single value; columns are arrays with a value per row")
        beyond = rounded(array)
        if array.dtype.kind in "fiub" and beyond is None:
            column: Any = array
        elif code:
            # What tells trajectories apart need not be numbers.
            column, texts = named_groups(array)
            if texts:
                self.labels.append((name, texts))
        elif beyond is not None:
            self._refuse(name, array, f"the whole number {beyond[1]} (row {beyond[0][0] + 1}): {ADVICE}", True)
            return
        elif array.dtype.kind == "M" and array.ndim == 1:
            self._dates[name] = (array, zoned)
            self._refuse(name, array, "dates, which are read as times only where the model asks for the column by name")
            return
        elif array.dtype.kind == "O":
            try:
                column = np.array([np.nan if _missing(v) else v for v in array.flat], np.float64).reshape(array.shape)
            except (TypeError, ValueError):
                self._refuse(name, array, *_texts(array, "text or other objects"))
                return
        else:
            kinds = {"U": "text", "S": "text", "M": "dates in several axes", "m": "durations", "c": "complex numbers"}
            self._refuse(name, array, *_texts(array, kinds.get(array.dtype.kind, str(array.dtype))))
            return
        column = np.ascontiguousarray(column, np.float64)
        if column.ndim == 1:
            self.numbers[name] = column
            return
        for index in np.ndindex(column.shape[1:]):
            self.numbers[_element(name, index)] = np.ascontiguousarray(column[(slice(None), *index)])

    def _one_sided(self, name: str, array: NDArray[Any]) -> bool:
        """Takes a column of numbers in with cells such as "<0.5", for models that say how it is distributed."""
        if array.ndim != 1:
            return False
        values: list[float] = []
        sides: list[int] = []
        for cell in array:
            text = "nan" if _missing(cell) else str(cell).strip()
            sides.append(-1 if text.startswith("<") else 1 if text.startswith(">") else 0)
            try:
                values.append(float(text[1:] if sides[-1] else text))
            except ValueError:
                return False
        if not any(sides):
            return False
        self.censored.append((name, values, sides))
        return True

    def further(self) -> dict[str, Any]:
        """What the extension is told of the columns besides."""
        return {"censored": self.censored, "labels": self.labels}

    def _refuse(self, name: str, array: NDArray[Any], what: str, nearly: bool = False) -> None:
        if array.dtype.kind in "OU" and self._one_sided(name, array):
            nearly = True
        names = [name] if array.ndim == 1 else [_element(name, index) for index in np.ndindex(array.shape[1:])]
        self.others.update(dict.fromkeys(names, (what, nearly)))

    def read_dates(self, core: _native.Core, named: list[str | None], unit: str | None, origin: str | None, fitting: bool) -> str:
        """Turns the dates the model asks for into times; gives the text of the model, which remembers what they count."""
        dated = [(name, *_counted(array), zoned) for name, (array, zoned) in self._dates.items()]
        found = _native.read_dates(core, dated, [n for n in named if n is not None], unit, origin, fitting)
        if found is None:
            if unit is not None or origin is not None:
                raise ValueError("time_unit and time_origin are for times that are dates; the model asks for no column of dates")
            return core.source
        columns, self.calendar, remembered = found
        self.numbers.update(columns)
        return remembered

    def listed(self) -> list[tuple[str, Column]]:
        """As the extension takes them."""
        return list(self.numbers.items())

    def beside(self) -> list[tuple[str, bool]]:
        """The columns that are no numbers, as the extension takes them."""
        return [(name, nearly) for name, (_, nearly) in self.others.items() if name not in self.numbers]

    def blame(self, error: FitError) -> FitError:
        """The error, with the reason why a column that is there is no column of numbers."""
        for found in error._found:
            for name, (what, _) in self.others.items():
                missed = found["code"] == "missing-column" and f"`{name}`" in found["message"]
                # None is left to be explained, and this is the only one that could have been.
                if missed or (found["code"] == "no-target" and list(self.others) == [name]):
                    expected = "" if what.startswith("the whole number") else ", numbers are expected"
                    advice = found["help"] if missed else None
                    found = {**found, "message": f"the column `{name}` holds {what}{expected}", "help": advice, "start": 0, "end": 0}
                    return FitError(error.source, [found])
        return error


def coded(core: _native.Core, group: str | None, *named: str | None) -> list[str]:
    """The columns whose texts are names: what tells trajectories apart, and what constants differ by, unless its numbers are asked for."""
    return [name for name in [group, *core.groups] if name is not None and name not in named and not core.reads(name)]


def named_groups(names: NDArray[Any]) -> tuple[Column, list[str]]:
    """Names of groups as numbers, and what these stand for: none where all are numbers, which are groups by their number. Texts are groups
    by what is written, as in tables of the command: "02" and "2" are two. No name is NaN, which is refused where groups are needed."""
    texts = [written(v) for v in names.flat]
    there = {t for t in texts if t is not None}
    if not any(isinstance(v, (str, bytes)) for v in names.flat) and all(_number(t) and np.isfinite(float(t)) and _held(t) for t in there):
        return np.array([np.nan if t is None else float(t) for t in texts], np.float64), []
    plain = {t: _native.group_name(t) for t in there}
    labels = sorted(set(plain.values()))
    places = {label: float(k) for k, label in enumerate(labels)}
    return np.array([np.nan if t is None else places[plain[t]] for t in texts], np.float64), labels


def written(cell: Any) -> str | None:
    """What stands in a cell; None where it is missing or empty."""
    if _missing(cell) or cell != cell:
        return None
    return (cell.decode() if isinstance(cell, bytes) else str(cell)).strip() or None


def _held(text: str) -> bool:
    """Whether a float64 holds the number, if it is a whole one: two that it rounds to one are two groups."""
    return re.fullmatch(r"[+-]?\d+", text) is None or int(float(text)) == int(text)


def _element(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, index))}]"


def _plain(values: Any) -> tuple[NDArray[Any], bool]:
    """An array; dates as NumPy has them, instants counted in UTC, and whether they are instants. Of a tensor its numbers alone: what it was
    computed from has no part in a fit."""
    if getattr(values, "requires_grad", False):
        values = values.detach()
    dtype = getattr(values, "dtype", None)
    # As pandas, polars and Arrow name it.
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None) or getattr(getattr(values, "type", None), "tz", None)
    if getattr(dtype, "tz", None) is not None:
        # pandas' to_numpy() would make an object of every instant.
        values = getattr(values, "dt", values).tz_convert("UTC")
        values = getattr(values, "dt", values).tz_localize(None)
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.dtype.kind in "US" and isinstance(values, (list, tuple)) and not all(isinstance(v, (str, bytes)) for v in values):
        # NumPy would write what is missing beside texts as texts.
        array = np.array(values, object)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array, zone is not None
    known = [v for v in array if not _missing(v)]
    if not known or not all(isinstance(v, date) for v in known):
        return array, False
    zones = {isinstance(v, datetime) and v.tzinfo is not None for v in known}
    if len(zones) > 1:
        raise ValueError("some dates have a zone, others have none: give all of them one")
    one = [np.datetime64("NaT") if _missing(v) else np.datetime64(_utc(v)) for v in array]
    return np.array(one, "datetime64[us]"), zones == {True}


def _unmasked(values: Any) -> Any:
    """A masked array with its masked values missing: NaN, no date, None."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "fM":
        return values.filled(np.nan if values.dtype.kind == "f" else np.datetime64("NaT"))
    found = np.array(values, object)
    found[np.ma.getmaskarray(values)] = None
    return found


def _texts(array: NDArray[Any], kind: str) -> tuple[str, bool]:
    """What a column holds that is no numbers, with advice where it looks like dates; and whether it is numbers but for a value."""
    first = next((v for v in array.flat if not _missing(v)), None)
    if isinstance(first, str) and re.match(r"\d{4}-\d\d-\d\d", first) is not None:
        return "dates as text (pandas.to_datetime makes dates of them)", False
    at, wrong = next(((i, v) for i, v in enumerate(array.flat) if not _missing(v) and not _number(v)), (0, None))
    row = at // max(array[:1].size, 1) + 1
    return f"text (row {row}: {str(wrong)!r})" if isinstance(wrong, str) else kind, first is not None and _number(first)


def _number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _utc(value: date) -> date:
    return value.astimezone(timezone.utc).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo is not None else value


# Nanoseconds of NumPy's units of dates; months and years have no fixed length and become days.
_UNITS = {"D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _counted(array: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    unit, many = np.datetime_data(array.dtype)
    if unit not in _UNITS or many != 1:
        array = array.astype(
            "datetime64[ns]" if unit in ("ps", "fs", "as") else "datetime64[D]" if unit in "YMW" else f"datetime64[{unit}]"
        )
        unit, many = np.datetime_data(array.dtype)
    return np.ascontiguousarray(array).view(np.int64), _UNITS[unit]


def _missing(value: Any) -> bool:
    # pandas' NA is equal to nothing, not even comparable as a truth value.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def names(data: Any) -> list[str]:
    """The names of the columns, whatever they hold."""
    return [name for name, _ in _items(data) if isinstance(name, str)]


def _items(data: Any) -> list[tuple[Any, Any]]:
    if isinstance(data, Mapping):
        return list(data.items())
    if isinstance(data, np.ndarray) and data.dtype.names:
        return [(n, data[n]) for n in data.dtype.names]
    if is_lazy(data):
        raise TypeError(f"a {type(data).__name__} has no data yet: give what its collect() returns")
    if hasattr(data, "column_names") and hasattr(data, "column"):
        _once(data.column_names)
        return [(n, data.column(n)) for n in data.column_names]
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        _once(data.columns)
        return [(n, data[n]) for n in data.columns]
    raise TypeError(f"the data are a dict of arrays, a pandas or polars frame or an Arrow table, not {type(data).__name__}")


def _once(found: Iterable[Any]) -> None:
    """Complains about a name that two columns have: a frame gives both for it, which would be taken for the columns of a matrix."""
    seen = set()
    for name in found:
        if name in seen:
            raise ValueError(f"two columns of the data are called {name!r}: rename one, or leave it out")
        seen.add(name)
