"""`FitResult`: what a fit found, to look at and to go on with."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..signature import read_inputs
from .columns import Columns

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

    def __new__(cls, value: float, stderr: float | None = None, ci95: Any = None, profile: Any = None, note: str | None = None) -> Estimate:
        made = super().__new__(cls, value)
        made.stderr, made.ci95, made.profile, made.note = stderr, ci95, profile, note
        return made

    def __repr__(self) -> str:
        return f"{shown(float(self), self.stderr)} ± {self.stderr:.3g}" if self.stderr is not None else f"{float(self)!r} ({self.note})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (float(self), self.stderr, self.ci95, self.profile, self.note)


class FitResult:
    """Fitted constants, how sure they are, and the model with them in place. Made by `fit`."""

    def __init__(self, model: str, found: dict[str, Any], data: dict[str, Array], solving: dict[str, Any]) -> None:
        self.model = model
        """The text that was fitted."""
        self.source: str = found["source"]
        """The text with the fitted values in place."""
        self.params: dict[str, Estimate] = {
            p["name"]: Estimate(p["value"], p["stderr"], p["ci95"], p["profile"], p["note"]) for p in found["parameters"]
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
        self.r2: float = found["r2"]
        self.aic: float = found["aic"]
        self.bic: float = found["bic"]
        self.observations: int = found["observations"]
        self.freedom: int = found["freedom"]
        self.converged: bool = found["converged"]
        self.message: str = found["message"]
        self.warnings: list[str] = found["warnings"]
        self.starts_tried: int = found["tried"]
        self.starts_agreed: int = found["agreed"]
        self.holdout: tuple[float, float] | None = found["holdout"]
        """Root mean squared error and R2 on the rows held out, if any were."""
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
        self._starts_hold: str | None = found["starts_hold"]
        self.weights: int = found["weights"]
        """How many weights of nets were trained."""
        self._axis: tuple[str, Array, NDArray[np.uintp]] | None = found["axis"]
        self._data = data
        self._solving = solving

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

    def predict(self, data: Any = None) -> Any:
        """Predictions for the rows of `data` (those fitted, if left out): an array; for a model with states a dict of them by state."""
        columns = Columns(data, self._solving["group"]).listed() if data is not None else list(self._data.items())
        found = _native.predict_model(_native.Core(self.model, None, []), columns, self._fitted())
        if all(name.split("[")[0] == "prediction" for name, _ in found):
            return found[0][1] if len(found) == 1 and found[0][0] == "prediction" else np.stack([c for _, c in found], -1)
        return {name.removesuffix(".predicted"): column for name, column in found}

    @property
    def module(self) -> CompiledModule:
        """The fitted model as an `nn.Module`: the right-hand side where it has states (see `odeint`)."""
        from ..nn import compile_scheme

        weights = {i.name for i in read_inputs(_native.Core(self.source, None, [])) if i.kind == "weight"}
        return compile_scheme(self.source, params={name: value for name, value in self.values.items() if name in weights})

    def summary(self) -> str:
        """A table of the parameters, and how good the fit is."""
        rows = [self._heads(), *self._rows()]
        widths = [max(len(r[c]) for r in rows) for c in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, "", *self._remarks()]) + "\n"

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = row(self._heads(), "th") + "".join(row(r, "td") for r in self._rows())
        return f"<table>{body}</table><pre>{html.escape(chr(10).join(self._remarks()))}</pre>{self._repr_svg_()}"

    def _repr_svg_(self) -> str:
        return _native.fit_svg(self.targets, self.observed, self.predicted, self._axis, self._lines())

    def _fitted(self) -> dict[str, Any]:
        """How the model is solved, with the fitted values."""
        return {**self._solving, "values": [(name, list(v.shape), np.ravel(v)) for name, v in self.values.items()]}

    def _lines(self) -> list[tuple[Array, list[Array]]]:
        """The model over what the rows lie along, trajectory by trajectory: places, and the targets there."""
        if self._axis is None:
            return []
        core = _native.Core(self.model, None, [])
        return _native.fit_lines(core, list(self._data.items()), self._fitted(), self.targets, self.predicted, self._axis)

    def _heads(self) -> list[str]:
        return ["parameter", "value", "std. error", "95 % interval", *(["95 % by profile"] if self._profiled else [])]

    @property
    def _profiled(self) -> bool:
        return any(p.profile is not None for p in self.params.values())

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, p in self.params.items():
            error = f"{p.stderr:.3g}" if p.stderr is not None else p.note or ""
            ends = [p.ci95, *([p.profile] if self._profiled else [])]
            ranges = ["" if e is None else f"[{shown(e[0], p.stderr)}, {shown(e[1], p.stderr)}]" for e in ends]
            rows.append([name, shown(float(p), p.stderr), error, *ranges])
        return rows

    def _remarks(self) -> list[str]:
        targets = ", ".join(f"`{t}`" for t in self.targets)
        lines = [
            f"{self.observations} observations of {targets}" + (f"; {self.weights} weights of nets were trained" if self.weights else ""),
            f"cost {self.cost:.6g}  rmse {self.rmse:.4g}  R2 {self.r2:.6g}  AIC {self.aic:.6g}  BIC {self.bic:.6g}",
        ]
        if self._starts_hold is not None:
            lines.insert(1, self._starts_hold)
        if self.holdout is not None:
            lines.append(f"on the rows held out: rmse {self.holdout[0]:.4g}  R2 {self.holdout[1]:.6g}")
        lines.append(f"{self.message}; {self.starts_agreed} of {self.starts_tried} starts agree")
        if self.check is not None:
            lines.append(self.check["sentence"])
        return lines + [f"warning: {w}" for w in self.warnings]

    def plot(self) -> Figure:
        """Data, model and residuals, a column per target, over the time or the only input where there is one, else over the predictions."""
        from .plot import figure

        return figure(self)


def shown(x: float, error: float | None) -> str:
    """A number with the digits its error leaves meaningful, and two more."""
    if x == 0 or not np.isfinite(x):
        return f"{x:g}"
    digits = 8
    if error and np.isfinite(error):
        digits = int(min(max(np.ceil(np.log10(abs(x) / error)) + 2, 3), 15))
    return f"{x:#.{digits}g}".removesuffix(".")
