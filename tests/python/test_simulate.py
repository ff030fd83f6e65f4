"""`simulate`: known solutions, sets of values along the first axis, vectors, inputs and mistakes."""

from __future__ import annotations

import neural_compiler as nc
import numpy as np
import pytest

DECAY = "(param k 1) (state x 2) (derive x (* (- k) x)) (observe double (* 2 x))"


def test_one_set_and_many() -> None:
    times = np.linspace(0, 2, 5)
    one = nc.simulate(DECAY, times, k=0.5)
    assert list(one) == ["x", "double"]
    np.testing.assert_allclose(one["x"], 2 * np.exp(-0.5 * times), rtol=1e-7)
    k, start = np.linspace(0.1, 3, 1000), np.linspace(1, 2, 1000)
    many = nc.simulate(DECAY, times, k=k, x=start, rtol=1e-9)
    assert many["double"].shape == (1000, 5)
    np.testing.assert_allclose(many["double"], 2 * start[:, None] * np.exp(-k[:, None] * times), rtol=1e-7)


def test_vectors_and_inputs() -> None:
    model = "(param k [1 2]) (state u [1 1]) (state w 0) (derive u (- (* k u))) (derive w q)"
    times = np.array([0.0, 1.0, 2.0])
    k = np.array([[1.0, 2.0], [0.0, 1.0]])
    found = nc.simulate(model, times, k=k, q=times)
    assert found["u"].shape == (2, 3, 2) and found["w"].shape == (2, 3)
    np.testing.assert_allclose(found["u"], np.exp(-k[:, None, :] * times[:, None]), rtol=1e-7)
    np.testing.assert_allclose(found["w"][0], times**2 / 2, atol=1e-9)
    np.testing.assert_allclose(nc.simulate(model, times, q=3.0, values={"u": [2.0, 3.0]})["u"][0], [2, 3])


def test_a_fit_and_infix() -> None:
    times = np.linspace(0, 2, 30)
    fitted = nc.fit("(param k 1) (state x 2) (derive x (* (- k) x))", {"t": times, "x": 2 * np.exp(-0.7 * times)})
    np.testing.assert_allclose(nc.simulate(fitted, [0.0, 3.0])["x"], 2 * np.exp([0, -2.1]), rtol=1e-6)
    infix = "param k = 1\nstate x = 2\ndx/dt = -k*x"
    np.testing.assert_allclose(nc.simulate(infix, [0.0, 1.0], syntax="infix")["x"][1], 2 / np.e, rtol=1e-7)


def test_mistakes() -> None:
    with pytest.raises(nc.FitError) as error:
        nc.simulate(DECAY, [0.0, 1.0], q=1.0)
    assert error.value.diagnostics[0].code == "unknown-input"
    with pytest.raises(ValueError, match="`k` has the shape"):
        nc.simulate(DECAY, [0.0, 1.0], k=np.ones((2, 2)))
    with pytest.raises(nc.FitError):
        nc.simulate("(* 2 x)", [0.0, 1.0])


def test_events_and_doses() -> None:
    ball = "(param e 0.8) (state h 1) (state v 0) (derive h v) (derive v -9.81) (event (when (< h 0)) (set v (* (- e) v)))"
    found = nc.simulate(ball, [0.0, 0.6], e=np.array([0.8, 0.5]), rtol=1e-10)["v"][:, 1]
    # It falls for sqrt(2/9.81) = 0.4515 s, and leaves the ground with e times the speed.
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose(found, np.array([0.8, 0.5]) * 9.81 * fall - 9.81 * (0.6 - fall), rtol=1e-9)
    drug = "(param k 0.5) (state A 0) (derive A (* (- k) A))"
    times = np.array([0.0, 1.0, 2.0, 4.0])
    doses = {"time": [0.0, 1.0], "amount": [8.0, 4.0], "rate": [0.0, 2.0]}
    amount = nc.simulate(drug, times, events=doses, rtol=1e-10)["A"]
    drip = 2 / 0.5 * (np.exp(-0.5 * np.maximum(times - 3, 0)) - np.exp(-0.5 * (times - 1))) * (times > 1)
    np.testing.assert_allclose(amount, np.where(times > 0, 8 * np.exp(-0.5 * times), 0) + drip, atol=1e-9)
    data = {"t": np.tile(times, 2), "who": ["ann"] * 4 + ["bob"] * 4, "A": np.concatenate([amount, 0 * amount])}
    given = {"time": [0.0, 1.0], "amount": [8.0, 4.0], "rate": [0.0, 2.0], "who": ["ann", "ann"]}
    fitted = nc.fit(drug.replace("k 0.5", "k 1"), data, group="who", events=given)
    assert abs(fitted.params["k"] - 0.5) < 1e-6
    np.testing.assert_allclose(fitted.predict()["A"][:4], amount, atol=1e-6)
    with pytest.raises(ValueError, match="no group"):
        nc.fit(drug, data, group="who", events={**given, "who": ["ann", "eve"]})
    with pytest.raises(nc.FitError) as error:
        nc.simulate("(state C 1) (derive C (- C)) (event (when (< C 0.1)) (set C 0.1))", [0.0, 5.0])
    assert error.value.diagnostics[0].code == "endless-events"


def test_odeint_refuses_events() -> None:
    pytest.importorskip("torch")
    module = nc.compile_scheme("(state x 1) (derive x (- x)) (event (at 1) (add x 1))")
    with pytest.raises(ValueError, match="events"):
        nc.odeint(module, None, [0.0, 2.0])


def test_a_fit_with_doses_predicts_other_tables() -> None:
    drug = "(param k 1) (state A 0) (derive A (* (- k) A))"
    times = np.array([0.0, 1.0, 2.0])
    data = {"t": np.tile(times, 2), "who": ["ann"] * 3 + ["bob"] * 3, "A": [0, 8 / np.e**0.5, 8 / np.e, 0, 4 / np.e**0.5, 4 / np.e]}
    fitted = nc.fit(drug, data, group="who", events={"time": [0, 0], "amount": [8, 4], "who": ["ann", "bob"]})
    found = fitted.predict({"t": times, "who": ["bob"] * 3})
    np.testing.assert_allclose(found["A"], [0, 4 / np.e**0.5, 4 / np.e], atol=1e-6)


def test_doses_have_units_and_the_groups_of_constants() -> None:
    model = "(time t :start 0 :unit h) (param k 1 :per who :unit 1/h) (state A 0 :unit mg) (derive A (* -1 k A))"
    data = {"who": ["ann", "ann", "bob", "bob"], "t": [0.0, 3.0, 0.0, 3.0]}
    table = {**data, "A": [0.0, 100 * np.exp(-1.0), 0.0, 300 * np.exp(-2.0)]}
    given = {"time (min)": [120.0, 120.0], "amount [g]": [0.1, 0.3], "who": ["ann", "bob"]}
    found = nc.fit(model, table, events=given)
    assert abs(found.params["k[ann]"] - 1) < 1e-6 and abs(found.params["k[bob]"] - 2) < 1e-6
    with pytest.raises(nc.FitError) as error:
        nc.fit(model, table, events={"time (kg)": [1.0], "amount": [1.0]})
    assert error.value.diagnostics[0].code == "unit-mismatch"
    with pytest.raises(nc.FitError) as error:
        nc.fit(model, table, events={"time": [1.0], "dose": [1.0]})
    assert error.value.diagnostics[0].code == "bad-events"


def test_masks_are_not_lost() -> None:
    text = "(param k 1) (state x 2) (derive x (* (- k) x))"
    with pytest.raises(TypeError, match="`k` is a masked array"):
        nc.simulate(text, [0.0, 1.0], k=np.ma.masked_array([0.0, 1.0], [0, 1]))
    with pytest.raises(TypeError, match="`times` is a masked array"):
        nc.simulate(text, np.ma.masked_array([0.0, 1.0], [0, 1]))
