"""diffrax: `vmap` over the sets under `jit`, each with steps of its own; compiling is not timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .problem import TIMES, Problem

LABEL = "diffrax, vmap and jit"
jax.config.update("jax_enable_x64", True)


def version() -> str:
    """Of diffrax."""
    return diffrax.__version__


def prepare(problem: Problem, tolerance: float) -> Callable[[], NDArray[np.float64]]:
    """Tsitouras' method, dense output between steps."""

    def law(t: Any, s: Any, p: Any) -> Any:
        return jnp.stack([p[0] * s[0] - p[1] * s[0] * s[1], p[2] * s[0] * s[1] - p[3] * s[1]])

    def one(p: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(law), diffrax.Tsit5(), 0.0, 20.0, None, jnp.ones(2), p, saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES)),
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance), max_steps=4096,
        ).ys  # fmt: skip

    solve = jax.jit(jax.vmap(one))
    sets = jnp.asarray(problem.constants)
    solve(sets).block_until_ready()
    return lambda: np.asarray(solve(sets).block_until_ready())
