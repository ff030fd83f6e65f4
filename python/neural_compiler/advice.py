"""What to do with values that are no numbers yet. In: what a caller gave; out: the end of the message that refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_lazy(value: Any) -> bool:
    """Whether it is a polars frame of which nothing is known before it is computed."""
    return hasattr(value, "collect") and hasattr(value, "collect_schema")


def advice_for(value: Any) -> str:
    """How to make numbers of a value; nothing where that is nobody's guess."""
    if is_lazy(value):
        return ", which has no data yet: give a column of what its collect() returns"
    if isinstance(value, np.ndarray) and value.dtype.kind == "V" and value.dtype.names is None and value.dtype.itemsize:
        return ": convert it first, `.astype(numpy.float32)`"
    return ""
