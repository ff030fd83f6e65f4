"""Saved models: `predict` does as the fit did, and a model and its weights stay together."""

from __future__ import annotations

import pathlib
import warnings

import neural_compiler as nc
import numpy as np
import pytest

MAP = "(param r 0.5) (state x 0.1) (next x (+ x (* r x (- 1 x))))"
DECAY = "(param k 1 :min 0) (state x 5) (derive x (* (- k) x))"
NET = "(param a 1) (net bend (t) 2 1) (+ a (bend t))"
CURVE = {"t": np.arange(5.0), "y": np.array([1, 1.5, 1.7, 1.8, 1.8])}


def test_a_map_keeps_its_step(tmp_path: pathlib.Path) -> None:
    truth = [0.1]
    for _ in range(14):
        truth.append(truth[-1] + 0.6 * truth[-1] * (1 - truth[-1]))
    data = {"t": np.arange(8.0), "x": np.array(truth[::2])}
    found = nc.fit(MAP, data, step=0.5)
    assert "(time t :start 0 :step 0.5)" in found.source
    found.save(tmp_path / "map.scm")
    for model in (found, found.source, tmp_path / "map.scm"):
        np.testing.assert_allclose(nc.predict(model, {"t": data["t"]})["x"], data["x"], rtol=1e-9)


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf])
def test_steps_are_positive(step: float) -> None:
    for call in (nc.fit, nc.predict):
        with pytest.raises(nc.FitError, match="a step is a positive number"):
            call(MAP, {"t": np.arange(3.0), "x": np.array([0.1, 0.2, 0.3])}, step=step)


@pytest.mark.parametrize(("name", "value"), [("method", "rosenbrock"), ("rtol", 1e-3), ("atol", 1e-3)])
def test_what_changes_nothing_is_refused(tmp_path: pathlib.Path, name: str, value: object) -> None:
    data = {"t": np.arange(3.0), "x": np.array([0.1, 0.145, 0.207])}
    for model, code in ((MAP, "no-equations"), ("(param a 2) (* a t)", "no-states")):
        with pytest.raises(nc.FitError, match=f"`{name}`") as error:
            nc.predict(model, data, **{name: value})  # type: ignore[arg-type]
        assert error.value.code == code
    for call in (nc.fit, lambda *given, **more: nc.simulate(given[0], given[1]["t"], **more)):
        with pytest.raises(nc.FitError, match=f"`{name}`"):
            call(MAP, data, **{name: value})
    found = nc.fit(MAP, data)
    with pytest.raises(ValueError, match=f"leave out `{name}`"):
        nc.predict(found, data, **{name: value})  # type: ignore[arg-type]
    # Fits of former versions took these of maps, and wrote them down.
    found.save(tmp_path / "map.scm")
    text = (tmp_path / "map.scm").read_text()
    former = text.replace('"options":{', f'"options":{{"{name}":"{value}",').replace('"method":"auto",', "")
    assert former != text
    np.testing.assert_array_equal(nc.predict(former, data)["x"], found.predict(data)["x"])


def test_groups_are_remembered(tmp_path: pathlib.Path) -> None:
    since = np.arange(10) / 10
    x = 5 * np.exp(-0.8 * since)
    data = {"t": np.concatenate([since, since + 1]), "x": np.concatenate([x, x]), "g": np.array(["b"] * 10 + ["a"] * 10)}
    path = tmp_path / "decay.scm"
    nc.fit(DECAY, data, group="g").save(path)
    np.testing.assert_allclose(nc.predict(path, data)["x"], data["x"], rtol=1e-6)
    renamed = {"t": data["t"], "run": data["g"]}
    with pytest.raises(nc.FitError, match="no column `g`"):
        nc.predict(path, renamed)
    np.testing.assert_allclose(nc.predict(path, renamed, group="run")["x"], data["x"], rtol=1e-6)
    np.testing.assert_allclose(nc.predict(path, {"t": np.array([0.0, 1.0])}, group="")["x"], [5, 5 * np.exp(-0.8)], rtol=1e-6)
    text = path.read_text()
    for broken in (text.replace('"group":"g"', '"group":7'), text.replace("; fit: {", "; fit: ")):
        assert broken != text
        with pytest.raises(nc.FitError, match="record of its fit") as error:
            nc.predict(broken, data)
        assert error.value.code == "bad-record"


def test_ways_to_solve_are_remembered(tmp_path: pathlib.Path) -> None:
    # One step of RK4 over 2 with k = 1, far from exp(-2).
    step = 1 - 2 + 2 - 8 / 6 + 16 / 24
    data = {"h after": np.array([0.0, 2.0, 4.0]), "x": 5 * step ** np.arange(3.0)}
    path = tmp_path / "rk4.scm"
    nc.fit("(param k 0.9 :min 0.5 :max 1.2) (state x x) (derive x (* (- k) x))", data, time="h after", method="rk4").save(path)
    np.testing.assert_allclose(nc.predict(path, data)["x"], data["x"], rtol=1e-6)
    np.testing.assert_allclose(nc.predict(path, data, method="auto")["x"][1], 5 * np.exp(-2), rtol=1e-5)


def test_a_failed_save_leaves_both_files(tmp_path: pathlib.Path) -> None:
    found = nc.fit(NET, CURVE, target="y")
    path, weights = tmp_path / "net.scm", tmp_path / "net.safetensors"
    weights.write_bytes(b"old")
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        found.save(path)
    assert weights.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 2


def test_weights_of_another_fit_are_refused(tmp_path: pathlib.Path) -> None:
    path, weights = tmp_path / "net.scm", tmp_path / "net.safetensors"
    found = nc.fit(NET, CURVE, target="y")
    nc.fit(NET, CURVE, target="y", weight_decay=3.0).save(path)
    other = weights.read_bytes()
    found.save(path)
    np.testing.assert_array_equal(nc.predict(path, CURVE), found.predict(CURVE))
    weights.write_bytes(other)
    with pytest.raises(nc.FitError, match="not the weights") as error:
        nc.predict(path, CURVE)
    assert error.value.code == "other-weights"


def test_groups_begin_where_they_began(tmp_path: pathlib.Path) -> None:
    since = np.tile(np.linspace(0, 0.9, 10), 2)
    group = np.repeat(["b", "a"], 10)
    found = nc.fit(
        "(param k 1 :min 0) (state x 5) (derive x (* (- k) x))",
        {"t": since + (group == "a"), "x": 5 * np.exp(-0.8 * since), "g": group},
        group="g",
    )
    found.save(tmp_path / "decay.scm")
    later = {"t": np.array([1.5, 0.5, 1.9]), "g": np.array(["a", "b", "a"])}
    for predicted in (found.predict(later), nc.predict(tmp_path / "decay.scm", later)):
        np.testing.assert_allclose(predicted["x"], 5 * np.exp(-0.8 * np.array([0.5, 0.5, 0.9])), rtol=1e-6)


def test_constants_of_groups_are_no_means(tmp_path: pathlib.Path) -> None:
    data = {"g": [1, 1, 1, 2, 2, 2], "x": [1.0, 2, 3, 1, 2, 3], "y": [2.0, 4.1, 6, 5, 10.1, 15]}
    saved = tmp_path / "saved.scm"
    nc.fit("(param k 1 :per g) (* k x)", data, target="y").save(saved)
    with pytest.warns(UserWarning, match="`k` for each group"):
        nc.compile(saved.read_text())
    with pytest.warns(UserWarning, match="`k` for each group"):
        nc.compile_scheme(saved.read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(nc.compile(saved.read_text(), params={"k": 7.0})(x=1.0)) == 7.0


def test_what_a_fit_found_is_not_told_of_another_text(tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "line.scm"
    data = {"x": np.arange(1.0, 9.0), "y": np.array([2.1, 3.9, 6.2, 7.8, 10.3, 11.6, 14.4, 15.7])}
    nc.fit("(param a 0) (param b 1) (+ a (* b x))", data, target="y").save(saved)
    nc.predict(saved, data, bands=True)
    saved.write_text(saved.read_text().replace("(* b x)", "(* b x x)"))
    with pytest.raises(nc.FitError, match="was changed since") as error:
        nc.predict(saved, data, bands=True)
    assert error.value.code == "other-text"
    assert nc.predict(saved, data).shape == (8,)


def test_options_may_be_numbers_of_numpy(tmp_path: pathlib.Path) -> None:
    t = np.linspace(0, 3, 20)
    data = {"t": t, "x": np.exp(-0.4 * t)}
    model = "(param k 1 :min 0) (state x 1) (derive x (* (- k) x))"
    found = nc.fit(model, data, time="t", seed=np.int64(3), starts=np.int32(2), rtol=np.float32(1e-6))
    found.save(tmp_path / "model.scm")
    again = nc.predict(tmp_path / "model.scm", data)
    np.testing.assert_allclose(again["x"] if isinstance(again, dict) else again, data["x"], rtol=1e-5)
