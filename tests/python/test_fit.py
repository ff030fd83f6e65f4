"""`fit` from Python: the kinds of data, what a result offers, and what it says about bad data."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
from typing import Any

import neural_compiler as nc
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.optimize
import scipy.stats
import torch

DECAY = "(param a 1) (param k 1 :min 0) (* a (exp (- (* k t))))"


def data(noise: float = 0.02) -> dict[str, np.ndarray]:
    t = np.linspace(0, 4, 40)
    return {"t": t, "y": 3 * np.exp(-0.7 * t) + noise * np.random.default_rng(1).normal(size=40)}


def test_values_and_errors_are_those_of_curve_fit() -> None:
    given = data()
    found = nc.fit(DECAY, given)
    best, covariance = scipy.optimize.curve_fit(
        lambda t, a, k: a * np.exp(-k * t), given["t"], given["y"], p0=[1, 1], xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    np.testing.assert_allclose([found.params["a"], found.params["k"]], best, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-4)
    np.testing.assert_allclose([p.stderr for p in found.params.values()], np.sqrt(np.diag(covariance)), rtol=1e-4)
    low, high = found.params["k"].ci95
    assert low < best[1] < high and found.converged and found.starts_agreed >= 2
    assert found.correlation[0, 0] == pytest.approx(1)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table, lambda d: pd.DataFrame(d).astype({"t": "Float64"})])
def test_every_kind_of_table(make: object) -> None:
    found = nc.fit(DECAY, make(data()))  # type: ignore[operator]
    assert found.params == nc.fit(DECAY, data()).params


def test_what_a_result_offers() -> None:
    found = nc.fit(DECAY, data(), target="y")
    t = np.array([0.0, 1.0])
    expected = found.params["a"] * np.exp(-found.params["k"] * t)
    np.testing.assert_allclose(found.predict({"t": t}), expected, rtol=1e-14)
    np.testing.assert_allclose(found.predict(), found.predicted, rtol=1e-14)
    np.testing.assert_allclose(found.residuals, data()["y"] - found.predicted)
    text = found.summary()
    assert (
        text.splitlines()[0].split() == ["parameter", "value", "std.", "error", "95", "%", "interval"] and "40 observations of `y`" in text
    )
    assert "<table>" in found._repr_html_() and "<svg" in found._repr_html_()
    assert len(found.plot().axes) == 3
    again = pickle.loads(pickle.dumps(found))
    assert again.params == found.params and again.params["k"].stderr == found.params["k"].stderr
    module = found.module
    torch.testing.assert_close(module(t=torch.from_numpy(t)).detach().numpy(), expected, rtol=1e-15, atol=0)
    assert module.k.requires_grad and module.bounds == {"k": (0.0, None)}


def test_vectors_as_arrays_of_rows() -> None:
    rng = np.random.default_rng(0)
    r = rng.normal(size=(50, 3))
    found = nc.fit("(param w [1 1 1]) (dot w r)", {"r": r, "y": r @ [1.0, -2.0, 3.0]})
    np.testing.assert_allclose(found.values["w"], [1, -2, 3], rtol=1e-12)
    assert list(found.params) == ["w[0]", "w[1]", "w[2]"]


def test_a_differential_equation_in_groups() -> None:
    model = "(param k 1 :min 0) (state x x0) (derive x (* (- k) x))"
    t = np.tile(np.linspace(0, 2, 9), 2)
    x0 = np.repeat([1.0, 5.0], 9)
    frame = pd.DataFrame({"t": t, "x": x0 * np.exp(-1.3 * t), "x0": x0, "who": np.repeat(["ann", "bob"], 9)})
    found = nc.fit(model, frame, time="t", group="who")
    assert found.params["k"] == pytest.approx(1.3, rel=1e-5)
    path = found.predict(frame)
    np.testing.assert_allclose(path["x"], frame["x"], rtol=1e-4)
    states = nc.odeint(found.module, {"x": torch.tensor([1.0, 5.0], dtype=torch.float64)}, t[:9])
    np.testing.assert_allclose(states["x"].detach().numpy().T.ravel(), path["x"], rtol=1e-4)


def test_a_net_inside_a_model_learns_what_is_left() -> None:
    x = np.linspace(-2, 2, 60)
    found = nc.fit(
        "(param a 1) (net g (x) 6 1) (+ (* a t) (g x))", {"x": x, "t": np.cos(3 * x), "y": 2.5 * np.cos(3 * x) + np.tanh(x) - 0.3}
    )
    assert found.params["a"] == pytest.approx(2.5, abs=0.05) and found.r2 > 0.999 and found.weights == 19
    assert set(found.params) == {"a"} and {"g.w0", "g.b0", "g.w1", "g.b1"} < set(found.values)
    np.testing.assert_allclose(found.predict(), found.predicted, rtol=1e-12)
    module = found.module
    value = module(x=torch.from_numpy(x), t=torch.from_numpy(np.cos(3 * x)))
    np.testing.assert_allclose(value.detach().numpy(), found.predicted, rtol=1e-10, atol=1e-12)
    first = nc.fit("(net g (x) 6 1) (g x)", {"x": x, "y": np.tanh(x)}, training="first-order", epochs=50, batch=16, weight_decay=1e-6)
    assert first.r2 > 0.9
    with pytest.raises(ValueError, match="the training is one of auto"):
        nc.fit("(net g (x) 6 1) (g x)", {"x": x, "y": x}, training="magic")


def test_options_reach_the_fit() -> None:
    given = data() | {"s": np.full(40, 0.02)}
    np.testing.assert_allclose(nc.fit(DECAY, given, target="y", sigma="s").cost, nc.fit(DECAY, data(), sigma=0.02).cost, rtol=1e-9)
    given["y"][3] = 50.0
    robust = nc.fit(DECAY, given, target="y", loss="cauchy")
    assert robust.params["k"] == pytest.approx(0.7, abs=0.02) and abs(nc.fit(DECAY, given, target="y").params["k"] - 0.7) > 0.1
    held = nc.fit(DECAY, data(), holdout=0.25, profile=True, seed=3)
    assert held.observations == 30 and held.holdout is not None and held.params["k"].profile is not None
    assert held.params == nc.fit(DECAY, data(), holdout=0.25, profile=True, seed=3, threads=1).params


def test_starts_and_observables_are_expressions() -> None:
    model = (
        """(time t :start 0) (param V 10 :min 1) (param k 1 :min 0) (state A (* dose 1)) (derive A (* (- k) A)) (observe conc (/ A V))"""
    )
    t = np.tile(np.linspace(0, 6, 15), 2)
    who, dose = np.repeat([0.0, 1.0], 15), np.repeat([80.0, 30.0], 15)
    conc = dose / 16 * np.exp(-0.4 * t) + np.random.default_rng(3).normal(0, 0.02, 30)
    found = nc.fit(model, {"t": t, "who": who, "dose": dose, "conc": conc}, group="who")
    # The same by SciPy, from the solution in closed form.
    wanted, covariance = scipy.optimize.curve_fit(lambda x, v, k: x[0] / v * np.exp(-k * x[1]), (dose, t), conc, [10, 1])
    np.testing.assert_allclose([found.params["V"], found.params["k"]], wanted, rtol=1e-6)
    errors = [found.params[name].stderr for name in ("V", "k")]
    np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance)), rtol=1e-4)
    assert found.targets == ["conc"] and found.columns["conc"].n == 30
    told = found.predict({"t": [0.0, 1.0], "dose": [50.0, 50.0], "who": [0.0, 0.0]})
    np.testing.assert_allclose(told["A"], 50 * np.exp([0, -found.params["k"]]), rtol=1e-6)
    np.testing.assert_allclose(told["conc"], told["A"] / found.params["V"], rtol=1e-12)
    with pytest.raises(TypeError, match="the start of `A` is one the model computes"):
        nc.odeint(found.module, None, [0.0, 1.0])


def test_options_are_checked_by_the_library() -> None:
    codes = {"step": "bad-step", "rtol": "bad-tolerance", "atol": "bad-tolerance", "tolerance": "bad-tolerance", "sigma": "bad-sigma"}
    codes |= {"budget": "bad-budget", "weight_decay": "bad-weight-decay", "holdout": "bad-holdout"}
    values = (0.0, -1.0, float("nan"), float("inf"))
    bad: list[tuple[dict[str, Any], str]] = [({name: value}, code) for name, code in codes.items() for value in values]
    bad += [({"starts": 0}, "bad-count"), ({"epochs": 0}, "bad-count"), ({"batch": 0}, "bad-count")]
    bad += [({"loss": "huber", "loss_scale": -1.0}, "bad-loss"), ({"start_time": float("nan")}, "bad-start-time")]
    for options, code in bad:
        with pytest.raises(nc.FitError) as caught:
            nc.fit(DECAY, data(), **options)
        assert caught.value.code == code, options
    with pytest.raises(nc.FitError, match="a step is a positive number"):
        nc.predict("(state x 1) (derive x (- x))", {"t": [0.0, 1.0]}, step=-1)
    with pytest.raises(ValueError, match="the loss is one of squares, huber, soft-l1, cauchy, not"):
        nc.fit(DECAY, data(), loss="hubber")
    one, other = (nc.fit(DECAY, data(), loss=loss) for loss in ("soft-l1", "soft_l1"))
    assert one.params == other.params and one.cost == other.cost


def test_missing_targets_are_left_out() -> None:
    bad = data()
    bad["y"][4] = np.nan
    gone = pd.DataFrame(data()).astype({"y": "Float64"})
    gone.loc[6, "y"] = pd.NA
    for given, row in ((bad, 4), (gone, 6)):
        without = {k: np.delete(v, row) for k, v in data().items()}
        found, same = nc.fit(DECAY, given, target="y"), nc.fit(DECAY, without, target="y")
        assert found.observations == 39 and all(abs(found.params[k] / v - 1) < 1e-9 for k, v in same.params.items())


def test_bad_data_are_named_by_row_and_column() -> None:
    cases = [
        ({"time": [1.0], "y": [1.0]}, {"target": "y"}, "missing-column", "no column `t`"),
        (data() | {"t": np.array(["a"] * 40)}, {"target": "y"}, "missing-column", "the column `t` holds text"),
        (data() | {"y": [1.0]}, {}, "uneven-columns", "1 rows"),
        ({"t": [1.0], "y": [1.0]}, {}, "too-few-rows", "1 observations"),
        (data(), {"sigma": -1.0}, "bad-sigma", "positive"),
    ]
    for given, options, code, words in cases:
        with pytest.raises(nc.FitError, match=words) as caught:
            nc.fit(DECAY, given, **options)  # type: ignore[arg-type]
        assert caught.value.code == code == pickle.loads(pickle.dumps(caught.value)).code
    with pytest.raises(TypeError, match="a dict of arrays"):
        nc.fit(DECAY, 3)
    with pytest.raises(ValueError, match="the method is one of auto"):
        nc.fit(DECAY, data(), method="magic")
    with pytest.raises(nc.CompileError, match="unknown-function"):
        nc.fit("(param k 1) (sqr k)", data())


LONG = "(param a 1) (param b 1) (param c 1) (param d 1) (param e 1) (+ (* a (sin (* b t))) (* c (sin (+ d (* e t)))))"


def test_progress_is_told_and_its_errors_arrive() -> None:
    t = np.linspace(0, 50, 200)
    given = {"t": t, "y": np.sin(7.3 * t) * np.cos(0.01 * t * t)}
    told: list[tuple[int, int, float]] = []
    nc.fit(LONG, given, starts=40, progress=lambda *news: told.append(news))
    assert told and all(0 <= done <= of and cost >= 0 for done, of, cost in told)

    def fail(*_: object) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nc.fit(LONG, given, starts=40, progress=fail)


def test_ctrl_c_keeps_the_best_so_far() -> None:
    t = np.linspace(0, 50, 20_000)
    given = {"t": t, "y": np.sin(7.3 * t) * np.cos(0.01 * t * t)}
    told: list[int] = []

    def interrupt(done: int, *_: object) -> None:
        # From inside the fit, so that it is under way whatever the machine does: no start of thousands is the last one.
        told.append(done)
        if len(told) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    # Whoever runs the tests may ignore Ctrl-C, as workers of pytest do.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = nc.fit(LONG, given, starts=5000, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not found.converged and "best values so far" in found.message
    assert told[-1] < 5000
    assert np.isfinite(list(found.params.values())).all()


def test_a_start_holds_when_it_is_said_to() -> None:
    model = "(param k 1 :min 0) (state x 10) (derive x (* (- k) x))"
    t = np.arange(1.0, 6.0)
    data = {"t": t, "x": 10 * np.exp(-0.5 * t)}
    for found in (nc.fit(model, data, start_time=0), nc.fit(f"(time t :start 0) {model}", data)):
        assert found.params["k"] == pytest.approx(0.5, abs=1e-8) and found.start_time == 0
        assert "starts hold at t = 0" in found.summary() and "(time t :start 0)" in found.source
        np.testing.assert_allclose(found.predict({"t": np.array([3.0, 4.0])})["x"], [2.231301601, 1.353352832], rtol=1e-7)
    # Unless it is said, the first row of the data fitted is the start, for other data too.
    shifted = nc.fit(model, {"t": t, "x": 10 * np.exp(-0.5 * (t - 1))})
    assert shifted.start_time == 1 and any("(time t :start 0)" in w for w in shifted.warnings)
    np.testing.assert_allclose(shifted.predict({"t": np.array([3.0])})["x"], [10 * np.exp(-1)], rtol=1e-7)
    # The right-hand side is what it was: the time is an input only where it is used.
    assert "t" not in [i.name for i in shifted.module.inputs]


def test_likelihood_is_that_of_normal_errors() -> None:
    given = data()
    found = nc.fit(DECAY, given)
    sigma = np.sqrt(np.mean(found.residuals**2))
    expected = scipy.stats.norm.logpdf(given["y"], found.predicted, sigma).sum()
    assert found.loglik == pytest.approx(expected, rel=1e-10) and found.k == 3 and found.sigmas == 1
    assert found.aic == pytest.approx(6 - 2 * expected, rel=1e-10) and found.bic == pytest.approx(3 * np.log(40) - 2 * expected, rel=1e-10)
    assert found.columns["y"].rmse == pytest.approx(sigma) and found.columns["y"].n == 40
    known = nc.fit(DECAY, given, sigma=0.02)
    assert known.loglik == pytest.approx(scipy.stats.norm.logpdf(given["y"], known.predicted, 0.02).sum(), rel=1e-10) and known.k == 2
    robust = nc.fit(DECAY, given, loss="huber")
    assert np.isnan(robust.aic) and "no likelihood" in robust.summary()


def test_what_is_not_determined_has_no_error_bar() -> None:
    found = nc.fit("(param a 1) (param b 2) (param k 1) (* a b (exp (- (* k t))))", data())
    assert found.params["a"].stderr is None and found.params["k"].stderr is not None
    (only,) = found.undetermined
    assert only.params == ["a", "b"] and only.determined[0].text == "a*b"
    assert only.determined[0].value == pytest.approx(nc.fit(DECAY, data()).params["a"], rel=1e-8)


def test_saved_models_predict_without_torch(tmp_path: pathlib.Path) -> None:
    found = nc.fit(DECAY, data(), target="y")
    path = tmp_path / "decay.scm"
    found.save(path)
    new = {"t": np.array([0.5, 1.5])}
    np.testing.assert_array_equal(nc.predict(path, new), found.predict(new))
    np.testing.assert_array_equal(nc.predict(path.read_text(), new), nc.predict(found, new))
    record = json.loads(path.read_text().split("; fit: ")[1])
    np.testing.assert_array_equal(record["fit"]["covariance"], found.covariance)
    assert record["options"]["target"] == "y" and record["data"]["rows"] == 40
    columns = b"".join(name.encode() + b"\0" + column.tobytes() for name, column in data().items())
    assert record["data"]["sha256"] == hashlib.sha256(columns).hexdigest()
    net = nc.fit("(param a 1) (net bend (t) 3 1) (+ a (bend t))", data(), training="gauss-newton")
    net.save(tmp_path / "net.scm")
    np.testing.assert_array_equal(nc.predict(tmp_path / "net.scm", new), net.predict(new))
    (tmp_path / "net.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="beside the model"):
        nc.predict(tmp_path / "net.scm", new)


def test_without_torch_its_names_are_not_there() -> None:
    code = """
import sys
from typing import Any
sys.modules["torch"] = None
import neural_compiler as nc
assert not hasattr(nc, "compile_scheme")
try:
    nc.odeint
except AttributeError as error:
    assert "pip install torch" in str(error)
from neural_compiler import *
print(list(nc.predict("(param a 2) (* a x)", {"x": [1.0, 2.0]})))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "2.0" in done.stdout, done.stderr


def test_what_an_array_masks_is_missing() -> None:
    t = np.arange(10.0)
    line, hidden = "(param a 1) (param b 0) (+ b (* a t))", t == 3
    masked = np.ma.array(np.where(hidden, 1e6, 2 * t + 1), mask=hidden)
    for y in (masked, masked.astype(int)):
        found = nc.fit(line, {"t": t, "y": y})
        assert found.observations == 9
        assert found.params["a"] == pytest.approx(2, rel=1e-12) and found.params["b"] == pytest.approx(1, rel=1e-12)
    with pytest.raises(nc.FitError, match="row 4"):
        found.predict({"t": np.ma.array(t, mask=hidden)})
    decay = "(param k 1) (state x 10) (derive x (* (- k) x))"
    seen = np.ma.array(np.where(hidden, 1e6, 10 * np.exp(-0.5 * t)), mask=hidden)
    assert nc.fit(decay, {"t": t, "x": seen}).params["k"] == pytest.approx(0.5, rel=1e-6)
    days = np.ma.array(np.datetime64("2024-01-01") + np.arange(10), mask=hidden)
    with pytest.raises(nc.FitError, match="row 4"):
        nc.fit(line, {"t": days, "y": 2 * t + 1})


def test_options_that_make_no_sense_are_refused() -> None:
    table = {**data(), "w": np.ones(40)}
    for sigma in (1.0, "w"):
        with pytest.raises(nc.FitError, match="standard deviations or weights, not both"):
            nc.fit(DECAY, table, target="y", sigma=sigma, weights="w")
    with pytest.raises(nc.FitError, match="every weight in the column `w` is 0"):
        nc.fit(DECAY, {**table, "w": np.zeros(40)}, target="y", weights="w")
    for option, value in [("starts", -1), ("starts", 0), ("seed", -1), ("epochs", 0), ("batch", -2), ("threads", -1), ("starts", 2**70)]:
        with pytest.raises(ValueError, match=f"{option} is .* not {value}"):
            nc.fit(DECAY, table, target="y", **{option: value})


def test_a_target_that_is_no_numbers_is_named() -> None:
    with pytest.raises(nc.FitError, match="the column `y` holds text"):
        nc.fit(DECAY, {"t": [0.0, 1.0, 2.0], "y": ["low", "high", "high"]})


def test_as_many_constants_as_data() -> None:
    found = nc.fit("(param a 1) (param b 1) (+ a (* b t))", {"t": [0.0, 1.0], "y": [1.0, 3.0]})
    assert found.params == {"a": pytest.approx(1), "b": pytest.approx(2)}
    assert [p.note for p in found.params.values()] == ["no error: there are as many constants as data"] * 2
    assert "no likelihood and no AIC" in found.summary() and np.isnan(found.loglik) and not found.undetermined


def test_whole_numbers_no_float64_holds_are_refused() -> None:
    beyond = np.array([1, 2, 2**53 + 1])
    for column in (beyond, beyond.astype(np.uint64), list(map(int, beyond)), beyond.astype(object), pd.Series(beyond)):
        with pytest.raises(nc.FitError, match=r"`t` holds the whole number 9007199254740993 \(row 3\).*offset"):
            nc.fit("(param a 1) (* a t)", {"t": column, "y": [1.0, 2.0, 3.0]}, target="y")
    # Even ones are float64's, and a column nobody asks for may hold anything.
    even = {"t": beyond + 1, "id": beyond, "y": [2.0, 3.0, 2.0**53 + 2]}
    assert nc.fit("(param a 1) (* a t)", even, target="y").params["a"] == pytest.approx(1)
    # Names of groups are told apart, whatever they are.
    two = {"t": [0.0, 1, 0, 1], "x": [1.0, 2, 3, 6], "g": np.array([2**53, 2**53, 2**53 + 1, 2**53 + 1])}
    assert nc.fit("(param k 0.5) (state x x) (derive x (* k x))", two, group="g").params["k"] == pytest.approx(np.log(2), rel=1e-6)


def test_a_column_that_is_nearly_numbers_is_never_passed_over() -> None:
    model = "(time t :start 0) (param k 1 :min 0) (state A 10) (state B 0) (derive A (- (* k A))) (derive B (* k A))"
    data = {"t": [0.0, 1.0, 2.0, 3.0], "A": [10.0, 6.7, 4.5, 3.0], "B": np.array([0.1, 3.3, "<0.5", 7.0], object)}
    with pytest.raises(nc.FitError, match="row 3, column `B`: `<0.5` is a value known from one side only"):
        nc.fit(model, data)
    with pytest.raises(nc.FitError, match=r"the column `B` holds text \(row 3: '~0.5'\), numbers are expected"):
        nc.fit(model, data | {"B": np.array([0.1, 3.3, "~0.5", 7.0], object)})
    with pytest.raises(nc.FitError, match="the column `B` holds text"):
        nc.fit(model, data | {"B": np.array(["966", "2,638", "3,897", "5,023"])})
    # Of two columns a formula could explain the good one is not taken in the place of the other.
    with pytest.raises(nc.FitError, match="column `y`: `<0.5` is a value known from one side only"):
        nc.fit("(param a 1) (* a x)", {"x": data["t"], "y": data["B"], "z": data["A"]})
    assert nc.fit("(param a 1) (* a x)", {"x": data["t"], "y": data["B"], "z": data["A"]}, target="z").targets == ["z"]
    # Nor are new data of a fit explained away.
    found = nc.fit(model, {"t": data["t"], "A": data["A"]})
    assert set(found.predict(data)) == {"A", "B"}
    with pytest.raises(nc.FitError, match=r"the column `t` holds text \(row 2: 'one'\)"):
        found.predict({"t": np.array([0.0, "one"], object), "A": [1.0, 2.0]})


def test_tensors_that_require_gradients_are_data_like_others() -> None:
    x = torch.arange(5.0, dtype=torch.float64)
    result = nc.fit("(param a 1) (* a x)", {"x": x.requires_grad_(), "y": x * x + 1}, target="y")
    plain = nc.fit("(param a 1) (* a x)", {"x": np.arange(5.0), "y": np.arange(5.0) ** 2 + 1}, target="y")
    assert result.params["a"] == plain.params["a"]


def test_frames_without_data_or_with_one_name_twice_are_refused() -> None:
    model = "(param a 2) (* a x)"
    lazy = pl.DataFrame({"x": [1.0, 2.0], "y": [2.0, 4.0]}).lazy()
    pandas = pd.DataFrame([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 6.0, 7.0]], columns=["x", "y", "x"])
    arrow = pa.table([pa.array([1.0, 2.0]), pa.array([2.0, 4.0]), pa.array([1.0, 1.0])], names=["x", "y", "x"])
    for use in (lambda data: nc.fit(model, data, target="y"), lambda data: nc.predict(model, data)):
        with pytest.raises(TypeError, match=r"a LazyFrame has no data yet: give what its collect\(\) returns"):
            use(lazy)
        for data in (pandas, arrow):
            # Both columns were taken for the two of a matrix, and two predictions made of them.
            with pytest.raises(ValueError, match="two columns of the data are called 'x'"):
                use(data)
    assert nc.fit(model, lazy.collect(), target="y").params["a"] == pytest.approx(2.0)


def test_arguments_of_another_kind_are_told_what_is_accepted(tmp_path: pathlib.Path) -> None:
    t = np.linspace(0, 4, 30)
    model, data = "(param a 1) (param k 1) (* a (exp (- (* k t))))", {"t": t, "y": 3 * np.exp(-0.7 * t) + 0.01 * np.sin(9 * t)}
    arrays: list[Any] = [[0.1] * 30, np.full(30, 0.1), {"y": 0.1}, True]
    for sigma in arrays:
        with pytest.raises(TypeError, match="sigma is the name of a column, or one number for all rows"):
            nc.fit(model, data, sigma=sigma)
    with pytest.raises(ValueError, match="loss_scale is for a robust loss"):
        nc.fit(model, data, loss_scale=2.0)
    with pytest.raises(ValueError, match="loss_scale is a positive number"):
        nc.fit(model, data, loss="huber", loss_scale=0)
    found = nc.fit(model, data, sigma=np.float64(0.1))
    with pytest.raises(TypeError, match="savefig"):
        found.plot(tmp_path / "a.png")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError) as failed:
        found.save(tmp_path / "nowhere" / "a.scm")
    assert str(failed.value.filename).endswith("a.scm")
    options: list[dict[str, Any]] = [{"time": "t"}, {"epochs": 3}, {"effects": "laplace"}]
    for option in options:
        with pytest.raises(nc.FitError, match=f"`{next(iter(option))}`"):
            nc.fit(model, data, **option)
