"""Programs between processes. In: what a program was compiled from, and its hash; out: the compiled program, made once per process.

Invariants: what travels is text and numbers, so any worker with this package can run it, whatever its processor; a process compiles a text
once however often it arrives, and the machine code made for it is shared by all copies.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import sha256
from typing import Any

from . import _native

KEPT = 256
"""Programs a process keeps for the next arrival; the one not used for longest goes first."""

Told = list[tuple[str, Any]]

_arrived: OrderedDict[Any, tuple[_native.Core, dict[Any, _native.Function]]] = OrderedDict()


def digest(source: str, told: Told | None, shapes: Told, syntax: str, units: str) -> str:
    """SHA-256 of all that decides what a program computes, but for the values of its parameters."""
    return sha256(json.dumps([source, told, shapes, syntax, units]).encode()).hexdigest()


def arrived(
    hash: str, source: str, told: Told | None, shapes: Told, syntax: str, units: str, steps: Any
) -> tuple[_native.Core, dict[Any, _native.Function]]:
    """The program of this hash, and what was made ready to be called of it after `steps`: as it is known, or compiled now."""
    key = (hash, steps)
    found = _arrived.pop(key, None)
    if found is None:
        # A unit that does not fit was said where the program was compiled.
        found = (_native.Core(source, told, shapes, syntax, units), {})
    _arrived[key] = found
    while len(_arrived) > KEPT:
        _arrived.popitem(last=False)
    return found
