"""Every kind of model in every face of the library: each works and agrees with the others, or refuses in words of its own.

The table of docs/faces.md is what these tests find; `UPDATE_FACES=1` writes it anew.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
import torch
from neural_compiler.nn import odeint
from neural_compiler.sklearn import EquationRegressor

PAGE = Path(__file__).parents[2] / "docs/faces.md"
GRID = np.linspace(0.0, 4.0, 24)
ERRORS = np.random.default_rng(7).normal(size=240)


@dataclass
class Kind:
    """A model, data it made, how it is fitted, and a constant with its true value and how near a fit must come."""

    text: str
    data: dict[str, Any]
    near: tuple[str, float, float]
    options: dict[str, Any] = field(default_factory=dict)


def _noisy(values: Any, size: float = 0.01) -> Any:
    return values + size * ERRORS[: len(values)]


def _groups(curve: Callable[[Any, float], Any], values: list[float]) -> dict[str, Any]:
    g = np.repeat(np.arange(1.0, len(values) + 1), len(GRID))
    t = np.tile(GRID, len(values))
    return {"g": g, "x": t, "y": _noisy(np.concatenate([curve(GRID, v) for v in values]))}


def _dosed(t: Any) -> Any:
    return 2 * np.exp(-0.5 * t) + np.where(t > 1.0, np.exp(-0.5 * (t - 1.0)), 0.0)


DECAY = 3 * np.exp(-0.7 * GRID)
FORMULA = "(param a 1) (param k 1) "
LAW = "(param k 1 :min 0) (state x 3) (derive x (* (- k) x))"
KINDS = {
    "formula": Kind(FORMULA + "(* a (exp (- (* k x))))", {"x": GRID, "y": _noisy(DECAY)}, ("k", 0.7, 0.02)),
    "several observables": Kind(
        FORMULA + "(observe y (* a (exp (- (* k x))))) (observe z (* a x))",
        {"x": GRID, "y": _noisy(DECAY), "z": _noisy(3 * GRID)},
        ("k", 0.7, 0.02),
    ),
    "noise of counts": Kind(
        "(param a 1) (param b 0.1) (observe y (exp (+ a (* b x))) :noise (poisson))",
        {"x": GRID, "y": np.floor(np.exp(1 + 0.6 * GRID) + 0.5)},
        ("b", 0.6, 0.05),
    ),
    "log-likelihood": Kind(
        "(param rate 1 :min 0) (loglik (- (log rate) (* rate x)))",
        {"x": -np.log(1 - (np.arange(60) + 0.5) / 60) / 2},
        ("rate", 2.0, 0.05),
    ),
    "prior": Kind(
        "(param a 1) (param k 1 :prior (normal 0.7 0.001)) (* a (exp (- (* k x))))",
        {"x": GRID, "y": _noisy(DECAY)},
        ("k", 0.7, 0.003),
    ),
    "constants of groups": Kind(
        "(param a 1) (param k 1 :per g) (* a (exp (- (* k x))))",
        _groups(lambda t, k: 3 * np.exp(-k * t), [0.5, 0.7, 1.0]),
        ("k[2]", 0.7, 0.02),
        {"target": "y"},
    ),
    "random effects": Kind(
        "(param a 1) (param w 1 :min 0) (param s 0.1 :min 0) (param e 0 :per g :effect (normal 0 w)) "
        "(observe y (+ a e x) :noise (normal s))",
        _groups(lambda t, e: 2 + e + t, [-0.6, -0.2, 0.1, 0.3, 0.4]),
        ("a", 2.0, 0.05),
    ),
    "states": Kind(LAW, {"t": GRID, "x": _noisy(DECAY)}, ("k", 0.7, 0.02), {"time": "t"}),
    "observables of states": Kind(LAW + " (observe y (* 2 x))", {"t": GRID, "y": _noisy(2 * DECAY)}, ("k", 0.7, 0.02), {"time": "t"}),
    "start by an expression": Kind(
        "(param k 1 :min 0) (param c 1) (state x (* 3 c)) (derive x (* (- k) x))",
        {"t": GRID, "x": _noisy(DECAY)},
        ("c", 1.0, 0.02),
        {"time": "t"},
    ),
    "start at rest": Kind(
        "(param k 1 :min 0) (param r 0.2) (state x (steady)) (time t :start 0) (derive x (- (if (< t 1) 2 r) (* k x)))",
        {"t": GRID, "x": _noisy(np.where(GRID < 1, 4.0, 1 + 3 * np.exp(-0.5 * (GRID - 1))))},
        ("k", 0.5, 0.02),
        {"time": "t"},
    ),
    "events": Kind(
        "(param k 1 :min 0) (param d 0.4) (state x 2) (derive x (* (- k) x)) (event (at 1) (add x d))",
        {"t": GRID, "x": _noisy(_dosed(GRID))},
        ("d", 1.0, 0.03),
        {"time": "t"},
    ),
    "map": Kind(
        "(param r 1.2) (state n 1) (next n (* r n))", {"t": np.arange(12.0), "n": 1.5 ** np.arange(12.0)}, ("r", 1.5, 1e-6), {"time": "t"}
    ),
    "column between rows": Kind(
        "(param k 1 :min 0) (input u :interpolate linear) (state x 0) (derive x (- u (* k x)))",
        {"t": GRID, "u": GRID, "x": _noisy((np.exp(-0.5 * GRID) - 1 + 0.5 * GRID) / 0.25)},
        ("k", 0.5, 0.02),
        {"time": "t"},
    ),
    "derivative and root": Kind(
        "(param a 1) (+ (d (* a x x) x) (root (z 1) (- (* z z) 4)))", {"x": GRID, "y": _noisy(6 * GRID + 2)}, ("a", 3.0, 0.02)
    ),
    "units": Kind(
        "(param v 1 :unit m/s) (input x :unit s) (unit y m) (define y (* v x)) y", {"x": GRID, "y": _noisy(3 * GRID)}, ("v", 3.0, 0.02)
    ),
    "grid": Kind(
        "(param D 0.5 :min 0) (define h 0.25) (state u (sin (linspace 0 3.141592653589793 13)) :size 13) "
        "(derive u (* D (second-difference u 0 0 h))) (observe y (ref u 6))",
        {"t": GRID[:12], "y": _noisy(np.exp(-0.3 * GRID[:12]))},
        ("D", 0.27, 0.06),
        {"time": "t"},
    ),
}


class Refused(Exception):
    """A face that does not take a kind of model, in words of its own."""


def _own(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (nc.CompileError, ValueError, TypeError) as error:
        words = str(error)
        assert len(words) > 20 and "Traceback" not in words and "unwrap" not in words, words
        raise Refused(words) from error


def _fit(kind: Kind) -> Any:
    return _own(lambda: nc.fit(kind.text, kind.data, **kind.options, seed=1, starts=4))


def _same(kind: Kind, params: dict[str, Any], digits: float = 1e-9) -> None:
    ours = _fit(kind).params
    for name, value in params.items():
        assert abs(np.asarray(ours[name]) - value).max() <= digits * max(1.0, np.abs(value).max()), name


def python_fit(kind: Kind, _: Path) -> None:
    name, value, off = kind.near
    assert abs(_fit(kind).params[name] - value) <= off, _fit(kind).params


@functools.cache
def _neuralc() -> Path:
    """The command, built where the tests of Rust have built it."""
    root = PAGE.parents[1]
    subprocess.run(["cargo", "build", "--locked", "--quiet", "-p", "neuralc"], cwd=root, check=True)
    told = subprocess.run(
        ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], cwd=root, check=True, capture_output=True
    )
    return Path(json.loads(told.stdout)["target_directory"]) / "debug/neuralc"


def command_line(kind: Kind, folder: Path) -> None:
    model, table = folder / "model.scm", folder / "table.csv"
    model.write_text(kind.text)
    rows = np.stack(list(kind.data.values()), axis=1)
    table.write_text(",".join(kind.data) + "\n" + "".join(",".join(repr(float(v)) for v in row) + "\n" for row in rows))
    words = [f"--{name}={value}" for name, value in kind.options.items()]
    done = subprocess.run(
        [_neuralc(), "fit", model, "--data", table, "--json", "--seed=1", "--starts=4", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(done.stderr)
    _same(kind, {name: p["value"] for name, p in json.loads(done.stdout)["params"].items()})


def prediction(kind: Kind, _: Path) -> None:
    found = _fit(kind)
    names = [n for n in found.targets if n in kind.data]
    predicted = _own(lambda: nc.predict(found, kind.data))
    if not found.targets:
        # Nothing but a log-likelihood: that of each row.
        np.testing.assert_allclose(predicted, np.log(found.params["rate"]) - found.params["rate"] * kind.data["x"], rtol=1e-12)
        return
    columns = predicted if isinstance(predicted, dict) else {found.targets[0]: predicted}
    seen = {k.removesuffix(".predicted"): v for k, v in columns.items()}
    compared = [n for n in names if n in seen and len(np.ravel(seen[n])) == len(kind.data[n])]
    assert compared, (names, list(columns))
    for name in compared:
        left = np.asarray(kind.data[name]) - np.ravel(seen[name])
        assert np.sqrt(np.mean(left**2)) < 0.2 * np.std(kind.data[name]) + 0.6 * ("poisson" in kind.text), name


def simulation(kind: Kind, _: Path) -> None:
    found = _fit(kind)
    columns = {n: v for n, v in kind.data.items() if n == "u"}
    out = _own(lambda: nc.simulate(found, kind.data.get("t", GRID), values=columns))
    shown = [n for n in out if n in kind.data and n != "u"]
    assert shown, list(out)
    for name in shown:
        left = np.asarray(kind.data[name]) - np.ravel(out[name])
        assert np.sqrt(np.mean(left**2)) < 0.2 * np.std(kind.data[name]), name


def regressor(kind: Kind, _: Path) -> None:
    # One column to explain: of several the first.
    target = next((n for n in _fit(kind).targets if n in kind.data), "y")
    others = set(_fit(kind).targets) - {target}
    inputs = [n for n in kind.data if n != target and n not in others]
    rows = np.stack([kind.data[n] for n in inputs], axis=1)
    model = EquationRegressor(kind.text, inputs=inputs, target=target, seed=1, starts=4)
    _own(lambda: model.fit(rows, kind.data.get(target, np.zeros(len(rows)))))
    _same(
        Kind(kind.text, {n: v for n, v in kind.data.items() if n not in others}, kind.near, kind.options), dict(model.result_.params), 1e-6
    )
    assert model.score(rows, kind.data[target]) > 0.9


def module(kind: Kind, _: Path) -> None:
    program, made = nc.compile(kind.text), _own(lambda: nc.compile_scheme(kind.text))
    given = {i.name: np.full(i.shape or (), 0.5) for i in program.inputs if i.name not in made.state_dict()}
    plain = {i.name: given.get(i.name, np.asarray(made.state_dict().get(i.name, 0.0))) for i in program.inputs}
    value = _own(lambda: made(**{n: torch.tensor(v, dtype=torch.float64) for n, v in given.items()}))
    np.testing.assert_array_equal(value.detach().numpy(), program(**plain))
    value.sum().backward()
    assert any(p.grad is not None and bool(torch.isfinite(p.grad).all()) for p in made.parameters())


def integration(kind: Kind, _: Path) -> None:
    made = _own(lambda: nc.compile_scheme(kind.text))
    times = kind.data.get("t", GRID)
    inputs = {"u": lambda t: t} if "u" in kind.data else None
    path = _own(lambda: odeint(made, None, torch.tensor(times, dtype=torch.float64), rtol=1e-9, atol=1e-11, inputs=inputs))
    columns = {n: v for n, v in kind.data.items() if n == "u"}
    ours = nc.simulate(kind.text, times, rtol=1e-10, values=columns)
    for name, values in path.items():
        np.testing.assert_allclose(values.detach().numpy(), np.reshape(ours[name], values.shape), rtol=1e-6, atol=1e-7)


FACES: dict[str, Callable[[Kind, Path], None]] = {
    "`fit` in Python": python_fit,
    "`neuralc fit`": command_line,
    "`predict`": prediction,
    "`simulate`": simulation,
    "`EquationRegressor`": regressor,
    "`nn.Module`": module,
    "`odeint`": integration,
}


def _written() -> dict[tuple[str, str], str]:
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    head = rows[0]
    return {(row[0], face): cell for row in rows[1:] for face, cell in zip(head[1:], row[1:], strict=True)}


def _cell(kind: str, face: str, folder: Path) -> str:
    try:
        FACES[face](KINDS[kind], folder)
    except Refused:
        return "refused"
    return "yes"


if os.environ.get("UPDATE_FACES"):

    def test_the_page(tmp_path: Path) -> None:
        lines = [f"| model | {' | '.join(FACES)} |", "|---" * (len(FACES) + 1) + "|"]
        for kind in KINDS:
            lines.append(f"| {kind} | " + " | ".join(_cell(kind, face, tmp_path) for face in FACES) + " |")
        text = re.sub(r"\| model .*?\n\n", "\n".join(lines) + "\n\n", PAGE.read_text(), flags=re.S)
        PAGE.write_text(text)

else:

    @pytest.mark.parametrize("face", FACES)
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_face_takes_a_kind_or_refuses_it(kind: str, face: str, tmp_path: Path) -> None:
        assert _cell(kind, face, tmp_path) == _written()[kind, face]
