"""The simulated tables of this folder, written again: truth solved by SciPy at tight tolerances, Gaussian noise from a fixed seed.

python examples/fits/simulate.py
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

HERE = Path(__file__).parent
Law = Callable[[float, np.ndarray], Iterable[float]]


def solve(law: Law, start: list[float], times: np.ndarray, stops: Iterable[float] = ()) -> np.ndarray:
    """States at the times, row by row; the law may jump at the stops."""
    edges = [times[0], *(s for s in stops if times[0] < s < times[-1]), times[-1]]
    state, out = np.array(start, float), np.empty((len(times), len(start)))
    out[0] = state
    for a, b in zip(edges, edges[1:]):
        inside = (times > a) & (times <= b)
        between = lambda t, y: law(min(max(t, np.nextafter(a, b)), np.nextafter(b, a)), y)
        done = solve_ivp(between, (a, b), state, "Radau", np.unique([*times[inside], b]), rtol=1e-11, atol=1e-13)
        out[inside], state = done.y.T[: inside.sum()], done.y[:, -1]
    return out


def write(name: str, columns: dict[str, np.ndarray]) -> None:
    with open(HERE / f"{name}.csv", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows([f"{x:.7g}" for x in row] for row in zip(*columns.values()))


def van_der_pol(mu: float) -> None:
    times = np.linspace(0, 20, 201)
    if mu > 20:
        # Not near the jumps, at 0.81 mu and every 1.61 mu after: a row on the other side of one makes a step of the sum of squares.
        times = mu * np.concatenate([np.linspace(0, 0.78, 100), np.linspace(0.83, 1.58, 101)])
    y = solve(lambda _, s: (s[1], mu * (1 - s[0] ** 2) * s[1] - s[0]), [2, 0], times)
    write(f"van-der-pol-{mu:g}", {"t": times, "x": y[:, 0] + 0.05 * np.random.default_rng(int(mu)).standard_normal(len(times))})


def robertson() -> None:
    times = np.concatenate([[0], np.geomspace(1e-4, 1e5, 46)])
    y = solve(
        lambda _, s: (1e4 * s[1] * s[2] - 0.04 * s[0], 0.04 * s[0] - 3e7 * s[1] ** 2 - 1e4 * s[1] * s[2], 3e7 * s[1] ** 2), [1, 0, 0], times
    )
    y[1:] *= 1 + 0.02 * np.random.default_rng(1).standard_normal((len(times) - 1, 3))
    write("robertson", {"t": times} | dict(zip("ABC", y.T)))


def hodgkin_huxley() -> None:
    trap = lambda x, y: x / np.expm1(x / y) if abs(x / y) > 1e-6 else y * (1 - x / y / 2)

    def law(_: float, s: np.ndarray) -> tuple[float, ...]:
        v, m, h, n = s
        am, bm = 0.1 * trap(-(v + 40), 10), 4 * np.exp(-(v + 65) / 18)
        ah, bh = 0.07 * np.exp(-(v + 65) / 20), 1 / (1 + np.exp(-(v + 35) / 10))
        an, bn = 0.01 * trap(-(v + 55), 10), 0.125 * np.exp(-(v + 65) / 80)
        current = 10 - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.4)
        return current, am * (1 - m) - bm * m, ah * (1 - h) - bh * h, an * (1 - n) - bn * n

    times = np.linspace(0, 40, 201)
    y = solve(law, [-65, 0.0529, 0.5961, 0.3177], times)
    write("hodgkin-huxley", {"t": times, "V": y[:, 0] + np.random.default_rng(2).standard_normal(len(times))})


def heat() -> None:
    x = np.linspace(0, 1, 50)
    start = np.exp(-((x - 0.5) ** 2) / 0.01)
    matrix = np.zeros((50, 50))
    for i in range(1, 49):
        matrix[i, i - 1 : i + 2] = 49**2 * np.array([1, -2, 1])
    times = np.linspace(0, 2, 11)
    y = solve(lambda _, u: 0.01 * matrix @ u, list(start), times)
    y += 0.005 * np.random.default_rng(3).standard_normal(y.shape)
    write("heat", {"t": times} | {f"u[{i}]": y[:, i] for i in range(50)})


def fisher() -> None:
    x, places = np.linspace(0, 20, 201), np.linspace(1.25, 12.5, 10)

    def law(_: float, u: np.ndarray) -> np.ndarray:
        wide = np.concatenate([u[1:2], u, u[-2:-1]])
        return 0.3 * np.diff(wide, 2) / 0.1**2 + 0.8 * u * (1 - u)

    times = np.linspace(0, 14, 15)
    y = np.array([np.interp(places, x, u) for u in solve(law, list(np.exp(-(x**2))), times)])
    y += 0.01 * np.random.default_rng(7).standard_normal(y.shape)
    write("fisher", {"t": times} | {f"seen[{i}]": y[:, i] for i in range(10)})


def oscillators() -> None:
    k = np.array([1.2, 0.8, 1.5, 0.6])
    matrix = np.array([[k[0] + k[1], -k[1], 0], [-k[1], k[1] + k[2], -k[2]], [0, -k[2], k[2] + k[3]]])
    times = np.linspace(0, 20, 201)
    y = solve(lambda _, s: [*s[3:], *(-(matrix @ s[:3]) - 0.05 * s[3:])], [1, 0, 0, 0, 0, 0], times)[:, :3]
    y += 0.03 * np.random.default_rng(4).standard_normal(y.shape)
    write("oscillators", {"t": times} | {f"q[{i}]": y[:, i] for i in range(3)})


def doses() -> None:
    """An infusion of 100 units in a hundredth of an hour, every twelve hours: the law jumps eight times."""
    starts = [0, 12, 24, 36]

    def law(t: float, s: np.ndarray) -> tuple[float, ...]:
        gut, c, peripheral = s
        rate = 10000.0 if any(a <= t < a + 0.01 for a in starts) else 0.0
        return rate - 1.1 * gut, (1.1 * gut + 8 * peripheral / 40 - 13 * c) / 20, 8 * c - 8 * peripheral / 40

    times = np.array([0, 0.5, 1, 2, 3, 4, 6, 8, 11.9, 12.5, 13, 14, 16, 18, 20, 23.9, 25, 27, 30, 35.9, 36.5, 37, 38, 40, 44, 48, 54, 60])
    y = solve(law, [0, 0, 0], times, sorted(a + b for a in starts for b in (0, 0.01)))[:, 1]
    y[1:] += 0.03 * np.random.default_rng(5).standard_normal(len(times) - 1)
    write("doses", {"t": times, "conc": y})


def seir() -> None:
    times = np.arange(0, 161.0, 2)
    y = solve(
        lambda _, s: (-0.5 * s[0] * s[2] / 1e6, (0.3 * 0.5 * s[0] * s[2] / 1e6 - s[1]) / 5.2, s[1] / 0.3 - 0.25 * s[2]), [1e6, 0, 40], times
    )
    cases = y[:, 1] * (1 + 0.05 * np.random.default_rng(6).standard_normal(len(times)))
    write("seir", {"t": times, "cases": np.round(cases)})


def main() -> None:
    for mu in (1.0, 10.0, 1000.0):
        van_der_pol(mu)
    for one in (robertson, hodgkin_huxley, heat, fisher, oscillators, doses, seir):
        one()


if __name__ == "__main__":
    main()
