"""`FitResult`: what a fit found, to look at and to go on with."""

from __future__ import annotations

import errno
import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..errors import FitError
from ..signature import read_inputs
from .columns import Columns, coded
from .doses import doses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..nn import CompiledModule

Array = NDArray[np.float64]


class Estimate(float):
    """A fitted number: a float that knows its error bar."""

    stderr: float | None
    """Standard error; None when the data give none, `note` says why."""
    ci95: tuple[float, float] | None
    """95 % confidence interval."""
    profile: tuple[float, float] | None
    """95 % interval by profile likelihood, if it was asked for."""
    note: str | None
    bootstrap: tuple[float, tuple[float, float]] | None
    """Standard error and 95 % interval by bootstrap, if it was asked for."""

    def __new__(
        cls,
        value: float,
        stderr: float | None = None,
        ci95: Any = None,
        profile: Any = None,
        note: str | None = None,
        bootstrap: Any = None,
    ) -> Estimate:
        made = super().__new__(cls, value)
        made.stderr, made.ci95, made.profile, made.note, made.bootstrap = stderr, ci95, profile, note, bootstrap
        return made

    def __repr__(self) -> str:
        if self.stderr is None:
            return f"{float(self)!r} ({self.note})"
        return f"{_native.fit_number(float(self), self.stderr)} ± {self.stderr:.3g}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (float(self), self.stderr, self.ci95, self.profile, self.note, self.bootstrap)


class ColumnFit(NamedTuple):
    """How well a column is explained."""

    n: int
    """Numbers compared."""
    rmse: float
    """Root mean squared error, in the unit of the column."""
    r2: float


class Combination(NamedTuple):
    """A combination of parameters that the data determine where they do not determine each."""

    text: str
    """In the usual notation: `ka*V`."""
    value: float
    stderr: float | None
    exact: bool
    """Whether it is the same wherever the predictions are; else only near the minimum."""


class Undetermined(NamedTuple):
    """Parameters that the data do not determine one by one, and what they determine instead."""

    params: list[str]
    determined: list[Combination]
    """Empty where they have no influence."""


class FitResult:
    """Fitted constants, how sure they are, and the model with them in place. Made by `fit`."""

    def __init__(self, model: str, found: dict[str, Any], data: Columns, given: dict[str, Any], events: Any = None) -> None:
        self._events = events
        self.model = model
        """The text that was fitted."""
        self.source: str = found["source"]
        """The text with the fitted values in place."""
        self.params: dict[str, Estimate] = {
            p["name"]: Estimate(p["value"], p["stderr"], p["ci95"], p["profile"], p["note"], p["bootstrap"]) for p in found["parameters"]
        }
        """Every fitted number by name, elements of vectors as `w[0]`: floats with `.stderr`, `.ci95` and `.note`."""
        self.values: dict[str, Array] = {name: numbers.reshape(shape) for name, shape, numbers in found["values"]}
        """The fitted parameters in their own shapes, weights of nets included."""
        n = len(self.params)
        self.covariance: Array = found["covariance"].reshape(n, n) if found["covariance"].size == n * n else np.full((n, n), np.nan)
        """Of `params`, in their order."""
        self.cost: float = found["cost"]
        """Sum of squared weighted residuals, or the robust cost."""
        self.rmse: float = found["rmse"]
        """Root mean squared error; NaN where columns of different states may differ in their units, see `columns`."""
        self.r2: float = found["r2"]
        """Share of the variance explained; NaN as above."""
        self.columns: dict[str, ColumnFit] = {name: ColumnFit(n, rmse, r2) for name, n, rmse, r2 in found["columns"]}
        """Of each column explained: numbers compared, rmse, R2."""
        self.loglik: float = found["loglik"]
        """Logarithm of the likelihood, of normal errors unless the model says otherwise, all constants included; NaN with a robust loss
        and where the model meets the data exactly, so that nothing says how large errors are."""
        self.noise: dict[str, str] = {column: words for column, words, _ in found["noise"]}
        """What was assumed of the errors of each column, as the model writes it; empty for least squares."""
        self.effects: dict[str, float] = dict(found["effects"])
        """The most probable values of random effects, by name; they are integrated out of the likelihood."""
        self.log_prior: float | None = found["log_prior"]
        """Logarithm of the prior density at the fitted values, where there are priors: these are then the posterior mode."""
        self.k: float = found["k"]
        """Numbers estimated: parameters, standard deviations of the errors (`sigmas`), as many weights as the data determine."""
        self.sigmas: int = found["sigmas"]
        self.aic: float = found["aic"]
        self.aicc: float = found["aicc"]
        self.bic: float = found["bic"]
        self.reduced_chi_square: float | None = found["reduced_chi_square"]
        """Cost over degrees of freedom where `sigma` is given: about 1 where model and errors are right."""
        self.undetermined: list[Undetermined] = [
            Undetermined(names, [Combination(*c) for c in determined]) for names, determined in found["undetermined"]
        ]
        """Parameters the data do not determine one by one, and the combinations they do determine."""
        self.observations: int = found["observations"]
        self.freedom: int = found["freedom"]
        self.converged: bool = found["converged"]
        """Whether a minimum was reached."""
        self.describes_data: bool | None = found["describes_data"]
        """Whether what is there describes the data, which a minimum need not; `warnings` say why not. None: there is no sound judgement."""
        self.message: str = found["message"]
        self.warnings: list[str] = found["warnings"]
        self.starts_tried: int = found["tried"]
        self.starts_agreed: int = found["agreed"]
        self.holdout: tuple[float, float] | None = found["holdout"]
        """Root mean squared error and R2 on the rows held out, if any were and all columns have one unit."""
        self.holdout_columns: dict[str, ColumnFit] = {name: ColumnFit(n, rmse, r2) for name, n, rmse, r2 in found["holdout_columns"]}
        """The same for each column."""
        self.check: dict[str, Any] | None = found["check"]
        """Of a model with states, solved again more accurately: whether every digit shown `holds`, by how many standard errors values
        `shift`, by what `share` of themselves, by what share standard errors do (`stderr`), and all that as a `sentence`."""
        self.targets: list[str] = found["targets"]
        """The columns explained."""
        self.observed: Array = found["observed"]
        """Data, target after target."""
        self.predicted: Array = found["predicted"]
        """Predictions in the same order."""
        self.start_time: float | None = found["start_time"]
        """When the starts of states hold; None where each group has its own first row, or nothing starts."""
        self.weights: int = found["weights"]
        """How many weights of nets were trained."""
        self._axis: tuple[str, Array, NDArray[np.uintp]] | None = found["axis"]
        self._data = data.numbers
        self._further = data.further()
        self.dates: str | None = data.calendar
        """What times that came as dates count: "days since 2024-03-01T00:00:00"."""
        self._table: list[list[str]] = found["table"]
        """The report's table of parameters, heads first."""
        self._remarks: list[str] = found["remarks"]
        """The lines below it."""
        if self.dates is not None:
            self._remarks.insert(1, f"dates are read as {self.dates}")
        self._given = given
        # Predictions start when the fit did, whatever table they are for.
        self._solving = {name: given[name] for name in ("time", "group", "method", "step", "rtol", "atol", "doses")}
        self._solving["start_time"] = found["start_time"]
        self._solving["group_starts"] = found["group_starts"]
        # Errors of new observations are those of the same columns.
        self._errors = {name: given.get(name) for name in ("sigma_column", "weights")}
        self._json: str = found["json"]
        self.standard_residuals: Array = found["standard"]
        """Residuals that are standard normal if the model is right, in the order of `observed`; empty where there are too many rows."""
        self.diagnostics: dict[str, dict[str, Any]] = json.loads(self._json).get("diagnostics", {})
        """What these show, column by column: Durbin-Watson, runs of one sign, Anderson-Darling, rows that are outliers."""

    @property
    def residuals(self) -> Array:
        """Data less predictions."""
        return self.observed - self.predicted

    @property
    def correlation(self) -> Array:
        """Of the estimates, in the order of `params`; NaN where there is no error bar."""
        deviation = np.sqrt(np.diag(self.covariance))
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = self.covariance / np.outer(deviation, deviation)
        return found

    def predict(self, data: Any = None, bands: bool = False) -> Any:
        """Predictions for the rows of `data` (those fitted, if left out): an array; for a model with states a dict of them by state. With
        `bands` a `Band` in the place of every array."""
        core = _native.Core(self.model, None, [])
        if data is None and bands:
            options = {**self._fitted(), **self._errors, **self._further}
            return with_bands(_native.predict_bands(core, list(self._data.items()), [], options, self._json))
        if data is None:
            return arranged(_native.predict_model(core, list(self._data.items()), [], {**self._fitted(), **self._further}))
        columns = Columns(data, coded(core, self._solving["group"], self._solving["time"]))
        columns.read_dates(core, [self._solving["time"]], None, None, False)
        # The numbers of groups are those of this table.
        given = doses(core, self._events, self._solving["time"], self._solving["group"], data, every=False)
        options = {**self._fitted(), "doses": given}
        return predicted(core, columns, {**options, **self._errors} if bands else options, self._json if bands else None, bands)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model with the fitted values in place, and behind it, as a comment, a record of the fit: covariance, options, the
        version and a hash of the data. Weights of nets go into the .safetensors file of the same name beside it. `predict` reads both. A
        path that ends in .eq is written in infix, others in Scheme."""
        target = Path(path)
        weights = _native.weights_to_bytes(_native.Core(self.model, None, []), self._fitted())
        if weights is not None and target.suffix == ".safetensors":
            raise ValueError("save takes the file of the model; its weights go into the .safetensors file beside it")
        known = {name: value for name, value in self._given.items() if value is not None and name != "doses"}
        # That there were doses is asked for again by predictions; the doses themselves are data.
        # Numbers of NumPy are numbers.
        given = json.dumps({**known, "events": "given"} if self._given.get("doses") else known, default=lambda number: number.item())
        text = _native.fit_saved(self.source, self._json, list(self._data.items()), given, weights)
        if target.suffix == ".eq":
            text = _native.translate(text, "scheme", "infix")
        beside = [] if weights is None else [(target.with_suffix(".safetensors"), weights)]
        _write([*beside, (target, text.encode())])

    @property
    def module(self) -> CompiledModule:
        """The fitted model as an `nn.Module`: the right-hand side where it has states (see `odeint`)."""
        from ..nn import compile_scheme

        weights = {i.name for i in read_inputs(_native.Core(self.source, None, [])) if i.kind == "weight"}
        return compile_scheme(self.source, params={name: value for name, value in self.values.items() if name in weights})

    def summary(self) -> str:
        """A table of the parameters, and how good the fit is."""
        widths = [max(map(len, column)) for column in zip(*self._table)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in self._table]
        return "\n".join([*lines, "", *self._remarks]) + "\n"

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        heads, *rows = self._table
        body = row(heads, "th") + "".join(row(r, "td") for r in rows)
        return f"<table>{body}</table><pre>{html.escape(chr(10).join(self._remarks))}</pre>{self._repr_svg_()}"

    def _repr_svg_(self) -> str:
        return _native.fit_svg(self.targets, self.observed, self.predicted, self._axis, self._lines(), self.standard_residuals)

    def _fitted(self) -> dict[str, Any]:
        """How the model is solved, with the fitted values."""
        return {**self._solving, "values": [(name, list(v.shape), np.ravel(v)) for name, v in self.values.items()]}

    def _lines(self) -> list[tuple[Array, list[Array], list[list[Array] | None]]]:
        """The model over what the rows lie along, trajectory by trajectory: places, the targets there, and their bands (of the model, then
        of observations)."""
        if self._axis is None:
            return []
        core = _native.Core(self.model, None, [])
        return _native.fit_lines(core, list(self._data.items()), self._fitted(), (self.targets, self.predicted), self._axis, self._json)

    def plot(self, log: str = "") -> Figure:
        """Data (with error bars where `sigma` was given), model and residuals, a column per target, over the time or the only input where
        there is one, else over the predictions. `log`: the axes with a logarithmic scale: `"x"`, `"y"` or `"xy"`."""
        from .plot import figure

        return figure(self, log)


class Band(NamedTuple):
    """Predictions and how sure they are, row by row."""

    value: Array
    stderr: Array
    """Standard errors."""
    ci95: tuple[Array, Array]
    """Ends of the interval in which the prediction lies with 95 %."""
    pi95: tuple[Array, Array]
    """Ends of the interval in which a new observation lies with 95 %; NaN where nothing is known of it."""


def with_bands(found: list[tuple[str, list[Array]]]) -> Any:
    """Bands as users want them: one, or a dict of them by name."""
    made = {name: Band(value, stderr, (low, high), (lowest, highest)) for name, (value, stderr, low, high, lowest, highest) in found}
    return made["prediction"] if list(made) == ["prediction"] else made


def predicted(core: _native.Core, columns: Columns, options: dict[str, Any], known: str | None = None, bands: bool = False) -> Any:
    """Predictions for the rows of new data; `bands`: with how sure they are, by `known`, a fit as JSON, or by the model's own record."""
    try:
        if bands:
            given = {**options, **columns.further()}
            return with_bands(_native.predict_bands(core, columns.listed(), columns.beside(), given, known))
        return arranged(_native.predict_model(core, columns.listed(), columns.beside(), {**options, **columns.further()}))
    except FitError as error:
        raise columns.blame(error) from None


def arranged(found: list[tuple[str, Any]]) -> Any:
    """Predictions as users want them: an array, for a model with states a dict of them by state."""
    if all(name.split("[")[0] == "prediction" for name, _ in found):
        return found[0][1] if len(found) == 1 and found[0][0] == "prediction" else np.stack([c for _, c in found], -1)
    return {name.removesuffix(".predicted"): column for name, column in found}


def _write(files: list[tuple[Path, bytes]]) -> None:
    """Files that belong together, whole or not at all: each is complete before the first takes its place."""
    parts = [path.with_name(path.name + ".part") for path, _ in files]
    try:
        for part, (path, content) in zip(parts, files):
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            try:
                part.write_bytes(content)
            except OSError as error:
                # Nobody asked for the file beside the one that was named.
                raise type(error)(error.errno, error.strerror, str(path)) from None
        for part, (path, _) in zip(parts, files):
            os.replace(part, path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
