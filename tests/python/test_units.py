"""Units in Python: shown by programs, checked when they are compiled, and columns of tables in them."""

import neural_compiler as nc
import numpy as np
import pytest

FALL = "input m (unit kg)\ninput z (unit m)\nunit U = J\nU = g*m*z"


def test_programs_show_their_units():
    assert nc.compile(FALL, syntax="infix").units == {"m": "kg", "z": "m", "U": "J", "g": "m/s^2", "value": "J"}
    assert nc.compile("(* 2 x)").units == {}


def test_mistakes_are_errors_or_warnings_or_nothing():
    text = "(input x :unit m) (input y :unit cm) (+ x y)"
    with pytest.raises(nc.CompileError, match="0.01|100"):
        nc.compile(text)
    with pytest.warns(UserWarning, match="cm"):
        assert float(nc.compile(text, units="warn")(1.0, 2.0)) == 3.0
    assert float(nc.compile(text, units="off")(1.0, 2.0)) == 3.0
    with pytest.raises(ValueError, match="units"):
        nc.compile(text, units="maybe")


def test_columns_are_converted():
    model = "(param k 1 :unit 1/h) (input t :unit h) (unit y mg) (define y (* 10 (exp (- (* k t))))) y"
    hours = {"t": np.array([0.0, 1.0, 2.0, 3.0]), "y": np.array([10.1, 6.0, 3.7, 2.2])}
    minutes = {"t/min": 60 * hours["t"], "y [ug]": 1000 * hours["y"]}
    with pytest.raises(nc.CompileError):
        nc.compile(model)  # 10 is a pure number, not 10 mg
    model = model.replace("(* 10 ", "(* A ").replace("(param k", "(param A 10 :unit mg :fixed) (param k")
    a, b = nc.fit(model, hours, target="y"), nc.fit(model, minutes, target="y")
    assert a.params["k"] == pytest.approx(b.params["k"], rel=1e-12)
    with pytest.raises(nc.FitError, match="is in `kg`"):
        nc.fit(model, {"t [kg]": hours["t"], "y": hours["y"]}, target="y")


def test_deviations_of_states_are_in_the_unit_of_their_column() -> None:
    columns = {"t [min]": [60.0, 120.0, 240.0, 360.0], "A [mg]": [70.0, 55.0, 30.0, 17.0], "s [mg]": [2.0] * 4}
    law = "(time t :start 0 :unit h) (param k 0.3 :min 0 :unit 1/h) (param A0 0.1 :unit g) (state A A0 :unit g) (derive A (* (- k) A))"
    found = nc.fit(law, columns, sigma="s")
    # SciPy's curve_fit with absolute_sigma, in hours and grams.
    assert found.params["k"] == pytest.approx(0.28077571, rel=1e-5) and found.params["k"].stderr == pytest.approx(0.01742974, rel=1e-4)
    with pytest.raises(nc.FitError) as failed:
        nc.fit(law, {**{n: c for n, c in columns.items() if n != "s [mg]"}, "s [m]": [2.0] * 4}, sigma="s")
    assert failed.value.code == "unit-mismatch"
