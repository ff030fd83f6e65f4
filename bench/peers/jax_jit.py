"""jax.jit: values as one function of columns, gradients as jit(vmap(value_and_grad))."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import Case, Namespace, Prepared

LABEL = "jax.jit"

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)


def version() -> str:
    """JAX's version."""
    return f"jax {jax.__version__}"


def prepare(case: Case) -> Prepared:
    """Compiled and run once. The number of threads is fixed when the process starts, see `run.py`."""
    m = Namespace(jnp, case.dtype.type)
    stacked = case.program.stacked
    if stacked:
        columns: list[Any] = [jnp.asarray(case.columns)]
        f = lambda rows: stacked(m, rows)
        axes = 1
    else:
        columns = [jnp.asarray(c) for c in case.columns]
        f = lambda *columns: case.program.formula(m, *columns)
        axes = 0
    if case.gradient:
        one = jax.value_and_grad(f, argnums=tuple(range(len(columns))))
        compiled = jax.jit(jax.vmap(one, in_axes=axes, out_axes=(0, axes)))
    else:
        compiled = jax.jit(f)

    def results(out: Any) -> list[np.ndarray]:
        if not case.gradient:
            return [np.asarray(out)]
        value, partials = out
        return [np.asarray(value), *(np.asarray(partials[0]) if stacked else (np.asarray(p) for p in partials))]

    run = lambda: jax.block_until_ready(compiled(*columns))
    run()
    return Prepared(run, results)
