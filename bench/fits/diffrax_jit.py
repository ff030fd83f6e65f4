"""diffrax under jit with optimistix' Levenberg-Marquardt, compile time included. It starts at 1.1 times the truth, in its favour: a whole
trajectory from the paper's start leads it astray."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from peers import NotSupported

from .problems import Problem

LABEL = "diffrax, jit"
jax.config.update("jax_enable_x64", True)


def version() -> str:
    """Of diffrax."""
    return diffrax.__version__


def prepare(problem: Problem) -> Callable[[], dict[str, float]]:
    """Compiles anew every time: a new model is a new program."""
    if problem.formula is not None:
        raise NotSupported("for models with states")
    times = jnp.asarray(problem.data["t"])
    record = jnp.asarray(np.stack([problem.data["x"], problem.data["y"]], -1))
    start = jnp.asarray([1.1 * v for v in problem.truth.values()])

    def law(t: Any, s: Any, constants: Any) -> Any:
        alpha, beta, delta, gamma = constants
        return jnp.stack([alpha * s[0] - beta * s[0] * s[1], delta * s[0] * s[1] - gamma * s[1]])

    def residuals(constants: Any, _: Any) -> Any:
        solved = diffrax.diffeqsolve(
            diffrax.ODETerm(law), diffrax.Tsit5(), 0.0, 12.0, 0.1, jnp.asarray([4.0, 1.0]), constants,
            saveat=diffrax.SaveAt(ts=times), stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-8),
            adjoint=diffrax.DirectAdjoint(),
        )  # fmt: skip
        return solved.ys - record

    def run() -> dict[str, float]:
        jax.clear_caches()
        solver = optimistix.LevenbergMarquardt(rtol=1e-8, atol=1e-8)
        found = jax.jit(lambda s: optimistix.least_squares(residuals, solver, s, max_steps=200).value)(start)
        return dict(zip(problem.truth, (float(v) for v in found)))

    return run
