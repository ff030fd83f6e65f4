"""How much energy learned laws gain or lose: a net for the energy of two bodies, whole or its potential part alone, beside a plain net for
their law, all trained on the same rates of change and run for a hundred times as long as the trajectories they were trained on; and the
known energies for as long: `python examples/hamiltonian/compare.py [known potential plain whole]`. Its figures: docs/energies.md."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import neural_compiler as nc
import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
Array = NDArray[np.float64]
SPAN = 3.0
STATES = "xyuv"
START = {"x": 1.0, "y": 0.0, "u": 0.0, "v": 1.05}
"""Within what the nets are trained on, and none of it."""


def rates(s: Array) -> Array:
    cube = np.hypot(s[..., 0], s[..., 1]) ** 3
    return np.stack([s[..., 2], s[..., 3], -s[..., 0] / cube, -s[..., 1] / cube], -1)


def energy(s: Array) -> Array:
    return (s[..., 2] ** 2 + s[..., 3] ** 2) / 2 - 1 / np.hypot(s[..., 0], s[..., 1])


def orbits(count: int, seed: int) -> Array:
    """Orbits near circles of several sizes, as in Greydanus, Dzamba and Yosinski (2019)."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        radius, turn, speed = random.uniform(0.7, 1.4), random.uniform(0, 2 * np.pi), random.uniform(0.9, 1.1)
        v = speed * radius**-0.5
        start = {"x": radius * np.cos(turn), "y": radius * np.sin(turn), "u": -v * np.sin(turn), "v": v * np.cos(turn)}
        path = nc.simulate(HERE / "two-body.scm", np.linspace(0, SPAN, 25), rtol=1e-10, values=start)
        found.append(np.stack([path[name] for name in STATES], -1))
    return np.array(found)


HAMILTON = "(derive x (d E u)) (derive y (d E v)) (derive u (- (d E x))) (derive v (- (d E y)))"
LAWS = {
    "potential": f"(define E (+ (/ (+ (square u) (square v)) 2) (V x y))) {HAMILTON}",
    "plain": "(define rate (f x y u v)) (derive x (ref rate 0)) (derive y (ref rate 1)) (derive u (ref rate 2)) (derive v (ref rate 3))",
    "whole": f"(define E (H x y u v)) {HAMILTON}",
}
"""The trained nets as laws of motion."""


def trained(kind: str, table: dict[str, Array], folder: Path) -> Path:
    """Trains a net, and writes it as a model with states."""
    text = (HERE / f"two-body-{kind}.scm").read_text()
    before = perf_counter()
    found = nc.fit(text, table, target="rate")
    found.save(folder / f"{kind}.scm")
    print(f"{kind}: rates to {found.rmse:.2g}, {perf_counter() - before:.0f} s")
    net = next(line for line in text.splitlines() if line.startswith("(net"))
    (folder / f"{kind}.scm").write_text("\n".join([net, *(f"(state {name} 0)" for name in STATES), LAWS[kind]]))
    return folder / f"{kind}.scm"


def tell(kind: str, found: Array) -> None:
    print(f"{kind}: the energy {found[0]:.6f} changes by at most {np.abs(found - found[0]).max():.2g}", flush=True)


if __name__ == "__main__":
    kinds = sys.argv[1:] or ["known", *LAWS]
    times = np.linspace(0, 100 * SPAN, 3001)
    if "known" in kinds:
        for name in ("two-body", "double-pendulum"):
            tell(f"{name}, known", nc.simulate(HERE / f"{name}.scm", times, rtol=1e-11)["energy"])
    states = orbits(60, 1).reshape(-1, 4)
    noise = np.random.default_rng(2).normal(0, 1e-3, states.shape)
    table = {**dict(zip(STATES, states.T)), **{f"rate[{k}]": column for k, column in enumerate((rates(states) + noise).T)}}
    with TemporaryDirectory() as folder:
        for kind in (k for k in kinds if k in LAWS):
            path = nc.simulate(trained(kind, table, Path(folder)), times, rtol=1e-9, values=START)
            tell(kind, energy(np.stack([path[name] for name in STATES], -1)))
