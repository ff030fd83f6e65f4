"""The fifteen equations: program, constants, ranges, the same by hand, and what the paper prints.

`EQUATIONS` are the programs of the released code; `PRINTED` those of the paper's appendix where they differ (their ranges are ours: the
paper gives none)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Equation:
    name: str
    source: str
    true: dict[str, float]
    ranges: dict[str, tuple[float, float]]
    hand: Callable[..., Tensor]
    paper: tuple[str, str, str, str, str] = ("–", "–", "–", "–", "–")
    """In-distribution, MLP; five times as wide, MLP; error of the worst constant."""


EQUATIONS = [
    Equation("Planck", "(* h f)", {"h": 6.626}, {"f": (0.1, 10)}, lambda h, f: h * f, ("2.3e-8", "1.6e-3", "2.4e-6", "3.0e+3", "0.003 %")),
    Equation(
        "Hooke", "(* (- 0 k) x)", {"k": 2.5}, {"x": (-3, 3)}, lambda k, x: (0 - k) * x, ("2.2e-7", "9.7e-4", "3.5e-5", "8.9e+2", "0.013 %")
    ),
    Equation(
        "Kinetic",
        "(* alpha (* m (pow v 2)))",
        {"alpha": 0.5},
        {"m": (0.5, 5), "v": (-3, 3)},
        lambda alpha, m, v: alpha * (m * v**2),
        ("6.1e-7", "5.2e-3", "4.3e-4", "6.6e+3", "0.072 %"),
    ),
    Equation(
        "Gravity",
        "(/ (* G (* m1 m2)) (pow r 2))",
        {"G": 6.674},
        {"m1": (0.5, 5), "m2": (0.5, 5), "r": (0.5, 5)},
        lambda G, m1, m2, r: G * (m1 * m2) / r**2,
        ("8.7e-8", "3.6e-2", "1.2e-5", "2.2e+4", "0.010 %"),
    ),
    Equation(
        "Ideal gas",
        "(/ (* n (* kB T)) V)",
        {"kB": 1.381},
        {"n": (0.5, 5), "T": (1, 10), "V": (0.5, 5)},
        lambda kB, n, T, V: n * (kB * T) / V,
        ("5.3e-8", "1.4e-3", "1.5e-5", "3.5e+3", "0.002 %"),
    ),
    Equation(
        "Pendulum",
        "(* k (sqrt (/ L g)))",
        {"k": 6.283},
        {"L": (0.5, 5), "g": (5, 15)},
        lambda k, L, g: k * torch.sqrt(L / g),
        ("3.9e-8", "1.6e-3", "3.1e-7", "2.9e+2", "0.000 %"),
    ),
    Equation(
        "Heat",
        "(/ (* kappa (* (- T2 T1) A)) d)",
        {"kappa": 1.5},
        {"T2": (5, 15), "T1": (0, 5), "A": (0.5, 3), "d": (0.1, 2)},
        lambda kappa, T2, T1, A, d: kappa * ((T2 - T1) * A) / d,
        ("5.3e-7", "1.2e-3", "3.3e-5", "9.3e+2", "0.008 %"),
    ),
    Equation(
        "Coulomb",
        "(/ (* ke (* q1 q2)) (pow r 2))",
        {"ke": 8.988},
        {"q1": (0.5, 5), "q2": (0.5, 5), "r": (0.5, 5)},
        lambda ke, q1, q2, r: ke * (q1 * q2) / r**2,
        ("4.2e-5", "6.2e-5", "1.0e-2", "1.8e-1", "0.804 %"),
    ),
    Equation(
        "Gaussian",
        "(exp (/ (- 0 (pow theta 2)) (* 2 (pow sigma 2))))",
        {"sigma": 2.0},
        {"theta": (-5, 5)},
        lambda sigma, theta: torch.exp((0 - theta**2) / (2 * sigma**2)),
        ("2.9e-10", "3.9e-4", "1.3e-7", "8.7e+2", "0.003 %"),
    ),
    Equation(
        "Rel. energy",
        "(/ (* m (pow c 2)) (sqrt (- 1 (pow (/ v c) 2))))",
        {"c": 3.0},
        {"m": (0.5, 5), "v": (0.1, 0.9)},
        lambda c, m, v: m * c**2 / torch.sqrt(1 - (v / c) ** 2),
        ("5.1e-7", "1.1e-3", "7.3e-5", "5.1e+2", "0.003 %"),
    ),
    Equation(
        "Sound",
        "(sqrt (/ (* gamma P) rho))",
        {"gamma": 1.4},
        {"P": (1, 10), "rho": (0.5, 5)},
        lambda gamma, P, rho: torch.sqrt(gamma * P / rho),
        ("9.1e-9", "1.1e-3", "6.2e-8", "2.3e+2", "0.010 %"),
    ),
    Equation(
        "Barometric",
        "(* n0 (exp (/ (* (- 0 m) (* g x)) (* kB T))))",
        {"n0": 5.0, "kB": 1.381},
        {"m": (0.5, 2), "g": (5, 15), "x": (0, 3), "T": (1, 5)},
        lambda n0, kB, m, g, x, T: n0 * torch.exp((0 - m) * (g * x) / (kB * T)),
        ("1.2e-8", "4.9e-3", "4.2e-7", "1.7e+4", "0.058 %"),
    ),
    Equation(
        "E-field",
        "(* coeff (pow E 2))",
        {"coeff": 4.427},
        {"E": (0.1, 5)},
        lambda coeff, E: coeff * E**2,
        ("1.7e-7", "1.2e-3", "9.1e-5", "4.7e+3", "0.016 %"),
    ),
    Equation(
        "Oscillator",
        "(* A (sin (+ (* omega t) phi)))",
        {"A": 2.0, "omega": 3.0, "phi": 0.5},
        {"t": (0, 6)},
        lambda A, omega, phi, t: A * torch.sin(omega * t + phi),
        ("5.0e-1", "3.9e-1", "5.8e-1", "4.3e-1", "> 95 %"),
    ),
    Equation(
        "Lorentz",
        "(/ m0 (sqrt (- 1 (pow (/ v c) 2))))",
        {"c": 3.0},
        {"m0": (0.5, 5), "v": (0.1, 0.9)},
        lambda c, m0, v: m0 / torch.sqrt(1 - (v / c) ** 2),
        ("7.5e-3", "8.5e-3", "1.6e-2", "1.6e-2", "19.8 %"),
    ),
]

_ROOT = math.sqrt(2 * math.pi)

PRINTED = [
    Equation("Ideal gas", "(* n (* R T))", {"R": 1.381}, {"n": (0.5, 5), "T": (1, 10)}, lambda R, n, T: n * (R * T)),
    Equation("Heat", "(* m (* c dT))", {"c": 1.5}, {"m": (0.5, 5), "dT": (1, 10)}, lambda c, m, dT: m * (c * dT)),
    Equation(
        "Gaussian",
        "(/ (exp (/ (- 0 (pow (/ (- theta mu) sigma) 2)) 2)) (* sigma (sqrt (* 2 pi))))",
        {"mu": 1.5, "sigma": 2.0},
        {"theta": (-5, 5)},
        lambda mu, sigma, theta: torch.exp((0 - ((theta - mu) / sigma) ** 2) / 2) / (sigma * _ROOT),
    ),
    Equation(
        "Rel. energy",
        "(/ (* m (pow c 2)) (sqrt (- 1 (pow (/ v c) 2))))",
        {"m": 2.0, "c": 3.0},
        {"v": (0.1, 0.9)},
        lambda m, c, v: m * c**2 / torch.sqrt(1 - (v / c) ** 2),
    ),
    Equation(
        "Barometric",
        "(* P0 (exp (/ (* (- 0 m) (* g x)) (* kB T))))",
        {"P0": 5.0, "m": 1.2, "kB": 1.381},
        {"g": (5, 15), "x": (0, 3), "T": (1, 5)},
        lambda P0, m, kB, g, x, T: P0 * torch.exp((0 - m) * (g * x) / (kB * T)),
    ),
    Equation(
        "E-field", "(* coeff (* E (* E V)))", {"coeff": 4.427}, {"E": (0.1, 5), "V": (0.5, 5)}, lambda coeff, E, V: coeff * (E * (E * V))
    ),
    Equation("Lorentz", "(/ 1 (sqrt (- 1 (pow (/ v c) 2))))", {"c": 3.0}, {"v": (0.1, 0.9)}, lambda c, v: 1 / torch.sqrt(1 - (v / c) ** 2)),
]


def find(name: str, printed: bool = False) -> Equation:
    return next(e for e in (PRINTED if printed else EQUATIONS) if e.name == name)
