"""Fits by maximum likelihood from Python: noise, priors, constants of groups, random effects, values known from one side only. References
are those of crates/neural-compiler-fit/tests (R and closed forms)."""

from __future__ import annotations

from pathlib import Path

import neural_compiler as nc
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "likelihood"


def test_counts() -> None:
    # The maximum of a Poisson mean is the mean, its error the root of mean over n.
    y = np.array([2.0, 5.0, 3.0, 4.0, 1.0])
    found = nc.fit("(param m 1) (observe y m :noise (poisson))", {"y": y})
    assert found.params["m"] == pytest.approx(3.0, rel=1e-9)
    assert found.params["m"].stderr == pytest.approx(np.sqrt(3.0 / 5.0), rel=1e-7)
    assert found.noise == {"y": "(poisson)"} and "noise of `y`: (poisson)" in str(found)
    assert found.log_prior is None and found.k == 1


def test_values_known_from_one_side_only() -> None:
    names, *rows = [line.split(",") for line in (EXAMPLES / "tobin.csv").read_text().split()]
    data = {name: [row[k] if name == "durable" else float(row[k]) for row in rows] for k, name in enumerate(names)}
    found = nc.fit((EXAMPLES / "tobin.scm").read_text(), data)
    assert found.params["s"] == pytest.approx(5.572539766, rel=1e-6)
    assert found.loglik == pytest.approx(-28.9401331997, abs=1e-7)
    with pytest.raises(nc.FitError, match="known from one side only"):
        nc.fit("(param a 1) (* a age)", data, target="durable")


def test_priors() -> None:
    found = nc.fit("(param m 0 :prior (normal 1 0.5)) (observe y m :noise (normal 2))", {"y": [1.0, 2.5, 0.5, 3.0]})
    assert found.params["m"] == pytest.approx((7 / 4 + 4) / 5, rel=1e-9)
    assert found.log_prior is not None


def orange(names: bool) -> dict[str, object]:
    table = np.genfromtxt(EXAMPLES / "orange-trees.csv", delimiter=",", names=True)
    trees = [f"tree {n:.0f}" for n in table["tree"]] if names else table["tree"]
    return {"tree": trees, "age": table["age"], "around": table["around"]}


@pytest.mark.parametrize("names", [False, True])
def test_constants_of_groups(names: bool, tmp_path: Path) -> None:
    data = orange(names)
    found = nc.fit((EXAMPLES / "orange-trees.scm").read_text(), data, target="around")
    first = "A[tree 1]" if names else "A[1]"
    assert found.params[first] == pytest.approx(161.887315813, rel=1e-5)
    assert found.covariance.shape == (8, 8)
    np.testing.assert_allclose(found.predict(), found.predicted, rtol=1e-9)
    found.save(tmp_path / "saved.scm")
    np.testing.assert_allclose(nc.predict(tmp_path / "saved.scm", data), found.predicted, rtol=1e-9)
    with pytest.raises(nc.FitError, match="nothing is known of this"):
        found.predict({"tree": ["sixth"] if names else [6.0], "age": [100.0]})


def test_random_effects() -> None:
    data = orange(False)
    model = """(param A 150) (param xmid 700) (param scal 300 :min 1) (param omega 20 :min 0) (param s 10 :min 0)
               (param eta 0 :per tree :effect (normal 0 omega))
               (observe around (/ (+ A eta) (+ 1 (exp (/ (- xmid age) scal)))) :noise (normal s))"""
    found = nc.fit(model, data)
    assert found.params["A"] == pytest.approx(192.05315126201, rel=1e-5)
    assert found.params["omega"] == pytest.approx(31.64630244805, rel=1e-4)
    assert set(found.effects) == {f"eta[{n}]" for n in range(1, 6)}


def test_an_estimator_of_scikit_learn() -> None:
    from neural_compiler.sklearn import EquationRegressor

    x = np.linspace(0.0, 2.0, 20)
    y = np.round(np.exp(0.5 + 0.8 * x))
    made = EquationRegressor("(param a 0) (param b 0) (observe y (exp (+ a (* b x))) :noise (poisson))").fit(x[:, None], y)
    assert made.predict(x[:, None]) == pytest.approx(y, abs=0.6)
