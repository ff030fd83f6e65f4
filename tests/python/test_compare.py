"""`compare` from Python has the figures of `neuralc compare`, and says what it does not take."""

from __future__ import annotations

import json
import pathlib
import subprocess

import neural_compiler as nc
import numpy as np
import pytest
from test_faces import _neuralc

LINE = "(param a 1) (param b 0) (+ b (* a x))"
CURVE = "(param a 1) (param b 0) (param c 0) (+ b (* a x) (* c x x))"
DATA = {"x": np.arange(1.0, 13.0), "y": np.array([1.1, 2.3, 2.8, 4.4, 5.2, 5.7, 7.6, 7.7, 9.3, 10.4, 10.9, 12.3])}


def test_figures_are_those_of_the_command(tmp_path: pathlib.Path) -> None:
    files = {"line.scm": LINE, "curve.scm": CURVE}
    paths = [tmp_path / name for name in files]
    [path.write_text(text) for path, text in zip(paths, files.values())]
    table = tmp_path / "data.csv"
    table.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in zip(DATA["x"].tolist(), DATA["y"].tolist())))
    words = ["compare", *map(str, paths), "--data", str(table), "--target", "y"]
    run = [_neuralc(), *words]
    found = nc.compare(paths, DATA, target="y")
    told = subprocess.run([*run, "--json"], capture_output=True, text=True, check=True).stdout
    assert found.to_dict() == json.loads(told)
    assert repr(found) == subprocess.run(run, capture_output=True, text=True, check=True).stdout


def test_figures_are_those_of_the_fits() -> None:
    found = nc.compare({"line": LINE, "curve": CURVE}, DATA, target="y")
    fits = [nc.fit(model, DATA, target="y") for model in (LINE, CURVE)]
    for told, fit in zip(found.models, fits):
        assert [told[name] for name in ("loglik", "k", "aic", "aicc", "bic")] == [fit.loglik, fit.k, fit.aic, fit.aicc, fit.bic]
    assert sum(m["weight"] for m in found.models) == pytest.approx(1)
    (test,) = found.tests
    assert test["models"] == ["line", "curve"] and test["df"] == 1
    assert test["statistic"] == pytest.approx(2 * (fits[1].loglik - fits[0].loglik), rel=1e-12)
    assert found.observations == 12 and "line" in repr(found) and "AICc" in repr(found)
    assert json.loads(json.dumps(found.to_dict()))["models"][0]["file"] == "line"
    # Nobody changes what is told.
    found.to_dict()["models"].clear()
    assert len(found.models) == 2


def test_texts_without_names_and_options() -> None:
    t = np.linspace(0, 3, 16)
    data = {"t": t, "x": 2 * np.exp(-0.7 * t) + 0.01 * np.cos(17 * t)}
    states = "(param k 1) (state x 2) (derive x (- (* k x)))"
    found = nc.compare([states, states.replace("state x 2", "param x0 2) (state x x0")], data, method="dopri5", sigma=0.01)
    assert [m["file"] for m in found.models] == ["model 1", "model 2"] and found.models[0]["k"] == 1
    # What only one of them makes use of.
    formula = "(param k 1) (observe x (* 2 (exp (- (* k t)))))"
    assert nc.compare([states, formula], data, method="dopri5", target="x").observations == 16


def test_what_is_refused() -> None:
    for options, words in (({"bootstrap": 20}, "not `bootstrap`"), ({"progress": print}, "not `progress`")):
        with pytest.raises(TypeError, match=words):
            nc.compare([LINE, CURVE], DATA, **options)
    with pytest.raises(TypeError, match="models are several"):
        nc.compare(LINE, DATA)
    with pytest.raises(ValueError, match="two models or more are compared, not 1"):
        nc.compare([LINE], DATA)
    with pytest.raises(nc.FitError, match="`rtol`"):
        nc.compare([LINE, CURVE], DATA, target="y", rtol=1e-6)
    with pytest.raises(nc.FitError) as error:
        nc.compare([LINE, "(param a 1) (state x 1) (derive x a)"], {**DATA, "t": DATA["x"]}, target="y")
    assert error.value.code
