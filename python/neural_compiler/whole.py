"""Whole numbers as float64. In: arrays and lists of whole numbers; out: the first number that no float64 holds, which would be rounded in
silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXACT = 2**53
"""float64 holds every whole number up to here."""

ADVICE = "no float64 holds it; subtract an offset first, or convert to floating point where rounding does no harm"


def rounded(array: NDArray[Any]) -> tuple[tuple[int, ...], int] | None:
    """Index and value of the first whole number that is none of float64's."""
    if array.dtype.kind == "O":
        whole = ((i, v) for i, v in np.ndenumerate(array) if isinstance(v, (int, np.integer)) and not isinstance(v, bool))
        return next(((i, int(v)) for i, v in whole if abs(int(v)) > EXACT and not _held(int(v))), None)
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return None
    if int(array.min()) >= -EXACT and int(array.max()) <= EXACT:
        return None
    bits = array.astype(np.uint64)
    size = np.where(array < 0, np.negative(bits), bits)
    # A number is as exact as its digits behind the trailing zeros: they fit into 53 bits, or they do not.
    lowest = np.maximum(size & np.negative(size), np.uint64(1))
    wrong = np.argwhere(size // lowest > np.uint64(EXACT))
    if not len(wrong):
        return None
    index = tuple(map(int, wrong[0]))
    return index, int(array[index])


def rounded_in(value: Any, array: NDArray[Any]) -> int | None:
    """The first whole number of a list that is none of float64's, where fractions beside it made floats of all in the array."""
    if not isinstance(value, (list, tuple)) or array.dtype.kind != "f" or not bool(np.any(np.abs(array) >= EXACT)):
        return None
    for leaf in leaves(value):
        found = None if isinstance(leaf, float) else rounded(np.asarray(leaf, object if isinstance(leaf, int) else None))
        if found is not None:
            return found[1]
    return None


def leaves(value: Any) -> Iterator[Any]:
    """What a list holds, and the lists in it; anything else is its own only leaf."""
    if not isinstance(value, (list, tuple)):
        yield value
        return
    for v in value:
        if isinstance(v, (list, tuple)):
            yield from leaves(v)
        else:
            yield v


def _held(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False
