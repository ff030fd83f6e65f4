"""Data as columns of numbers. In: a dict of arrays, a pandas or polars frame, an Arrow table, a NumPy record array; out: float64
columns by name, and why a column that is there is not among them.

An array with more axes than rows becomes one column per number, named as the model names the numbers of a vector: `r[0]`, `r[1]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


class Columns:
    """Columns that are numbers, and the reasons why others are not."""

    def __init__(self, data: Any, codes: str | None = None) -> None:
        self.numbers: dict[str, Column] = {}
        self.others: dict[str, str] = {}
        """Columns that are no numbers, and what they are."""
        for name, values in _items(data):
            if not isinstance(name, str):
                raise TypeError(f"columns have names that are texts, not {name!r}")
            self._add(name, values, name == codes)

    def _add(self, name: str, values: Any, code: bool) -> None:
        array = np.asarray(values)
        if array.ndim == 0:
            raise ValueError(f"the column `{name}` is a single value; columns are arrays with a value per row")
        if array.dtype.kind in "fiub":
            column: Any = array
        elif code:
            # What tells trajectories apart need not be numbers.
            column = np.unique(array.astype(str), return_inverse=True)[1]
        elif array.dtype.kind == "O":
            try:
                column = np.array([np.nan if _missing(v) else v for v in array.flat], np.float64).reshape(array.shape)
            except (TypeError, ValueError):
                self.others[name] = "text or other objects"
                return
        else:
            self.others[name] = {"U": "text", "S": "text", "M": "dates", "m": "durations", "c": "complex numbers"}.get(array.dtype.kind, str(array.dtype))
            return
        column = np.ascontiguousarray(column, np.float64)
        if column.ndim == 1:
            self.numbers[name] = column
            return
        for index in np.ndindex(column.shape[1:]):
            self.numbers[f"{name}[{','.join(map(str, index))}]"] = np.ascontiguousarray(column[(slice(None), *index)])

    def listed(self) -> list[tuple[str, Column]]:
        """As the extension takes them."""
        return list(self.numbers.items())


def _missing(value: Any) -> bool:
    # pandas' NA is equal to nothing, not even comparable as a truth value.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _items(data: Any) -> list[tuple[Any, Any]]:
    if isinstance(data, Mapping):
        return list(data.items())
    if isinstance(data, np.ndarray) and data.dtype.names:
        return [(n, data[n]) for n in data.dtype.names]
    if hasattr(data, "column_names") and hasattr(data, "column"):
        return [(n, data.column(n).to_numpy()) for n in data.column_names]
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return [(n, data[n].to_numpy()) for n in data.columns]
    raise TypeError(f"the data are a dict of arrays, a pandas or polars frame or an Arrow table, not {type(data).__name__}")
