"""Models with states by hand, solved by SciPy's LSODA. In: a table, constants, a relative tolerance; out: predictions by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray
Table = dict[str, Array]


def solved(
    law: Callable[..., Iterable[float]],
    start: Iterable[float],
    times: Array,
    tolerance: float,
    first: float | None = None,
    method: str = "LSODA",
    **options: int,
) -> Array:
    """States at the times, a row each; the start holds at the first of them, or at `first`. An unsolvable one is not a number."""
    start = np.array(list(start), float)
    begin = times[0] if first is None else first
    if times[-1] == begin:
        return np.tile(start, (len(times), 1))
    done = solve_ivp(law, (begin, times[-1]), start, method, times, rtol=tolerance, atol=tolerance * 1e-3, **options)
    out = np.full((len(times), len(start)), np.nan)
    out[: done.y.shape[1]] = done.y.T
    return out


def theophylline(table: Table, k: dict[str, float], tolerance: float) -> Table:
    out = np.empty(len(table["Time"]))
    law = lambda _, s: (-k["ka"] * s[0], k["ka"] * s[0] / k["V"] - k["ke"] * s[1])
    for subject in np.unique(table["Subject"]):
        own = table["Subject"] == subject
        out[own] = solved(law, (table["Dose"][own][0], 0), table["Time"][own], tolerance)[:, 1]
    return {"conc": out}


def flu(table: Table, k: dict[str, float], tolerance: float) -> Table:
    def law(_: float, s: Array) -> tuple[float, ...]:
        infect = k["beta"] * s[0] * s[1] / 763
        return -infect, infect - k["gamma"] * s[1]

    return {"I": solved(law, (762, 1), table["day"], tolerance)[:, 1]}


def seir(table: Table, k: dict[str, float], tolerance: float) -> Table:
    def law(_: float, s: Array) -> tuple[float, ...]:
        new = k["beta"] * s[0] * s[2] / 1e6
        return -new, 0.19230769 * (k["rho"] * new - s[1]), s[1] / k["rho"] - 0.25 * s[2]

    return {"cases": solved(law, (1e6, 0, k["I0"]), table["t"], tolerance)[:, 1]}


def lynx_hare(table: Table, k: dict[str, float], tolerance: float) -> Table:
    def law(_: float, s: Array) -> tuple[float, ...]:
        return k["growth"] * s[0] - k["predation"] * s[0] * s[1], k["conversion"] * s[0] * s[1] - k["death"] * s[1]

    y = solved(law, (k["hare0"], k["lynx0"]), table["year"], tolerance)
    return {"hare": y[:, 0], "lynx": y[:, 1]}


def oscillators(table: Table, k: dict[str, float], tolerance: float) -> Table:
    k1, k2, k3, k4, c = k.values()
    matrix = np.array([[k1 + k2, -k2, 0], [-k2, k2 + k3, -k3], [0, -k3, k3 + k4]])
    y = solved(lambda _, s: np.concatenate([s[3:], -(matrix @ s[:3] + c * s[3:])]), (1, 0, 0, 0, 0, 0), table["t"], tolerance)
    return {f"q[{i}]": y[:, i] for i in range(3)}


def arrhenius_table() -> Table:
    """1,000 decays at temperatures of their own, 20 rows each, one per cent noise."""
    generator = np.random.default_rng(8)
    groups, rows = 1000, 20
    temperature, first = generator.uniform(280, 360, groups), generator.uniform(1, 10, groups)
    t = np.tile(np.linspace(0, 5, rows), groups)
    own = np.repeat(np.arange(groups), rows)
    x = first[own] * np.exp(-np.exp(12 - 4000 / temperature[own]) * t) + 0.05 * generator.standard_normal(len(t))
    return {"id": own.astype(float), "t": t, "x": x, "x0": first[own], "T": temperature[own]}


def arrhenius(table: Table, k: dict[str, float], tolerance: float) -> Table:
    """All trajectories as one system, as a user of SciPy would."""
    rows = int(np.sum(table["id"] == table["id"][0]))
    rate = np.exp(k["lnA"] - k["Ea"] / table["T"][::rows])
    y = solved(lambda _, s: -rate * s, table["x0"][::rows], table["t"][:rows], tolerance, method="DOP853")
    return {"x": y.T.ravel()}


def van_der_pol(table: Table, k: dict[str, float], tolerance: float) -> Table:
    law = lambda _, s: (s[1], k["mu"] * (1 - s[0] ** 2) * s[1] - s[0])
    return {"x": solved(law, (2, 0), table["t"], tolerance)[:, 0]}


def robertson(table: Table, k: dict[str, float], tolerance: float) -> Table:
    def law(_: float, s: Array) -> tuple[float, ...]:
        r1, r2, r3 = k["k1"] * s[0], k["k2"] * s[1] ** 2, k["k3"] * s[1] * s[2]
        return r3 - r1, r1 - r2 - r3, r2

    return dict(zip("ABC", solved(law, (1, 0, 0), table["t"], tolerance).T, strict=True))


def hodgkin_huxley(table: Table, k: dict[str, float], tolerance: float) -> Table:
    def trap(x: float, y: float) -> float:
        return y * (1 - x / y / 2) if abs(x / y) < 1e-6 else x / np.expm1(x / y)

    def law(_: float, s: Array) -> tuple[float, ...]:
        v, m, h, n = s
        am, bm = 0.1 * trap(-(v + 40), 10), 4 * np.exp(-(v + 65) / 18)
        ah, bh = 0.07 * np.exp(-(v + 65) / 20), 1 / (1 + np.exp(-(v + 35) / 10))
        an, bn = 0.01 * trap(-(v + 55), 10), 0.125 * np.exp(-(v + 65) / 80)
        current = 10 - k["gNa"] * m**3 * h * (v - 50) - k["gK"] * n**4 * (v + 77) - k["gL"] * (v + 54.4)
        return current, am * (1 - m) - bm * m, ah * (1 - h) - bh * h, an * (1 - n) - bn * n

    return {"V": solved(law, (-65, 0.0529, 0.5961, 0.3177), table["t"], tolerance)[:, 0]}


def heat(table: Table, k: dict[str, float], tolerance: float) -> Table:
    x = np.linspace(0, 1, 50)

    def law(_: float, u: Array) -> Array:
        return np.concatenate([[0], k["a"] * 49**2 * (u[2:] + u[:-2] - 2 * u[1:-1]), [0]])

    y = solved(law, np.exp(-((x - 0.5) ** 2) / 0.01), table["t"], tolerance)
    return {f"u[{i}]": y[:, i] for i in range(50)}


def fisher(table: Table, k: dict[str, float], tolerance: float) -> Table:
    """LSODA told that the Jacobian is a band: what a user who knows SciPy would write."""
    x = np.linspace(0, 20, 201)

    def law(_: float, u: Array) -> Array:
        wide = np.concatenate([u[1:2], u, u[-2:-1]])
        return k["D"] * np.diff(wide, 2) / 0.1**2 + k["r"] * u * (1 - u)

    found = solved(law, np.exp(-(x**2)), table["t"], tolerance, lband=1, uband=1)
    y = np.array([np.interp(np.linspace(1.25, 12.5, 10), x, u) for u in found])
    return {f"seen[{i}]": y[:, i] for i in range(10)}


def doses(table: Table, k: dict[str, float], tolerance: float) -> Table:
    """From jump to jump."""
    (ka, clearance, v1), q, v2 = k.values(), 8, 40
    times, out, state = table["t"], np.zeros(len(table["t"])), np.zeros(3)
    edges = sorted({0.0, 60.0, *(a + b for a in (0, 12, 24, 36) for b in (0, 0.01))})
    for a, b in zip(edges, edges[1:], strict=False):
        rate = 10000.0 if b - a < 0.02 else 0.0
        law = lambda _, s: (
            rate - ka * s[0],
            (ka * s[0] + q * s[2] / v2 - (clearance + q) * s[1]) / v1,
            q * s[1] - q * s[2] / v2,
        )
        inside = (times > a) & (times <= b)
        y = solved(law, state, np.unique([a, *times[inside], b]), tolerance)
        out[inside], state = y[1 : 1 + inside.sum(), 1], y[-1]
    return {"conc": out}


def late_start(table: Table, k: dict[str, float], tolerance: float) -> Table:
    return {"x": solved(lambda _, s: -k["k"] * s, [10], table["t"], tolerance, first=0.0)[:, 0]}


def drain(table: Table, k: dict[str, float], tolerance: float) -> Table:
    """In closed form: empty from the time 2 / a on."""
    return {"x": np.maximum(1 - k["a"] * table["t"] / 2, 0) ** 2}


def doubling(table: Table, k: dict[str, float], tolerance: float) -> Table:
    return {"x": k["a"] ** table["t"]}
