"""PySINDy and Operon propose, the compiler judges: both as users start them, with the real packages (`make test-proposers`)."""

import sys

import neural_compiler as nc
import numpy as np


def test_pysindy_proposes_predators_and_prey() -> None:
    t = np.linspace(0, 15, 301)
    law = "(param a 1) (state x 2) (state y 1) (derive x (- (* a x) (* x y))) (derive y (- (* x y) y))"
    path = nc.simulate(law, t)
    data = {"t": t, "x": path["x"], "y": path["y"]}
    found = nc.refine(data, states=["x", "y"], proposers=[f"{sys.executable} -m neural_compiler.proposers.pysindy"], budget=120)
    later = nc.simulate(found.best.text, np.linspace(0, 30, 31))
    truth = nc.simulate(law, np.linspace(0, 30, 31))
    np.testing.assert_allclose(later["x"], truth["x"], rtol=0.02)


def test_operon_proposes_formulas() -> None:
    random = np.random.default_rng(3)
    x, y = random.uniform(0.5, 2, (2, 200))
    data = {"x": x, "y": y, "z": 1.7 * x * y / (x + y)}
    found = nc.refine(data, target="z", proposers=[f"{sys.executable} -m neural_compiler.proposers.operon"], budget=120)
    again = nc.predict(found.best.text, {"x": [0.7, 3.0], "y": [1.9, 4.0]})
    wanted = [1.7 * 0.7 * 1.9 / 2.6, 1.7 * 12 / 7]
    np.testing.assert_allclose(next(iter(again.values())), wanted, rtol=1e-3)
