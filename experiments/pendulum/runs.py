"""The jobs of the pendulum: one per model and seed."""

from __future__ import annotations

import time
from typing import Any

import torch

from ..common import native_fit, ode_rows
from ..common.cost import compare
from ..common.dynamics import HORIZONS, Field, WholeWindow, train_windows, window_loss
from ..common.jobs import Record
from ..common.nets import count, learned, mlp
from ..common.ode import Windows
from ..common.ode_rows import NOISE, settings
from ..common.pinn import OdePinn, PinnSettings
from ..common.training import Loop, train
from .models import FORCED, FREQUENCY, KINDS, MIXED, PUSH, REST, S1, S2, SOURCE, START, SYSTEM, TRUE, WINDOW, Mixed, off, pinn_rhs


def _judged(values: dict[str, float], forced: bool = False) -> Record:
    system = FORCED if forced else SYSTEM
    rhs = S1("hand-coded", values, forced)
    return {"constants": values, "off": off(values), **system.errors(rhs), "path": system.path(rhs)}


def s1(kind: str, epochs: int, forced: bool, seed: int) -> Record:
    """Two constants by gradient descent through the steps."""
    model = S1(kind, forced=forced)
    result = train_windows(FORCED if forced else SYSTEM, model, NOISE, settings(epochs, 1e-2), seed, model.learned)
    return {**result.record(), **_judged(model.learned(), forced), "parameters": count(model)}


def whole(epochs: int, seed: int) -> Record:
    """Ours: S1 with the whole window compiled as one program."""
    model = WholeWindow(WINDOW, {"neg_g_over_L": -START["g_L"], "neg_b": -START["b"]}, SYSTEM)

    def constants() -> dict[str, float]:
        found = learned(model)
        return {"g_L": -found["neg_g_over_L"], "b": -found["neg_b"]}

    result = train(model, window_loss(model, SYSTEM.pieces(NOISE, seed)), settings(epochs, 1e-2), follow=constants)
    return {**result.record(), **_judged(constants()), "parameters": count(model)}


def s2_one_text(epochs: int, seed: int, lr: float = 1e-2) -> Record:
    """Ours: gravity and a network of the speed as one program."""
    programs = {"theta": "theta_dot", "theta_dot": MIXED}
    model = WholeWindow(programs, {"neg_g_over_L": -START["g_L"]}, SYSTEM, REST, torch.float64)
    windows = Windows(SYSTEM.observed(NOISE, seed).double(), SYSTEM.step, SYSTEM.windows, SYSTEM.length, seed)

    def constants() -> dict[str, float]:
        return {"g_L": -learned(model)["neg_g_over_L"]}

    result = train(model, window_loss(model, windows), settings(epochs, lr), follow=constants)
    rhs = Mixed(model.program)
    return {
        **result.record(),
        "constants": constants(),
        "off": off(constants()),
        **SYSTEM.errors(rhs),
        "path": SYSTEM.path(rhs),
        "parameters": count(model),
    }


def s2(kind: str, epochs: int, seed: int) -> Record:
    """Gravity compiled, the rest learned."""
    model = S2(kind)
    result = train_windows(SYSTEM, model, NOISE, settings(epochs, 3e-3), seed, model.learned)
    values = model.learned()
    return {
        **result.record(),
        "constants": values,
        "off": off(values),
        **SYSTEM.errors(model),
        "path": SYSTEM.path(model),
        "parameters": count(model),
    }


def network(epochs: int, seed: int) -> Record:
    return ode_rows.network(SYSTEM, True, epochs, seed)


def neural_ode(epochs: int, seed: int) -> Record:
    return ode_rows.neural_ode(SYSTEM, True, epochs, seed)


def pinn(seed: int, epochs: int, **given: Any) -> Record:
    problem = OdePinn(SYSTEM.times, SYSTEM.observed(NOISE, seed), START, pinn_rhs, PinnSettings(epochs, **given), seed, radians=8.0)
    return ode_rows.pinn(SYSTEM, problem, lambda values: S1("hand-coded", values), off)


def _model(forced: bool) -> str:
    change = SOURCE.replace("neg_g_over_L", "(- g_L)").replace("neg_b", "(- b)")
    rest = f"(+ {change} (* {PUSH} (cos (* {FREQUENCY!r} t))))" if forced else change
    head = [f"(param {n} {v} :min 0)" for n, v in START.items()] + ["(param theta0 1.0)", "(param speed0 0.0)"]
    return "\n".join([*head, "(state theta theta0)", "(state theta_dot speed0)", "(derive theta theta_dot)", f"(derive theta_dot {rest})"])


def fitted(forced: bool, seed: int, starts: int | None = None) -> Record:
    """Ours: the whole trajectory at once, its start free, by the native fit; from as many starts as it takes, or at most `starts`."""
    system = FORCED if forced else SYSTEM
    observed = system.observed(NOISE, seed)
    begun = time.perf_counter()
    found = native_fit.fit(
        _model(forced),
        {"t": system.times, "theta": observed[:, 0], "theta_dot": observed[:, 1]},
        time="t",
        method="rk4",
        step=system.step,
        starts=starts,
    )
    seconds = time.perf_counter() - begun
    return {**_judged({n: found.values[n] for n in TRUE}, forced), "errors": found.errors, "training_seconds": seconds, "parameters": 4}


def s2_fitted(hidden: str, seed: int) -> Record:
    """Ours: S2 by the native fit, which leaves to the network only what gravity cannot explain; `hidden` are its hidden layers."""
    text = f"""
        (param g_L {START["g_L"]} :min 0)
        (net rest (theta theta_dot t) {hidden} 1)
        (state theta 1)
        (state theta_dot 0)
        (derive theta theta_dot)
        (derive theta_dot (+ (* (- g_L) (sin theta)) (rest theta theta_dot t)))"""
    observed = SYSTEM.observed(NOISE, seed)
    columns = {"t": SYSTEM.times, "theta": observed[:, 0], "theta_dot": observed[:, 1]}
    begun = time.perf_counter()
    found = native_fit.fit(text, columns, time="t", method="rk4", step=SYSTEM.step, seed=seed)
    seconds = time.perf_counter() - begun
    times = torch.arange(HORIZONS[-1] * SYSTEM.steps + 1) * SYSTEM.step
    predicted = found.result.predict({"t": times.double().numpy()})
    states = torch.stack([torch.as_tensor(predicted[name]) for name in ("theta", "theta_dot")], dim=1)
    values = {"g_L": found.values["g_L"]}
    return {
        "constants": values,
        "off": off(values),
        "errors": found.errors,
        "training_seconds": seconds,
        **SYSTEM.judged(states),
        "path": states[::2].tolist(),
        "parameters": count(mlp((3, *map(int, hidden.split()), 1), "tanh")) + 1,
    }


def cost(rounds: int, steps: int, seed: int) -> Record:
    loops: dict[str, Loop] = {}

    def add(name: str, model: torch.nn.Module, lr: float) -> None:
        windows = SYSTEM.pieces(NOISE, seed)
        loops[name] = Loop(model, lambda: windows.loss(model), settings(1000, lr))

    for kind in KINDS:
        add(kind, S1(kind), 1e-2)
    one = WholeWindow(WINDOW, {"neg_g_over_L": -START["g_L"], "neg_b": -START["b"]}, SYSTEM)
    loops["compiled, window as one program (ours)"] = Loop(one, window_loss(one, SYSTEM.pieces(NOISE, seed)), settings(1000, 1e-2))
    for kind in ("compiled", "compiled, native", "hand-coded"):
        add(f"S2, {kind}", S2(kind), 3e-3)
    add("MLP", Field(2, timed=True), 3e-3)
    return {"cost": compare(loops, "hand-coded", rounds, steps)}
