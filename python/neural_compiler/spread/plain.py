"""Results of fits as plain data. In: a fit, or the error of one; out: two lines of JSON, and back.

Invariants: what is read makes numbers, texts, arrays of them and the few classes named here, and nothing in it is ever run; every bit of a
number stays; a text that is cut off, changed, of another task or of something else is no result.
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from ..errors import FitError, LibraryError
from ..fitting import ColumnFit, Combination, Estimate, FitResult, Undetermined

FORMAT = "neural-compiler fit, version 1"

_KINDS = "biufcSUmM"
"""Arrays whose bytes say everything."""

_TUPLES: dict[str, Callable[..., Any]] = {c.__name__: c for c in (ColumnFit, Combination, Undetermined)}
_ERRORS: dict[str, type[FitError]] = {c.__name__: c for c in (FitError, LibraryError)}


def written(task: str, result: FitResult | FitError) -> bytes:
    """A result of the task of this hash. The doses of a fit are in its task and not in here."""
    body = json.dumps(_told(result), allow_nan=False).encode()
    head = {"format": FORMAT, "task": task, "sha256": sha256(body).hexdigest()}
    return json.dumps(head).encode() + b"\n" + body + b"\n"


def read(content: bytes, task: str, events: Any) -> FitResult | FitError | None:
    """The result of the task of this hash; None where the content is anything else."""
    try:
        head, body, rest = content.split(b"\n")
        if json.loads(head) != {"format": FORMAT, "task": task, "sha256": sha256(body).hexdigest()} or rest:
            return None
        found = _made(json.loads(body))
    except Exception:  # Whatever may be wrong with it, it is none.
        return None
    if isinstance(found, FitResult):
        found._events = events
    return found if isinstance(found, (FitResult, FitError)) else None


def _told(value: Any) -> Any:
    """JSON for a value: itself where JSON has it, else an object whose only name says what it is."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"float": struct.pack("<d", value).hex()}
    if type(value) is list:
        return [_told(v) for v in value]
    if type(value) is tuple:
        return {"tuple": [_told(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[_told(k), _told(v)] for k, v in value.items()]}
    if isinstance(value, np.generic):
        return {"number": _told(np.asarray(value))}
    if type(value) is np.ndarray and value.dtype.kind in _KINDS:
        return {"array": [value.dtype.str, list(value.shape), b64encode(np.ascontiguousarray(value).tobytes()).decode()]}
    name = type(value).__name__
    if isinstance(value, Estimate):
        _, parts = value.__reduce__()
        return {"Estimate": [_told(v) for v in parts]}
    if _TUPLES.get(name) is type(value):
        return {name: [_told(v) for v in value]}
    if isinstance(value, FitError) and _ERRORS.get(name) is type(value):
        return {name: [_told(value.source), _told(value._found)]}
    if type(value) is FitResult:
        return {name: [[k, _told(v)] for k, v in vars(value).items() if k != "_events"]}
    raise TypeError(f"a fit with {value!r} in it cannot be kept in a folder: it is no number, no text and no array of these")


def _made(told: Any) -> Any:
    if isinstance(told, list):
        return [_made(v) for v in told]
    if not isinstance(told, dict):
        return told
    ((name, parts),) = told.items()
    if name == "float":
        return struct.unpack("<d", bytes.fromhex(parts))[0]
    if name == "tuple":
        return tuple(_made(v) for v in parts)
    if name == "dict":
        return {_made(k): _made(v) for k, v in parts}
    if name == "number":
        return _made(parts)[()]
    if name == "array":
        dtype = np.dtype(str(parts[0]))
        if dtype.kind not in _KINDS:
            raise ValueError("an array of something else than numbers and texts")
        return np.frombuffer(b64decode(parts[2], validate=True), dtype).reshape(parts[1]).copy()
    if name == "Estimate":
        return Estimate(*(_made(v) for v in parts))
    if name in _TUPLES:
        return _TUPLES[name](*(_made(v) for v in parts))
    if name in _ERRORS:
        return _ERRORS[name](*(_made(v) for v in parts))
    if name == "FitResult":
        made = FitResult.__new__(FitResult)
        for key, value in parts:
            if hasattr(FitResult, key):
                raise ValueError("what is computed is not kept")
            setattr(made, key, _made(value))
        return made
    raise ValueError(f"no {name} is known")
