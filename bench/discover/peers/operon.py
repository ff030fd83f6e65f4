"""Operon by its Python package: genetic programming with constants fitted by least squares."""

from __future__ import annotations

import importlib.util

import numpy as np


def available() -> bool:
    return importlib.util.find_spec("pyoperon") is not None


def predicted(x: np.ndarray, y: np.ndarray, other: np.ndarray, seconds: float) -> np.ndarray:
    from pyoperon.sklearn import SymbolicRegressor

    # Values from 1e-34 to 1e30 are none it is made for: each column is scaled to its largest size.
    scale, size = np.max(np.abs(x), 0), np.max(np.abs(y))
    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sin,cos,exp,log,sqrt,square,tanh,constant,variable",
        max_time=int(seconds),
        generations=100000,
        max_evaluations=10**9,
        optimizer_iterations=10,
        n_threads=2,
        random_state=0,
    )
    model.fit(x / scale, y / size)
    return np.asarray(model.predict(other / scale)).ravel() * size
