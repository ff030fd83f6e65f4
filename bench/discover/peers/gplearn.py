"""gplearn: genetic programming as scikit-learn has estimators. It has no limit on time: its generations are as many as fit into it."""

from __future__ import annotations

import importlib.util
import time

import numpy as np


def available() -> bool:
    return importlib.util.find_spec("gplearn") is not None


def predicted(x: np.ndarray, y: np.ndarray, other: np.ndarray, seconds: float) -> np.ndarray:
    from gplearn.genetic import SymbolicRegressor

    scale, size = np.max(np.abs(x), 0), np.max(np.abs(y))
    functions = ("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos")
    model = SymbolicRegressor(population_size=1000, generations=1, function_set=functions, random_state=0, warm_start=True)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until and model.generations < 200:
        model.fit(x / scale, y / size)
        model.set_params(generations=model.generations + 1)
    return np.asarray(model.predict(other / scale)).ravel() * size
