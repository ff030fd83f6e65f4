"""`refine` from Python: models found from data, by proposers that are built in, texts and commands."""

import json
import sys

import neural_compiler as nc
import numpy as np
import pytest


def decay(noise: float = 0.0) -> dict[str, np.ndarray]:
    t = np.linspace(0, 6, 40)
    return {"t": t, "x": 3 * np.exp(-0.7 * t) + noise * np.random.default_rng(5).normal(size=t.size)}


def test_a_law_of_motion_is_found_and_is_a_model() -> None:
    data = decay(0.01)
    found = nc.refine(data, states=["x"], budget=60, seed=3)
    again = nc.fit(found.best.text, data)
    rate = [p["value"] for p in found.best.params if abs(abs(p["value"]) - 0.7) < 0.05]
    assert len(rate) == 1, found.best.text
    assert again.r2 > 0.999
    assert found.best.holdout is not None and found.best.holdout["r2"] > 0.99
    assert found.tried >= len(found.front) >= 1
    assert [h.complexity for h in found.front] == sorted(h.complexity for h in found.front)


def test_the_same_for_a_seed() -> None:
    x = np.linspace(0.5, 4, 24)
    data = {"x": x, "y": 2.5 * np.sqrt(x) + 0.01 * np.random.default_rng(1).normal(size=x.size)}
    one, two = (nc.refine(data, target="y", budget=60, seed=7) for _ in range(2))
    assert one.best == two.best and one.front == two.front
    assert one.best.params[0]["value"] == pytest.approx(2.5, abs=0.02)


def test_a_command_proposes_and_what_fails_is_left_out(tmp_path) -> None:
    script = tmp_path / "mine.py"
    texts = ["(param a 1) (param b 0) (+ (* a x) b)", "(this is (no model", "(param a 1) (* a (exp x))"]
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    texts = " + json.dumps(texts) + " if json.loads(line)['round'] == 0 else []\n"
        "    print(json.dumps({'proposals': [{'text': t, 'why': 'because'} for t in texts]}), flush=True)\n"
    )
    x = np.arange(12.0)
    found = nc.refine({"x": x, "y": 3 * x - 1}, target="y", proposers=[f"{sys.executable} {script}"], budget=30)
    assert {p["name"]: p["value"] for p in found.best.params} == pytest.approx({"a": 3.0, "b": -1.0})
    # With the constant that everything is compared with.
    assert found.tried == 4


def test_models_to_begin_with() -> None:
    data = decay()
    found = nc.refine(
        data, states=["x"], models=["(param k 1) (state x 3) (derive x (- (* k x)))"], proposers=["person:/dev/null"], budget=30
    )
    assert found.best.params[0]["value"] == pytest.approx(0.7, abs=1e-8)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"target": "x", "states": ["x"]},
        {"target": "z"},
        {"states": ["x"], "time": "s"},
        {"target": "x", "budget": -1.0},
        {"target": "x", "holdout": 1.5},
    ],
)
def test_what_makes_no_sense_is_an_error(given) -> None:
    with pytest.raises((ValueError, nc.CompileError)) as caught:
        nc.refine(decay(), **given)
    assert str(caught.value)
