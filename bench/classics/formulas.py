"""Formulas by hand in NumPy. In: a table, constants, a tolerance none of them needs; out: the prediction by the name of its column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import exp, log

Array = np.ndarray
Table = dict[str, Array]


def formula(column: str, *inputs: str) -> Callable[[Callable[..., Array]], Callable[[Table, dict[str, float], float], Table]]:
    """A function of inputs and constants as what a case wants."""
    return lambda f: lambda table, k, _tolerance: {column: f(*(table[i] for i in inputs), **k)}


@formula("rate", "conc")
def puromycin(conc: Array, Vm: float, K: float) -> Array:
    return Vm * conc / (K + conc)


@formula("density", "conc")
def dnase(conc: Array, Asym: float, xmid: float, scal: float) -> Array:
    return Asym / (1 + exp((xmid - log(conc)) / scal))


@formula("conc", "time")
def indometh(time: Array, A1: float, k1: float, A2: float, k2: float) -> Array:
    return A1 * exp(-k1 * time) + A2 * exp(-k2 * time)


@formula("circumference", "age")
def orange(age: Array, Asym: float, xmid: float, scal: float) -> Array:
    return Asym / (1 + exp((xmid - age) / scal))


@formula("demand", "Time")
def bod(time: Array, A: float, k: float) -> Array:
    return A * (1 - exp(-k * time))


@formula("uptake", "conc")
def co2(conc: Array, Asym: float, lrc: float, c0: float) -> Array:
    return Asym * (1 - exp(-exp(lrc) * (conc - c0)))


@formula("height", "age")
def loblolly(age: Array, Asym: float, R0: float, lrc: float) -> Array:
    return Asym + (R0 - Asym) * exp(-exp(lrc) * age)


@formula("y", "x")
def boxbod(x: Array, b1: float, b2: float) -> Array:
    return b1 * (1 - exp(-b2 * x))


@formula("y", "x")
def thurber(x: Array, b1: float, b2: float, b3: float, b4: float, b5: float, b6: float, b7: float) -> Array:
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


@formula("y", "x")
def enso(x: Array, b1: float, b2: float, b3: float, b4: float, b5: float, b6: float, b7: float, b8: float, b9: float) -> Array:
    wave = lambda period, a, b: a * np.cos(2 * np.pi * x / period) + b * np.sin(2 * np.pi * x / period)
    return b1 + wave(12, b2, b3) + wave(b4, b5, b6) + wave(b7, b8, b9)


@formula("rv", "jd")
def radial_velocity(jd: Array, P: float, K: float, e: float, w: float, phase: float, g: float) -> Array:
    mean = 2 * np.pi * np.mod((jd - 2450000) / P + phase, 1)
    anomaly = mean + e * np.sin(mean)
    for _ in range(60):
        anomaly = anomaly - (anomaly - e * np.sin(anomaly) - mean) / (1 - e * np.cos(anomaly))
    true = 2 * np.arctan(np.sqrt((1 + e) / (1 - e)) * np.tan(anomaly / 2))
    return g + K * (np.cos(true + w) + e * np.cos(w))


@formula("conc", "Dose", "Time")
def theophylline(dose: Array, time: Array, ka: float, ke: float, V: float) -> Array:
    return dose / V * ka / (ka - ke) * (exp(-ke * time) - exp(-ka * time))
