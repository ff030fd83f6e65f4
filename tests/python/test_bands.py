"""How sure predictions are, fits of data drawn anew, what residuals show: from Python. Figures are R's, as in the tests of the library."""

import math
import re

import neural_compiler as nc
import numpy as np
import pytest

LINE = "(param a 0) (param b 1) (+ a (* b x))"
DATA = {"x": np.arange(1.0, 9.0), "y": np.array([2.1, 3.9, 6.2, 7.8, 10.3, 11.6, 14.4, 15.7])}


def test_bands_of_a_line(tmp_path):
    found = nc.fit(LINE, DATA, target="y")
    band = found.predict({"x": [0.0, 4.5, 10.0]}, bands=True)
    # predict(lm(y ~ x), data.frame(x = c(0, 4.5, 10)), se.fit = TRUE, interval = …)
    np.testing.assert_allclose(band.stderr, [0.24325364457888, 0.11037454272856, 0.28701423848210], rtol=1e-8)
    np.testing.assert_allclose(band.ci95[1], [0.68093451146855, 9.27007677666723, 20.59753663682729], rtol=1e-8)
    np.testing.assert_allclose(band.pi95[0], [-0.88269618485418, 8.18976966999831, 18.85757005396574], rtol=1e-8)
    assert found.predict(bands=True).value.shape == (8,)
    found.save(tmp_path / "line.scm")
    again = nc.predict(tmp_path / "line.scm", {"x": [10.0]}, bands=True)
    np.testing.assert_allclose(again.pi95[1], [20.9329061365105], rtol=1e-8)


def test_bands_are_drawn():
    found = nc.fit(LINE, DATA, target="y")
    figure = found.plot()
    assert len(figure.axes) == 3 and len(figure.axes[0].collections) >= 2
    assert found._repr_svg_().count("<polygon") == 2


def test_a_bootstrap_is_the_same_again():
    one, two = (nc.fit(LINE, DATA, target="y", bootstrap=40, threads=n) for n in (1, 2))
    assert one.params["b"].bootstrap == two.params["b"].bootstrap
    stderr, (low, high) = one.params["b"].bootstrap
    assert stderr > 0 and low < one.params["b"] < high
    with pytest.raises(nc.FitError, match="too few"):
        nc.fit(LINE, DATA, target="y", bootstrap=3)


def test_residuals_are_told():
    wild = {**DATA, "x": np.arange(30.0), "y": 2 * np.arange(30.0) + np.where(np.arange(30) % 2 == 0, 0.1, -0.1)}
    wild["y"][17] += 5
    found = nc.fit(LINE, wild, target="y")
    assert [o["row"] for o in found.diagnostics["y"]["outliers"]] == [18]
    assert found.standard_residuals.shape == (30,)


def test_names_of_groups():
    model = "(param k 1 :per g) (* k x)"
    data = {"g": np.array(["1", "1.0", "1", "2", "2", "2.0"], object), "x": [1.0, 2, 3, 1, 2, 3], "y": [2.0, 4.1, 6, 3, 6.1, 9]}
    assert list(nc.fit(model, data, target="y").params) == ["sigma[y]", "k[1]", "k[2]"]
    with pytest.raises(nc.FitError, match="row 2"):
        nc.fit(model, {**data, "g": np.array(["a", None, "a", "b", "b", "b"], object)}, target="y")


def test_texts_name_groups_by_what_is_written(tmp_path):
    model = "(param k 1 :per g) (* k x)"
    x, y = np.array([1.0, 2, 3, 1, 2, 3]), np.array([2.0, 4, 6, 5, 10, 15])
    for one, two in [("2", "02"), ("1e1", "10"), ("007", "7"), ("+3", "3"), ("1_0", "10"), ("1.10", "1.1")]:
        names = [one] * 3 + [two] * 3
        for g in (np.array(names), names, np.array(names, object), np.array(names, "S")):
            found = nc.fit(model, {"g": g, "x": x, "y": y + 0.01 * np.sin(9 * x)}, target="y")
            # Sums of products over sums of squares, 2 and 5 but for the ripple.
            assert found.params[f"k[{one}]"] == pytest.approx(2, abs=0.02) and found.params[f"k[{two}]"] == pytest.approx(5, abs=0.02)
        found.save(tmp_path / "k.scm")
        again = nc.predict(tmp_path / "k.scm", {"g": [two, one], "x": [1.0, 1.0]})
        np.testing.assert_allclose(again, [5, 2], atol=0.02)
    # Numbers are groups by their number, also as objects, and are called as the command calls them.
    numbers = nc.fit(model, {"g": np.array([2, 2.0, 2, 3, 3, 3.0], object), "x": x, "y": y}, target="y")
    assert [name for name in numbers.params if name.startswith("k")] == ["k[2]", "k[3]"]
    # A column that the model reads as numbers is no column of names.
    with pytest.raises(nc.FitError, match="numbers are expected"):
        nc.fit("(param k 1 :per d) (* k d x)", {"d": np.array(["5", "5", "5", "7", "7", "7"]), "x": x, "y": y}, target="y")


def test_observations_have_the_errors_of_their_weights(tmp_path):
    x, y, w = DATA["x"], DATA["y"], np.array([1.0, 4, 1, 9, 4, 1, 1, 16])
    found = nc.fit(LINE, {**DATA, "w": w}, target="y", weights="w")
    # Weighted least squares: variance s^2 (X'WX)^-1 of the constants, s^2/w of an observation; 2.446911851 is Student's quantile of 6.
    basis = np.stack([np.ones(8), x], 1)
    inverse = np.linalg.inv(basis.T @ (w[:, None] * basis))
    best = inverse @ basis.T @ (w * y)
    variance = (w * (y - basis @ best) ** 2).sum() / 6
    new, weights = np.array([[1.0, 0.0], [1.0, 4.5], [1.0, 10.0]]), np.array([1.0, 25.0, 0.25])
    reach = 2.446911851144969 * np.sqrt(variance * (np.einsum("ij,jk,ik->i", new, inverse, new) + 1 / weights))
    found.save(tmp_path / "line.scm")
    asked = {"x": new[:, 1], "w": weights}
    for band in (found.predict(asked, bands=True), nc.predict(tmp_path / "line.scm", asked, bands=True)):
        np.testing.assert_allclose(band.pi95[1] - new @ best, reach, rtol=1e-7)
    for predict in (lambda new: found.predict(new, bands=True), lambda new: nc.predict(tmp_path / "line.scm", new, bands=True)):
        with pytest.warns(UserWarning, match="weighted by the column `w`, which this table has not"):
            assert np.isnan(predict({"x": [4.5]}).pi95[0]).all()


def test_observations_have_the_errors_of_their_column(tmp_path):
    x, y, s = DATA["x"], DATA["y"], 0.1 * DATA["x"]
    found = nc.fit(LINE, {**DATA, "s": s}, target="y", sigma="s")
    basis = np.stack([np.ones(8), x], 1) / s[:, None]
    inverse = np.linalg.inv(basis.T @ basis)
    new, sigmas = np.array([[1.0, 2.0], [1.0, 20.0]]), np.array([0.1, 5.0])
    reach = np.sqrt(np.einsum("ij,jk,ik->i", new, inverse, new) + sigmas**2)
    found.save(tmp_path / "line.scm")
    for band in (f({"x": new[:, 1], "s": sigmas}) for f in (
        lambda new: found.predict(new, bands=True), lambda new: nc.predict(tmp_path / "line.scm", new, bands=True)
    )):  # fmt: skip
        np.testing.assert_allclose(band.pi95[1] - new @ (inverse @ basis.T @ (y / s)), 1.959963984540054 * reach, rtol=1e-7)
    assert np.isfinite(found.predict(bands=True).pi95).all()
    with pytest.warns(UserWarning, match="the column `s`, which this table has not"):
        assert np.isnan(found.predict({"x": [2.0]}, bands=True).pi95).all()


def test_errors_that_are_given_judge_a_fit():
    x = np.arange(1.0, 11)
    flagged = []
    for seed in range(20):
        noise = 0.15 * x * np.random.default_rng(seed).normal(size=10)
        data = {"x": x, "y": 3 * x / (2 + x) + noise, "s": 0.15 * x}
        found = nc.fit("(param V 1) (param K 1 :min 0) (/ (* V x) (+ K x))", data, target="y", sigma="s", threads=1)
        flagged.append(found.describes_data)
    # The law is the right one: by chance alone chi-square is beyond five standard deviations once in thousands.
    assert all(flagged), flagged


def test_doses_of_others_are_left_out(tmp_path):
    model = "(param k 0.5) (state x 0) (derive x (- (* k x)))"
    t = np.tile(np.arange(6.0), 2)
    ids = np.array(["02"] * 6 + ["2"] * 6)
    data = {"t": t, "id": ids, "x": np.where(ids == "2", 4.0, 10.0) * np.exp(-0.3 * t) * (t > 0)}
    events = {"time": [0.0, 0.0], "amount": [10.0, 4.0], "id": ["02", "2"]}
    found = nc.fit(model, data, group="id", events=events)
    assert found.params["k"] == pytest.approx(0.3, rel=1e-6)
    found.save(tmp_path / "x.scm")
    one = nc.predict(tmp_path / "x.scm", {"t": [1.0], "id": ["2"]}, events=events)["x"]
    np.testing.assert_allclose(one, [4 * np.exp(-0.3)], rtol=1e-6)
    # A group without doses, of a fit that had some.
    none = nc.predict(tmp_path / "x.scm", {"t": [1.0], "id": ["7"]}, events=events, start_time=0.0)["x"]
    np.testing.assert_allclose(none, [0.0])
    with pytest.raises(ValueError, match="no group '3'"):
        nc.fit(model, data, group="id", events={**events, "id": ["02", "3"]})


DOSED = "(param k 0.5) (state x 0) (derive x (- (* k x)))"


def _dosed() -> tuple[dict[str, object], dict[str, object]]:
    """Two trajectories, and the doses they come from."""
    ids, t = np.array(["a"] * 6 + ["b"] * 6), np.tile(np.arange(6.0), 2)
    data = {"t": t, "id": ids, "x": np.where(ids == "b", 4.0, 10.0) * np.exp(-0.3 * t) * (t > 0) + 0.05 * np.sin(7 * t)}
    return data, {"time": [0.0, 0.0], "amount": [10.0, 4.0], "id": ["a", "b"]}


@pytest.mark.parametrize("model", [DOSED, DOSED.replace("0.5", "0.5 :per id")], ids=["group", "per"])
def test_data_without_the_column_of_groups_are_told_so(model, tmp_path):
    data, events = _dosed()
    found = nc.fit(model, data, group="id" if model == DOSED else None, events=events)
    found.save(tmp_path / "x.scm")
    bare = {"t": [0.0, 1.0]}
    for ask in (
        lambda: found.predict(bare),
        lambda: found.predict(bare, bands=True),
        lambda: nc.predict(tmp_path / "x.scm", bare, events=events),
        lambda: nc.fit(model, {k: v for k, v in data.items() if k != "id"}, group="id" if model == DOSED else None, events=events),
    ):
        with pytest.raises(nc.FitError, match="no column `id`") as caught:
            ask()
        assert caught.value.code == "missing-column"


def test_rows_of_events_that_are_no_doses_are_named(tmp_path):
    data, events = _dosed()
    nc.fit(DOSED, data, group="id", events=events).save(tmp_path / "x.scm")
    new = {"t": [0.0, 1.0], "id": ["a", "a"]}
    hidden = np.ma.array([10.0, 4.0], mask=[False, True])
    for change, message in [
        *(({"id": ["a", none]}, "row 2: the group is missing, in the column `id`") for none in (None, math.nan, "", np.datetime64("NaT"))),
        ({"id": np.ma.array(["a", "b"], mask=[False, True])}, "row 2: the group is missing, in the column `id`"),
        ({"amount": [10.0, "four"]}, "row 2: 'four' is no number, in the column `amount`"),
        ({"amount": [10.0, None]}, "row 2: time and amount are numbers"),
        ({"amount": hidden}, "row 2: time and amount are numbers"),
        ({"time": [0.0, "later"]}, "row 2: 'later' is no number, in the column `time`"),
        ({"amount": np.array(["10", "x"])}, "row 2: 'x' is no number, in the column `amount`"),
        ({"target": ["x", "y"]}, "row 2: the target `y` is no state"),
        ({"rate": [0.0, math.inf]}, "row 2: the amount 4 at the rate inf has no end"),
        ({"amount": [10.0]}, "the column `amount` has the length 1, `time` has 2"),
        ({"time": [0.0]}, "the column `amount` has the length 2, `time` has 1"),
        ({"target": ["x"]}, "the column `target` has the length 1, `time` has 2"),
        ({"rate": [0.0, 0.0, 0.0]}, "the column `rate` has the length 3, `time` has 2"),
        ({"id": ["a"]}, "the column `id` has the length 1, `time` has 2"),
        ({"amount": 10.0}, "the column `amount` is a single value; columns are arrays with a value per row"),
        ({"amount": [[10.0, 4.0]]}, "the column `amount` has the shape [1, 2]; columns are arrays with a value per row"),
    ]:
        for ask in (
            lambda: nc.fit(DOSED, data, group="id", events={**events, **change}),
            lambda: nc.predict(tmp_path / "x.scm", new, events={**events, **change}),
        ):
            with pytest.raises(nc.FitError, match=re.escape(f"events, {message}")) as caught:
                ask()
            assert caught.value.code == "bad-events"
        if "id" in change:
            continue
        with pytest.raises(nc.FitError, match=re.escape(f"events, {message}")) as caught:
            nc.simulate(DOSED, [0.0, 1.0], events={**{k: v for k, v in events.items() if k != "id"}, **change})
        assert caught.value.code == "bad-events"
    # A group that the data have not is a mistake in a fit; a missing target is that of a model of one state.
    with pytest.raises(nc.FitError, match="events, row 2: the data have no group 'c'") as caught:
        nc.fit(DOSED, data, group="id", events={**events, "id": ["a", "c"]})
    assert caught.value.code == "bad-events"
    aimed = nc.fit(DOSED, data, group="id", events={**events, "target": ["x", None], "rate": [None, math.nan]})
    assert aimed.params == nc.fit(DOSED, data, group="id", events=events).params
