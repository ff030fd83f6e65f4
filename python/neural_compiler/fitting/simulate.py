"""`simulate`: trajectories of a model with states, for one or thousands of sets of values, without PyTorch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..masks import unmasked
from .doses import doses
from .predict import _read, _weights
from .result import FitResult


def simulate(
    model: str | os.PathLike[str] | FitResult,
    times: Any,
    *,
    start_time: float | None = None,
    method: str = "auto",
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    threads: int | None = None,
    events: Any = None,
    syntax: str | None = None,
    values: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, NDArray[np.float64]]:
    """States and observables of a model at some times, by name: arrays with an entry for each time.

    `model`: its text, the path of one, or a `FitResult`, whose values it then has. `times`: an array. Everything else that is named is
    given a value: parameters, inputs (the same at all times, or as many numbers as times) and states, where they start; names that are no
    keywords of Python go into the dict `values`. An array with one axis is a set of values for each of its numbers: all such arrays are
    of one length, and results have the sets along a first axis; a vector or matrix of the model has its own axes behind. Sets are solved
    together, each with steps of its own.

    `start_time`: when starts hold (left out: as the model declares it, else at the first time). `method`, `step`, `rtol`, `atol`, `events`,
    `syntax` as in `predict`; without `rtol` a solution is as accurate as it must be for five digits.

    >>> simulate("(param k 1) (state x 2) (derive x (* (- k) x))", [0.0, 1.0], k=np.array([0.0, 1.0]), rtol=1e-10)["x"].round(6)
    array([[2.      , 2.      ],
           [2.      , 0.735759]])
    """
    if isinstance(model, FitResult):
        core, known = _native.Core(model.source, None, []), [(n, list(v.shape), np.ravel(v)) for n, v in model.values.items()]
    else:
        text, path = _read(model)
        written = "scheme" if path is None else {".eq": "infix", ".tex": "latex"}.get(path.suffix, "scheme")
        core, known = _native.Core(text, None, [], syntax or written), []
        if any(i["kind"] == "weight" for i in core.inputs):
            known = _weights(core, path)
    times = np.ascontiguousarray(unmasked("`times`", times), np.float64)
    if times.ndim != 1:
        raise ValueError(f"times have one axis, not {times.ndim}")
    name = core.time or "t"
    shapes = {i["name"]: tuple(i["shape"] or ()) for i in core.inputs}
    kinds = {i["name"]: i["kind"] for i in core.inputs}
    columns, given, several = [(name, times)], [], False
    for key, value in {**(values or {}), **more}.items():
        array = np.asarray(unmasked(f"`{key}`", value), np.float64)
        own = shapes.get(key, ())
        column = kinds.get(key) in ("free", "declared") and array.shape == (*times.shape, *own) and times.size != 1
        for index in np.ndindex(own):
            element = f"{key}[{','.join(map(str, index))}]" if own else key
            if array.shape == own:
                given.append((element, [float(array[index])]))
            elif column:
                columns.append((element, np.ascontiguousarray(array[(slice(None), *index)])))
            elif array.ndim == len(own) + 1 and array.shape[1:] == own:
                several = True
                given.append((element, np.ascontiguousarray(array[(slice(None), *index)]).tolist()))
            else:
                raise ValueError(f"`{key}` has the shape {array.shape}; it is {own or 'a number'}, or an array of such along a first axis")
    options: dict[str, Any] = {
        "start_time": start_time, "method": method, "step": step, "rtol": rtol, "atol": atol, "threads": threads, "values": known,
        "doses": doses(core, events, name),
    }  # fmt: skip
    sets, found = _native.simulate_model(core, columns, options, given)
    lead = (sets, times.size) if several else (times.size,)
    return {quantity: numbers.reshape(*lead, *sizes) for quantity, sizes, numbers in found}
