"""Jobs that Lotka-Volterra and the pendulum both have. In: the experiment's module of runs; out: jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .jobs import Job, Record
from .pinn import RELEASED, STATED, TUNED

EPOCHS = 3_000


def epochs(quick: bool) -> int:
    """Of what only has to run, when it has to be quick."""
    return 20 if quick else EPOCHS


class Plan:
    """The jobs of one seed, gathered row by row."""

    def __init__(self, seed: int) -> None:
        self.jobs: list[Job] = []
        self._seed = seed

    def add(self, row: str, function: Callable[..., Record], table: str = "models", **arguments: Any) -> None:
        self.jobs.append(Job(table, row, function, arguments, self._seed))

    def add_learned(self, runs: Any, quick: bool) -> None:
        """Models that are told nothing, or the law only as a penalty: PINNs and networks."""
        some = epochs(quick)
        self.add("PINN, stated (S)", runs.pinn, epochs=some, **STATED)
        self.add("PINN, released (R)", runs.pinn, epochs=some, **RELEASED)
        self.add("PINN, tuned (ours)", runs.pinn, epochs=some, **{**TUNED, "finish": 10 if quick else 1_000})
        self.add("MLP", runs.network, epochs=some)
        self.add("neural ODE", runs.neural_ode, epochs=some)


def with_cost(runs: Any, models: Callable[[bool, int], list[Job]], quick: bool, seeds: range) -> list[Job]:
    """The models of every seed, and what an epoch of them costs."""
    cost = Job("cost", "cost", runs.cost, {"rounds": 5 if quick else 40, "steps": 2 if quick else 5})
    return [job for seed in seeds for job in models(quick, seed)] + [cost]
