"""`compare`: several models of the same data, by likelihood."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _native
from ..errors import FitError
from .fit import Asked
from .predict import _read

# Those of `neuralc compare`; the others of `fit` stay as they are there.
_TAKEN = (
    "target", "time", "group", "start_time", "time_unit", "time_origin", "sigma", "starts", "budget", "effects", "method", "step", "rtol",
    "atol", "events", "seed", "threads", "syntax",
)  # fmt: skip
_USUAL = {"loss": "squares", "loss_scale": None, "method": "auto", "seed": 0, "weights": None}


class Comparison:
    """Models side by side: `models` with their log-likelihood, number of constants, criteria and weight, `tests` of those that are parts
    of others, `remarks`, and how many `observations` all of them explain. Printed, it is the table of `neuralc compare`."""

    def __init__(self, found: str, text: str) -> None:
        self._found: dict[str, Any] = json.loads(found)
        self._text = text

    def to_dict(self) -> dict[str, Any]:
        """What `neuralc compare --json` prints; `None` where there is no number."""
        found: dict[str, Any] = json.loads(json.dumps(self._found))
        return found

    @property
    def models(self) -> list[dict[str, Any]]:
        """Of each model `file` (its name), `loglik`, `k`, `aic`, `aicc`, `bic` and `weight`."""
        found: list[dict[str, Any]] = self.to_dict()["models"]
        return found

    @property
    def tests(self) -> list[dict[str, Any]]:
        """Likelihood-ratio tests: `models` (the smaller, the larger), `statistic`, `df`, `p` and `law`."""
        found: list[dict[str, Any]] = self.to_dict()["tests"]
        return found

    @property
    def remarks(self) -> list[str]:
        """What to know besides."""
        found: list[str] = self.to_dict()["remarks"]
        return found

    @property
    def observations(self) -> int:
        """Numbers compared, by all of them."""
        return int(self._found["observations"])

    def __repr__(self) -> str:
        return self._text


def compare(models: Mapping[str, str | os.PathLike[str]] | Iterable[str | os.PathLike[str]], data: Any, **options: Any) -> Comparison:
    """Fits several models to the same data and puts them side by side, as `neuralc compare` does: log-likelihoods with all their
    constants, AIC, AICc, BIC, weights by AIC, and likelihood-ratio tests of models whose parameters are some of another's, by name.

    `models`: texts and paths, two or more, or a dict of these by name; a path is called by itself, a text without a name `model 1` and so
    on. `data` as in `fit`, and of its options `target`, `time`, `group`, `start_time`, `time_unit`, `time_origin`, `sigma`, `starts`,
    `budget`, `effects`, `method`, `step`, `rtol`, `atol`, `events`, `seed`, `threads` and `syntax` (left out: infix for a path that ends in
    .eq, LaTeX for .tex, else Scheme). What one of the models has no use for may be for another. Fits that came to no minimum are a warning.

    >>> data = {"x": [1.0, 2, 3, 4, 5], "y": [2.1, 3.9, 6.2, 7.8, 10.1]}
    >>> found = compare({"line": "(param a 1) (* a x)", "offset": "(param a 1) (param b 0) (+ b (* a x))"}, data, target="y")
    >>> [m["file"] for m in found.models], found.tests[0]["df"], found.observations
    (['line', 'offset'], 1.0, 5)
    """
    unknown = [f"`{name}`" for name in options if name not in _TAKEN]
    if unknown:
        raise TypeError(f"compare takes {', '.join(_TAKEN)}, not {', '.join(unknown)}")
    if isinstance(models, (str, os.PathLike)):
        raise TypeError("models are several: a list of texts and paths, or a dict of these by name")
    named = list(models.items()) if isinstance(models, Mapping) else [(None, model) for model in models]
    if len(named) < 2:
        raise ValueError(f"two models or more are compared, not {len(named)}")
    sigma, events, syntax = (options.pop(name, None) for name in ("sigma", "events", "syntax"))
    given = {**dict.fromkeys(_TAKEN), **_USUAL, **options}
    contenders, last = [], None
    for number, (name, model) in enumerate(named, 1):
        text, path = _read(model)
        written = "scheme" if path is None else {".eq": "infix", ".tex": "latex"}.get(path.suffix, "scheme")
        last = Asked(text, data, given, sigma, events, syntax or written)
        called = name if name is not None else f"model {number}" if path is None else str(model)
        contenders.append((called, last.core, last.columns.listed(), last.columns.beside(), last.all()))
    assert last is not None
    try:
        found, text, open_ones = _native.compare_models(contenders)
    except FitError as error:
        raise last.columns.blame(error) from None
    for number, message in open_ones:
        warnings.warn(f"`{contenders[number][0]}`: {message}", UserWarning, stacklevel=2)
    return Comparison(found, text)
