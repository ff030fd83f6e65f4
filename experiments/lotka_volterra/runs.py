"""The jobs of Lotka-Volterra: one per model and seed."""

from __future__ import annotations

import time
from typing import Any

from ..common import native_fit, ode_rows
from ..common.cost import compare
from ..common.dynamics import Field, WholeWindow, train_windows, window_loss
from ..common.jobs import Record
from ..common.nets import count, learned
from ..common.ode_rows import NOISE, settings
from ..common.pinn import OdePinn, PinnSettings
from ..common.training import Loop, train
from .models import KINDS, PROGRAMS, SYSTEM, TRUE, Hybrid, Physics, off, pinn_rhs, with_constants


def _judged(values: dict[str, float]) -> Record:
    rhs = with_constants(values)
    return {"constants": values, "off": off(values), **SYSTEM.errors(rhs), "path": SYSTEM.path(rhs)}


def known(kind: str, start: float, epochs: int, noise: float, seed: int) -> Record:
    """Known structure: four constants by gradient descent through the steps."""
    model = Physics(kind, dict.fromkeys(TRUE, start))
    result = train_windows(SYSTEM, model, noise, settings(epochs, 1e-2), seed, lambda: learned(model))
    return {**result.record(), **_judged(learned(model)), "parameters": count(model)}


def whole(start: float, epochs: int, noise: float, seed: int) -> Record:
    """Ours: the same training with the whole window compiled as one program."""
    model = WholeWindow(PROGRAMS, dict.fromkeys(TRUE, start), SYSTEM)
    result = train(model, window_loss(model, SYSTEM.pieces(noise, seed)), settings(epochs, 1e-2), follow=lambda: learned(model))
    return {**result.record(), **_judged(learned(model)), "parameters": count(model)}


def hybrid(kind: str, epochs: int, seed: int) -> Record:
    model = Hybrid(kind)
    result = train_windows(SYSTEM, model, NOISE, settings(epochs, 3e-3), seed, lambda: learned(model))
    return {
        **result.record(),
        "beta": learned(model)["beta"],
        **SYSTEM.errors(model),
        "path": SYSTEM.path(model),
        "parameters": count(model),
    }


def network(epochs: int, seed: int) -> Record:
    return ode_rows.network(SYSTEM, False, epochs, seed)


def neural_ode(epochs: int, seed: int) -> Record:
    return ode_rows.neural_ode(SYSTEM, False, epochs, seed)


def pinn(seed: int, epochs: int, **given: Any) -> Record:
    observed = SYSTEM.observed(NOISE, seed)
    problem = OdePinn(SYSTEM.times, observed, dict.fromkeys(TRUE, 0.5), pinn_rhs, PinnSettings(epochs, **given), seed, radians=3.0)
    return ode_rows.pinn(SYSTEM, problem, with_constants, off)


MODEL = "\n".join(
    [f"(param {n} 0.5 :min 0)" for n in TRUE]
    + ["(param x0 4.0 :min 0)", "(param y0 1.0 :min 0)", "(state x x0)", "(state y y0)"]
    + [f"(derive {n} {text})" for n, text in PROGRAMS.items()]
)


def fitted(noise: float, seed: int, starts: int | None = None) -> Record:
    """Ours: the whole trajectory at once, its start free, by the native fit; from as many starts as it takes, or at most `starts`."""
    observed = SYSTEM.observed(noise, seed)
    begun = time.perf_counter()
    found = native_fit.fit(
        MODEL, {"t": SYSTEM.times, "x": observed[:, 0], "y": observed[:, 1]}, time="t", method="rk4", step=SYSTEM.step, starts=starts
    )
    seconds = time.perf_counter() - begun
    values = {n: found.values[n] for n in TRUE}
    return {**_judged(values), "errors": found.errors, "training_seconds": seconds, "parameters": 6}


def cost(rounds: int, steps: int, seed: int) -> Record:
    """An epoch of each model."""
    loops: dict[str, Loop] = {}
    for kind in KINDS:
        model = Physics(kind, dict.fromkeys(TRUE, 0.5))
        windows = SYSTEM.pieces(NOISE, seed)
        loops[kind] = Loop(model, lambda m=model, w=windows: w.loss(m), settings(1000, 1e-2))
    one = WholeWindow(PROGRAMS, dict.fromkeys(TRUE, 0.5), SYSTEM)
    loops["compiled, window as one program (ours)"] = Loop(one, window_loss(one, SYSTEM.pieces(NOISE, seed)), settings(1000, 1e-2))
    for kind in ("compiled", "hand-coded"):
        mixed = Hybrid(kind)
        windows = SYSTEM.pieces(NOISE, seed)
        loops[f"{kind} hybrid"] = Loop(mixed, lambda m=mixed, w=windows: w.loss(m), settings(1000, 3e-3))
    field = Field(2, timed=False)
    windows = SYSTEM.pieces(NOISE, seed)
    loops["MLP"] = Loop(field, lambda: windows.loss(field), settings(1000, 3e-3))
    return {"cost": compare(loops, "hand-coded", rounds, steps)}
