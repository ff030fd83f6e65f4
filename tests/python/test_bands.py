"""How sure predictions are, fits of data drawn anew, what residuals show: from Python. Figures are R's, as in the tests of the library."""

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
