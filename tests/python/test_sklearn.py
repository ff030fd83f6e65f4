"""`EquationRegressor` under scikit-learn's own checks, and at work in its tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from neural_compiler.sklearn import EquationRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks([EquationRegressor()])
def test_scikit_learn_s_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_coefficients_that_rows_do_not_determine_are_the_smallest() -> None:
    rng = np.random.default_rng(3)
    wide, new = rng.normal(size=(12, 20)), rng.normal(size=(5, 20))
    twice = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 5)) + 1.0
    for rows, others in ((wide, new), (twice, rng.normal(size=(4, 5)))):
        y, weights = rng.normal(size=len(rows)), rng.integers(0, 4, len(rows))
        for given in (None, weights):
            theirs = LinearRegression().fit(rows, y, given)
            ours = EquationRegressor().fit(rows, y, given)
            np.testing.assert_allclose(ours.predict(others), theirs.predict(others), rtol=1e-9)
            intercept, *along = ours.result_.params.values()
            np.testing.assert_allclose(ours.basis_.T @ along, theirs.coef_, rtol=1e-8, atol=1e-12)
            assert intercept == pytest.approx(theirs.intercept_, rel=1e-8)
    assert EquationRegressor().fit(twice[:, :2], y).basis_ is None
    with pytest.raises(ValueError, match="n_samples=2 rows cannot determine 3 parameters"):
        EquationRegressor("(param a 1) (param b 1) (param c 1) (+ a (* b x) (* c x x))").fit(np.ones((2, 1)), [1.0, 2.0])


DECAY = "(param a 1) (param k 1 :min 0) (* a (exp (- (* k t))))"
T = np.linspace(0, 4, 60)
Y = 3 * np.exp(-0.7 * T) + 0.01 * np.random.default_rng(0).normal(size=60)


def test_weights_are_repetitions() -> None:
    weights = np.arange(60) % 4
    weighted = EquationRegressor(DECAY).fit(T[:, None], Y, sample_weight=weights)
    repeated = EquationRegressor(DECAY).fit(np.repeat(T, weights)[:, None], np.repeat(Y, weights))
    np.testing.assert_allclose(list(weighted.result_.params.values()), list(repeated.result_.params.values()), rtol=1e-7)


def test_columns_bind_by_name_by_position_or_as_a_vector() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 40))
    z = 2 * x + np.sin(3 * y)
    text = "(param a 1) (param b 1 :min 0 :max 5) (+ (* a x) (sin (* b y)))"
    frame = EquationRegressor(text).fit(pd.DataFrame({"y": y, "x": x}), z)
    order = EquationRegressor(text).fit(np.stack([x, y], 1), z)
    named = EquationRegressor(text, inputs=["y", "x"]).fit(np.stack([y, x], 1), z)
    whole = EquationRegressor(
        "(param a 1) (param b 1 :min 0 :max 5) (+ (* a (ref v 0)) (sin (* b (ref v 1)))) ".replace("(param a", "(input v :size 2) (param a")
    ).fit(np.stack([x, y], 1), z)
    for model in (frame, order, named, whole):
        np.testing.assert_allclose([model.result_.params["a"], model.result_.params["b"]], [2, 3], rtol=1e-9)
    with pytest.raises(ValueError, match="X has 3 columns, the model has 2 inputs: x, y"):
        EquationRegressor(text).fit(np.ones((5, 3)), np.ones(5))


def test_inside_a_pipeline_and_cross_validation() -> None:
    pipeline = make_pipeline(FunctionTransformer(lambda t: t / 2), EquationRegressor(DECAY))
    assert cross_val_score(pipeline, T[:, None], Y, cv=5).mean() > 0.9
    assert pipeline.fit(T[:, None], Y).named_steps["equationregressor"].result_.params["k"] == pytest.approx(1.4, abs=0.02)


def test_errors_speak_of_what_the_caller_gave() -> None:
    rows = np.ones((3, 1))
    with pytest.raises(ValueError, match="row 1, column `sample_weight`: a weight must be positive"):
        EquationRegressor("(param a 1) (* a x)").fit(rows, [1.0, 2.0, 3.0], sample_weight=[-1, 1, 1])
    # An input of the model called `y` is not the target.
    with pytest.raises(ValueError, match="the data have no column `y`"):
        EquationRegressor("(param a 1) (* a y)", inputs=["x"]).fit(rows, [1.0, 2.0, 3.0])
    x = np.linspace(1, 2, 5)
    assert EquationRegressor("(param a 1) (* a y)").fit(x[:, None], 3 * x).result_.params["a"] == pytest.approx(3)
