"""Times that come as dates: what they count is chosen, said, remembered; the same whatever library holds them."""

from __future__ import annotations

import datetime
import pathlib

import neural_compiler as nc
import numpy as np
import pytest

MODEL = "(param a 1) (param k 1) (* a (exp (- (* k t))))"
DAYS = np.arange("2024-03-01", "2024-03-21", dtype="datetime64[D]")
VALUES = 3 * np.exp(-0.1 * np.arange(20))


def test_days_from_the_earliest() -> None:
    found = nc.fit(MODEL, {"t": DAYS, "y": VALUES})
    assert found.dates == "days since 2024-03-01T00:00:00" and "dates are read as days since 2024-03-01" in found.summary()
    assert found.params["k"] == pytest.approx(0.1, rel=1e-12)
    # A prediction counts as the fit did, wherever its own dates begin.
    np.testing.assert_allclose(found.predict({"t": DAYS[5:7]}), VALUES[5:7], rtol=1e-12)


def test_unit_and_origin(tmp_path: pathlib.Path) -> None:
    found = nc.fit(MODEL, {"t": DAYS, "y": VALUES}, time_unit="weeks", time_origin="2024-02-23")
    # Seven days of decay before the first row.
    assert found.params["k"] == pytest.approx(0.7, rel=1e-12) and found.params["a"] == pytest.approx(3 * np.exp(0.7), rel=1e-12)
    path = tmp_path / "decay.scm"
    found.save(path)
    np.testing.assert_allclose(nc.predict(path, {"t": DAYS[3:4]}), VALUES[3:4], rtol=1e-12)
    with pytest.raises(ValueError, match="no unit of time; there are seconds"):
        nc.fit(MODEL, {"t": DAYS, "y": VALUES}, time_unit="fortnights")
    with pytest.raises(ValueError, match="a date such as"):
        nc.fit(MODEL, {"t": DAYS, "y": VALUES}, time_origin="first of March")
    with pytest.raises(ValueError, match="no column of dates"):
        nc.fit(MODEL, {"t": np.arange(20.0), "y": VALUES}, time_unit="days")


def test_instants_are_counted_in_utc() -> None:
    pandas = pytest.importorskip("pandas")
    summer = pandas.date_range("2024-03-30", periods=4, freq="D", tz="Europe/Berlin")
    # Clocks went forward on 31 March 2024: that day had 23 hours.
    hours = np.array([0.0, 24.0, 47.0, 71.0])
    model = "(param a 1) (param b 1) (+ a (* b t))"
    found = nc.fit(model, pandas.DataFrame({"t": summer, "y": 1 + 2 * hours}), time_unit="hours")
    assert found.dates == "hours since 2024-03-29T23:00:00Z"
    assert found.params["b"] == pytest.approx(2, rel=1e-12)
    aware = [t.to_pydatetime() for t in summer]
    assert nc.fit(model, {"t": aware, "y": 1 + 2 * hours}, time_unit="hours").dates == found.dates
    naive = [datetime.datetime(2024, 3, 30), datetime.datetime(2024, 3, 31, tzinfo=datetime.timezone.utc)]
    with pytest.raises(ValueError, match="some dates have a zone"):
        nc.fit(model, {"t": naive, "y": [1.0, 2.0]})


def test_a_missing_date_and_other_units() -> None:
    found = nc.fit("(param a 1) (* a t)", {"t": np.array(["2024-01", "2024-02", "2024-03"], "datetime64[M]"), "y": [0.0, 62.0, 120.0]})
    # January 2024 has 31 days, February 29.
    assert found.dates == "days since 2024-01-01T00:00:00" and found.params["a"] == pytest.approx(2, rel=1e-12)
    with pytest.raises(nc.FitError, match="row 2"):
        nc.fit("(param a 1) (* a t)", {"t": np.array(["2024-01-01", "NaT", "2024-01-03"], "datetime64[D]"), "y": [0.0, 1.0, 2.0]})


def test_dates_nobody_can_read_are_refused() -> None:
    with pytest.raises(nc.FitError, match="nothing says which is time 0.*time_origin"):
        nc.predict(MODEL, {"t": DAYS})
    with pytest.raises(nc.FitError, match="dates as text .pandas.to_datetime"):
        nc.fit(MODEL, {"t": [str(d) for d in DAYS], "y": VALUES})
    # A column of dates nobody asks for does no harm.
    assert nc.fit(MODEL, {"t": np.arange(20.0), "when": DAYS, "y": VALUES}).dates is None


def test_error_bars_and_logarithmic_axes() -> None:
    pytest.importorskip("matplotlib")
    found = nc.fit(MODEL, {"t": np.arange(20.0), "y": VALUES, "s": np.full(20, 0.1)}, sigma="s")
    made = found.plot(log="y")
    upper = made.axes[0]
    assert upper.get_yscale() == "log" and upper.get_xscale() == "linear" and len(upper.containers) == 1
    with pytest.raises(ValueError, match="log is"):
        found.plot(log="z")


def test_doses_at_dates_are_refused_and_not_taken_for_numbers() -> None:
    model = "(time t) (param k 0.3 :min 0) (state A 0) (derive A (* (- k) A))"
    events = {"time": np.array(["2024-03-01T06:00"], "datetime64[ns]"), "amount": [100.0]}
    with pytest.raises(ValueError, match="the times of events are dates"):
        nc.fit(model, {"t": DAYS, "A": VALUES}, events=events)


def test_the_unit_of_the_model_decides() -> None:
    pandas = pytest.importorskip("pandas")
    when = pandas.date_range("2024-03-01", periods=20, freq="D")
    frame = pandas.DataFrame({"when": when, "A": 100 * np.exp(-0.04 * 24 * np.arange(20.0))})
    law = "(time when :unit h) (param k 0.03 :min 0 :unit 1/h) (state A 100 :unit mg) (derive A (* (- k) A))"
    formula = "(input when :unit h) (param k 0.03 :min 0 :unit 1/h) (* 100 (exp (- (* k when))))"
    for model in (law, formula):
        found = nc.fit(model, frame)
        assert found.dates == "hours since 2024-03-01T00:00:00" and found.params["k"] == pytest.approx(0.04, rel=1e-6)
        with pytest.raises(nc.FitError) as failed:
            nc.fit(model, frame, time_unit="days")
        assert failed.value.code == "unit-mismatch"
