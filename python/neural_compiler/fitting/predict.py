"""`predict`: a saved model on new data, without PyTorch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .. import _native
from ..files import linked
from .columns import Columns, coded, names
from .doses import doses
from .result import FitResult, predicted


def predict(
    model: str | os.PathLike[str] | FitResult,
    data: Any,
    *,
    time: str | None = None,
    group: str | None = None,
    start_time: float | None = None,
    time_unit: str | None = None,
    time_origin: str | None = None,
    method: str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    events: Any = None,
    syntax: str | None = None,
    bands: bool = False,
) -> Any:
    """Predictions of a model at its declared values, which a fit that was saved has replaced by the fitted ones: an array with a number
    per row of `data`; for a model with states a dict of such arrays by state.

    `model`: the path of a model (one saved by `neuralc fit --save` or `FitResult.save`; weights of nets are read from the .safetensors
    file beside it), its text, or a `FitResult`, which is predicted as it was fitted and takes `bands` only. `data`, `time`, `group`,
    `start_time`, `time_unit`, `time_origin` and how models with states are solved as in `fit`. A saved model remembers what its dates
    counted, and what is left out of `time` (where `data` has the column), `group`, `method`, `step`, `rtol` and `atol`; `group=""` says
    that `data` are one trajectory. `events` as in `fit`, but for groups that `data` have not too. `syntax`: what the model is written in,
    `scheme`, `infix` or `latex`; left out, infix for a path that ends in .eq, LaTeX for .tex, else Scheme.
    `bands`: a `Band` in the place of every array, with standard errors and 95 % intervals of predictions and of new observations; a model
    saved by a fit knows them.

    >>> predict("(param a 2) (* a x)", {"x": [1.0, 2.0]})
    array([2., 4.])
    """
    given = {"time": time, "start_time": start_time, "method": method, "step": step, "rtol": rtol, "atol": atol}
    if isinstance(model, FitResult):
        beside = {"group": group, "time_unit": time_unit, "time_origin": time_origin, "events": events, "syntax": syntax}
        said = [f"`{name}`" for name, value in {**given, **beside}.items() if value is not None]
        if said:
            raise ValueError(f"a result of fit is predicted as it was fitted: leave out {', '.join(said)}, or give its `source`")
        return model.predict(data, bands)
    text, path = _read(model)
    written = "scheme" if path is None else {".eq": "infix", ".tex": "latex"}.get(path.suffix, "scheme")
    core = _native.Core(text, None, [], syntax or written)
    options = _native.remembered(core, names(data), group)
    options.update({name: value for name, value in given.items() if value is not None})
    if any(i["kind"] == "weight" for i in core.inputs):
        options["values"] = _weights(core, path)
    options["doses"] = doses(core, events, options["time"], options["group"], data, every=False)
    columns = Columns(data, coded(core, options["group"], options["time"]))
    columns.read_dates(core, [options["time"]], time_unit, time_origin, False)
    return predicted(core, columns, options, None, bands)


def _read(model: str | os.PathLike[str]) -> tuple[str, Path | None]:
    # A path to a model ends in .scm, .eq or .tex; a model that does is a name, and there is no model of one name.
    if isinstance(model, str) and ("(" in model or not model.endswith((".scm", ".eq", ".tex"))):
        return model, None
    path = Path(model)
    return path.read_text(encoding="utf-8") if path.suffix in (".eq", ".tex") else linked(path), path


def _weights(core: _native.Core, path: Path | None) -> list[tuple[str, list[int], Any]]:
    if path is None:
        raise ValueError("the model has nets, and only a saved model has their weights beside it: give the path of the model")
    beside = path.with_suffix(".safetensors")
    if not beside.exists():
        raise FileNotFoundError(f"the weights of the model's nets should be in {beside}, beside the model; keep the two files together")
    return _native.weights_from_bytes(core, beside.read_bytes())
