"""What is fitted. In: the files of examples/fits; out: cases, each a model's text, a table, options, and the same law for SciPy."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import formulas, systems

EXAMPLES = Path(__file__).parents[2] / "examples"
Array = np.ndarray
Table = dict[str, Array]
Predict = Callable[[Table, dict[str, float], float], dict[str, Array]]
"""From a table, constants and a relative tolerance to predictions, column by column."""


def found(name: str) -> Path:
    """A file of the folder of fits, or of the examples everybody sees first."""
    own = EXAMPLES / "fits" / name
    return own if own.exists() else EXAMPLES / name


@dataclass(frozen=True)
class Case:
    """One fit."""

    name: str
    what: str
    predict: Predict
    """The law by hand."""
    options: dict[str, Any] = field(default_factory=dict)
    """For our `fit`."""
    weights: str | None = None
    """A column of standard deviations."""
    one_scale: bool = False
    """Several columns with one standard deviation; else each has its own."""
    made: Callable[[], Table] | None = None
    """The table, where it is not a file."""
    like: str | None = None
    """The case whose model and table it is, where only options differ."""
    data: str | None = None
    """The name of the table's file, where it is not the model's."""
    within: float = 1e-6
    """How near our constants are to SciPy's, in standard errors; noise-free tables: relatively."""

    errors: float = 3.5
    """Digits the standard errors have in common with SciPy's at least; fewer where the solution jumps within a row."""

    @property
    def model(self) -> str:
        return found(f"{self.like or self.name}.scm").read_text()

    def table(self) -> Table:
        """Columns of numbers; an empty cell is not a number."""
        if self.made is not None:
            return self.made()
        with open(found(f"{self.data or self.like or self.name}.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}

    def start(self) -> dict[str, float]:
        """The declared values of the constants, in their order."""
        words = self.model.replace("(", " ( ").replace(")", " ) ").split()
        return {words[i + 1]: float(words[i + 2]) for i, word in enumerate(words) if word == "param"}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """The declared bounds."""
        ends = {}
        for clause in self.model.split("(param ")[1:]:
            words = clause.split(")")[0].split()
            at = {k: float(words[words.index(k) + 1]) for k in (":min", ":max") if k in words}
            ends[words[0]] = (at.get(":min", -np.inf), at.get(":max", np.inf))
        return ends


CASES = [
    Case("puromycin", "Michaelis-Menten", formulas.puromycin),
    Case("dnase", "logistic in log concentration", formulas.dnase),
    Case("indometh", "two exponentials", formulas.indometh),
    Case("orange", "logistic growth", formulas.orange, {"target": "circumference"}),
    Case("bod", "first-order demand", formulas.bod),
    Case("co2", "asymptotic with an offset", formulas.co2),
    Case("loblolly", "asymptotic growth", formulas.loblolly),
    Case("boxbod", "NIST BoxBOD", formulas.boxbod),
    Case("thurber", "NIST Thurber, ratio of cubics", formulas.thurber),
    Case("enso", "NIST ENSO, three periods", formulas.enso),
    Case("radial-velocity", "Kepler's equation by Newton inside", formulas.radial_velocity, {"sigma": "err"}, weights="err"),
    Case("theophylline", "one compartment, closed form", formulas.theophylline, {"target": "conc"}),
    Case("theophylline-ode", "the same as equations", systems.theophylline, {"time": "Time", "group": "Subject"}, data="theophylline"),
    Case("flu", "SIR, boarding school 1978", systems.flu, {"time": "day"}),
    Case("seir", "SEIR with reported cases", systems.seir, {"time": "t"}),
    Case("lynx-hare", "Lotka-Volterra", systems.lynx_hare, {"time": "year"}),
    Case("oscillators", "three masses, four springs", systems.oscillators, {"time": "t"}, one_scale=True),
    Case("arrhenius", "1,000 short trajectories", systems.arrhenius, {"time": "t", "group": "id"}, made=systems.arrhenius_table),
    Case("van-der-pol-1", "mu = 1", systems.van_der_pol, {"time": "t"}),
    Case("van-der-pol-10", "mu = 10", systems.van_der_pol, {"time": "t"}),
    Case("van-der-pol-100", "mu = 100, stiff", systems.van_der_pol, {"time": "t"}),
    Case("van-der-pol-1000", "mu = 1000, stiff", systems.van_der_pol, {"time": "t"}, errors=2.5),
    Case("robertson", "three reactions, stiff", systems.robertson, {"time": "t"}),
    Case("hodgkin-huxley", "a nerve under current", systems.hodgkin_huxley, {"time": "t"}),
    Case("heat", "50 states, method of lines", systems.heat, {"time": "t"}, one_scale=True),
    Case(
        "heat-rosenbrock",
        "the same by a method for stiff equations, asked for",
        systems.heat,
        {"time": "t", "method": "rosenbrock"},
        like="heat",
        one_scale=True,
    ),
    Case("fisher", "a travelling wave on 201 points", systems.fisher, {"time": "t"}, one_scale=True),
    Case("doses", "four doses: the law jumps with time", systems.doses, {"time": "t"}),
    Case("late-start", "first row after the start", systems.late_start, {"time": "t", "start_time": 0.0}),
    Case("drain", "a solution that ends", systems.drain, {"time": "t"}),
    Case("doubling", "a map with gaps between rows", systems.doubling, {"time": "t"}),
]
