"""Fitting as a scikit-learn estimator: `EquationRegressor`. Needs scikit-learn; nothing else in the package does."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _native
from .fitting import FitResult, fit
from .signature import read_inputs


class EquationRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An equation with unknown constants as a regressor.

    `model`: the text; its `(param …)` declarations are fitted. `inputs`: the names of the columns of X, in order; left out, they are the
    names of a data frame's columns, or the model's inputs in the order they appear. A model with a single vector as input gets each row
    of X as that vector. `target`: which state or observable of the model y observes (`y` unless it is given); a model with states has its
    time among the columns of X. The other arguments are those of `neural_compiler.fit`.

    Without a model it is linear regression. Where the rows do not determine every coefficient, because there are fewer of them than
    columns or columns depend on each other, the coefficients are the smallest that fit best, as scikit-learn's own: what is fitted are
    those of the directions in which rows differ, the rows of `basis_`.

    >>> t = np.linspace(0, 4, 30)[:, None]
    >>> decay = EquationRegressor("(param a 1) (param k 1) (* a (exp (- (* k t))))").fit(t, 3 * np.exp(-0.7 * t[:, 0]))
    >>> round(decay.result_.params["k"], 9)
    0.7
    >>> decay.score(t, 3 * np.exp(-0.7 * t[:, 0]))
    1.0
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        inputs: list[str] | None = None,
        target: str | None = None,
        loss: str = "squares",
        loss_scale: float | None = None,
        starts: int | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.inputs = inputs
        self.target = target
        self.loss = loss
        self.loss_scale = loss_scale
        self.starts = starts
        self.seed = seed
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> EquationRegressor:
        """Fits the constants to rows of inputs `X` and values `y`."""
        rows, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
        self.basis_ = _directions(rows, weights) if self.model is None else None
        count = rows.shape[1] if self.basis_ is None else len(self.basis_)
        text = _linear(count) if self.model is None else self.model
        self._names = self._bound(text, count)
        columns = self._columns(rows)
        inputs = read_inputs(_native.Core(text, None, []))
        taken = {*columns, *(i.name for i in inputs)}
        target = _free("y", taken) if self.target is None else self.target
        if target in columns:
            raise ValueError(f"`{target}` is among the columns of X: the target is another")
        weight = _free("sample_weight", taken)
        columns[target] = np.asarray(values, np.float64)
        if weights is not None:
            columns[weight] = weights
        needed = sum(i.kind == "param" and int(np.prod(i.shape or ())) for i in inputs)
        if len(rows) < needed:
            raise ValueError(f"n_samples={len(rows)} rows cannot determine {needed} parameters")
        self.result_: FitResult = fit(
            text, columns, target=target, weights=None if weights is None else weight, loss=self.loss, loss_scale=self.loss_scale,
            starts=self.starts, seed=self.seed, threads=self.threads,
        )  # fmt: skip
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The model at the fitted constants."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        told = self.result_.predict(self._columns(rows))
        # A model that says what the target observes, `(observe y …)`, has its prediction by name.
        found: NDArray[np.float64] = told[self.result_.targets[0]] if isinstance(told, dict) else told
        return found

    def _bound(self, text: str, count: int) -> list[str] | str:
        """The names of the columns, or the one vector they make."""
        open_inputs = [i for i in read_inputs(_native.Core(text, None, [])) if i.kind in ("free", "declared")]
        if len(open_inputs) == 1 and open_inputs[0].rank == 1:
            return open_inputs[0].name
        given = self.inputs if self.inputs is not None else getattr(self, "feature_names_in_", [i.name for i in open_inputs])
        names = [str(n) for n in given]
        if len(names) != count:
            raise ValueError(f"X has {count} columns, the model has {len(names)} inputs: {', '.join(names) or 'none'}")
        return names

    def _columns(self, rows: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        rows = rows if self.basis_ is None else rows @ self.basis_.T
        return {self._names: rows} if isinstance(self._names, str) else dict(zip(self._names, rows.T))


def _directions(rows: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Orthogonal directions in which rows that count differ, where there are fewer than columns: best coefficients along these are the
    smallest. Rows that are all the same have none, and are left as they are."""
    counted = rows if weights is None else rows[weights > 0]
    if len(counted) == 0:
        return None
    root = np.ones(len(counted)) if weights is None else np.sqrt(weights[weights > 0])
    centred = root[:, None] * (counted - np.average(counted, axis=0, weights=root**2))
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    found = directions[sizes > sizes[0] * max(rows.shape) * np.finfo(np.float64).eps]
    return found if 0 < len(found) < rows.shape[1] else None


def _free(name: str, taken: set[str]) -> str:
    """A column's name as errors show it; longer where the model has that name for something else."""
    while name in taken:
        name = f"the {name} of fit"
    return name


def _linear(count: int) -> str:
    return (
        f"(param intercept 0) (param coefficients [{' '.join(['0'] * count)}]) (input x :size {count}) (+ intercept (dot coefficients x))"
    )
