"""Makes the tables of these examples with fixed noise, fits the same laws with SciPy, and prints what that finds:
`python examples/equations/simulate.py`."""

from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, curve_fit

HERE = Path(__file__).parent
R = 8.314462618
Array = NDArray[np.float64]


def titration(volume: Array, pka: float, acid: float) -> Array:
    def charge(ph: float, v: float) -> float:
        base, total = 0.1 * v / (25 + v), acid * 25 / (25 + v)
        return 10**-ph + base - 10 ** (ph - 14) - total / (1 + 10 ** (pka - ph))

    return np.array([brentq(charge, 0, 14, (v,), xtol=1e-14, rtol=1e-15) for v in volume])


def gas(x: Array, a: float, b: float) -> Array:
    def law(v: float, t: float, p: float) -> float:
        return (p + a / v**2) * (v - b) - R * t

    return np.array([brentq(law, 2 * b, 2 * R * t / p, (t, p), xtol=1e-20, rtol=1e-15) for t, p in zip(*x)])


def found(name: str, law: object, x: Array, y: Array, start: list[float]) -> None:
    values, covariance = curve_fit(law, x, y, start, x_scale=np.abs(start), xtol=1e-15, ftol=1e-15, gtol=1e-15, method="trf")
    print(name, *(f"{v:.9g} ± {e:.6g}" for v, e in zip(values, np.sqrt(np.diag(covariance)))))


noise = Random(5)
volume = np.arange(0.5, 40, 1.0)
ph = np.array([round(x + noise.gauss(0, 0.05), 3) for x in titration(volume, 4.76, 0.08)])
rows = [f"{v},{y}" for v, y in zip(volume, ph)]
(HERE / "titration.csv").write_text("\n".join(["volume,pH", *rows]) + "\n")
found("titration", titration, volume, ph, [4, 0.05])
points = np.array([(t, p) for t in (320.0, 350.0, 400.0, 450.0) for p in (5e5, 1e6, 2e6, 4e6, 6e6)]).T
v = np.array([float(f"{x * (1 + noise.gauss(0, 0.005)):.6g}") for x in gas(points, 0.364, 4.267e-5)])
rows = [f"{t},{p},{y}" for t, p, y in zip(*points, v)]
(HERE / "van-der-waals.csv").write_text("\n".join(["T,p,volume", *rows]) + "\n")
found("van der Waals", gas, points, v, [0.3, 4e-5])
