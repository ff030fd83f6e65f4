"""Masked arrays where every number counts. In: what a caller gave, and what it is called; out: the same, if nothing is masked away."""

from __future__ import annotations

from typing import Any

import numpy as np


def unmasked(what: str, value: Any) -> Any:
    """The value, which is no array whose mask would be lost."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array, whose mask would be lost; give `.filled(...)` or the rows that count")
    return value
