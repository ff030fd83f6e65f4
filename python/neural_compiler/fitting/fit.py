"""`fit`: one call from text and data to constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

import numpy as np

from .. import _native
from ..errors import FitError
from .columns import Columns, coded
from .doses import doses
from .result import FitResult


def fit(
    model: str,
    data: Any,
    *,
    target: str | None = None,
    time: str | None = None,
    group: str | None = None,
    start_time: float | None = None,
    time_unit: str | None = None,
    time_origin: str | None = None,
    sigma: str | float | None = None,
    weights: str | None = None,
    loss: str = "squares",
    loss_scale: float | None = None,
    starts: int | None = None,
    budget: float | None = None,
    method: str = "auto",
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    tolerance: float | None = None,
    holdout: float | None = None,
    profile: bool = False,
    bootstrap: int | None = None,
    resample: str | None = None,
    effects: str | None = None,
    events: Any = None,
    training: str = "auto",
    weight_decay: float | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    syntax: str = "scheme",
) -> FitResult:
    """Fits the parameters of a model to data, from as many starts as it takes, and says how sure it is of them.

    `model`: the text; its `(param …)` declarations are what is fitted. `data`: a dict of arrays, a pandas or polars frame, or an Arrow
    table; columns bind by name to the inputs, to the time, and where one is named like a state, as observations of it.

    `target`: the column an algebraic model explains (left out: the one column that is no input). `time`, `group`: the columns of times and
    of what tells trajectories apart. `start_time`: when the starts of states hold (left out: as the model declares it, `(time t :start 0)`,
    else at the first row of each group). `time_unit`, `time_origin`: what times that come as dates count (`seconds`, `minutes`, `hours`,
    `days`, `weeks`, `years`; left out: the unit the model has for them, else days, hours or seconds, by what they span) and the date that
    is time 0 (left out: the earliest). `sigma`: standard deviation of the data, a column, or a number in the unit the model has for the
    data; `weights`: a column of relative weights. `loss`: `squares`, or robust `huber`, `soft-l1`, `cauchy`, with a `loss_scale` in the
    unit of the data, with `sigma` in standard deviations, for several states without `sigma` in the scatter of each (left out: found from
    the data). `starts`: at most so many. `budget`: seconds it may take; then the best so far is the result. `method`: how models with
    states are solved: `auto`, `rk4` (with `step`), `dopri5`, `rosenbrock`. `rtol`, `atol`: relative and absolute tolerance of adaptive
    steps (`tolerance` is another name of `rtol`). `holdout`: share of rows to judge by. `profile`: intervals by profile likelihood.
    `bootstrap`: errors and intervals of so many fits to data drawn anew, with `resample` from the fitted model (`parametric`) or from the
    data (`cases`: rows within their group, trajectories and groups of random effects whole; left out: the model, where it says how).
    `effects`: `laplace`, or `lindstrom-bates`, as R's nlme does. `progress(done, of, cost)` is called now and then.

    `events`: doses and infusions given to models with states: a table with the columns `time`, `amount`, `rate` (0: at once), `target` (a
    state) and that of `group`.
    A model that says how its observations are distributed, `(observe y EXPR :noise (poisson))`, is fitted by maximum likelihood; columns of
    texts with values such as "<0.5" and ">100" are known from one side only. `:prior` in a parameter makes the fit the posterior mode,
    `:per COLUMN` gives it a value for each group, `CL[3]`, and `:effect` draws these at random (spec/models.md).

    Nets in the model: `training` is `auto`, `gauss-newton` or `first-order` (Adam on minibatches of `batch` rows for `epochs` passes, then
    L-BFGS); `weight_decay` is the penalty on a squared weight (left out: estimated from the data).

    `syntax`: what the model is written in, `scheme`, `infix` or `latex`.

    Ctrl-C ends the search; the best values so far are the result, whose `converged` is False.

    >>> import numpy as np
    >>> t = np.linspace(0, 4, 50)
    >>> found = fit("(param a 1) (param k 1) (* a (exp (- (* k t))))", {"t": t, "y": 3 * np.exp(-0.7 * t)})
    >>> round(found.params["k"], 9), found.converged
    (0.7, True)
    """
    given: dict[str, Any] = {
        "target": target, "time": time, "group": group, "start_time": start_time, "time_unit": time_unit,
        "time_origin": time_origin, "weights": weights, "loss": loss, "loss_scale": loss_scale, "starts": starts, "budget": budget,
        "method": method, "step": step, "rtol": tolerance if rtol is None else rtol, "atol": atol, "holdout": holdout, "profile": profile,
        "bootstrap": bootstrap, "resample": resample, "effects": effects,
        "seed": seed, "threads": threads,
        "training": training, "weight_decay": weight_decay, "epochs": epochs, "batch": batch,
    }  # fmt: skip
    asked = Asked(model, data, given, sigma, events, syntax)
    try:
        found = _native.fit_model(asked.core, asked.columns.listed(), asked.columns.beside(), asked.all(), progress)
    except FitError as error:
        raise asked.columns.blame(error) from None
    return FitResult(asked.model, found, asked.columns, asked.options, events)


class Asked:
    """What is fitted to what, and how: a model in Scheme, the columns it takes, options."""

    def __init__(self, model: str, data: Any, given: dict[str, Any], sigma: str | float | None, events: Any, syntax: str) -> None:
        self.options = dict(given)
        if isinstance(sigma, str):
            self.options["sigma_column"] = sigma
        elif sigma is not None:
            if isinstance(sigma, bool) or not isinstance(sigma, SupportsFloat) or np.ndim(sigma) > 0:
                what = "the name of a column, or one number for all rows"
                raise TypeError(f"sigma is {what}, not {type(sigma).__name__}; put an array into the data as a column")
            self.options["sigma"] = float(sigma)
        if given["loss_scale"] is not None and given["loss"] == "squares":
            raise ValueError('loss_scale is for a robust loss: "huber", "soft-l1" or "cauchy"')
        if given["loss_scale"] == 0:
            raise ValueError("loss_scale is a positive number; leave it out to have it found from the data")
        if syntax != "scheme":
            model = _native.Core(model, None, [], syntax).scheme
        target, time, group, weights = (given[name] for name in ("target", "time", "group", "weights"))
        column = sigma if isinstance(sigma, str) else None
        self.columns = Columns(data, coded(_native.Core(model, None, []), group, time, target, column, weights))
        unit, origin = given["time_unit"], given["time_origin"]
        self.model = self.columns.read_dates(_native.Core(model, None, []), [time, target, weights], unit, origin, True)
        self.core = _native.Core(self.model, None, [])
        self.options["doses"] = doses(self.core, events, time, group, data)

    def all(self) -> dict[str, Any]:
        """The options, with what they say of columns."""
        return {**self.options, **self.columns.further()}
