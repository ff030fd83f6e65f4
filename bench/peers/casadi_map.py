"""CasADi `Function.map`: its virtual machine, lane by lane. It knows doubles only, so in the f32 tables it computes in f64."""

from __future__ import annotations

import casadi
import numpy as np

from . import Case, Namespace, Prepared

LABEL = "casadi"
COMPUTES_IN = "f64"


def version() -> str:
    """CasADi's version."""
    return f"casadi {casadi.__version__}"


def prepare(case: Case) -> Prepared:
    """Called through memory views, which skips the conversion of arguments and results."""
    m = Namespace(casadi, casadi.SX)
    m.where = casadi.if_else
    # One column of inputs per lane in, one column of results per lane out: `map` puts lanes side by side.
    inputs = casadi.SX.sym("x", len(case.program.inputs))
    value = case.program.formula(m, *casadi.vertsplit(inputs))
    outputs = casadi.vertcat(value, casadi.gradient(value, inputs)) if case.gradient else value
    one = casadi.Function("one", [inputs], [outputs])
    every = one.map(case.lanes, "thread", case.threads) if case.threads > 1 else one.map(case.lanes)
    data = case.columns.T.astype(np.float64, order="C").ravel()
    out = np.empty(case.results * case.lanes)
    buffer, run = every.buffer()
    buffer.set_arg(0, memoryview(data))
    buffer.set_res(0, memoryview(out))

    def once() -> np.ndarray:
        run()
        return out

    # `run` holds the address of the buffer only, and the buffer those of the data.
    once.alive = (every, buffer, data, out)  # type: ignore[attr-defined]
    return Prepared(once, lambda out: list(out.reshape(case.lanes, case.results).T))
