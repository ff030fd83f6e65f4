"""What the engine promised. In: records of a suite; out: for each promise and program, the ratio seen and whether it holds.

Most promises are for one thread and f32; those of the code generator are for both number types, one of them for two threads, and fits
are in f64. The engine's own are judged twice: called from Rust, and through the Python package, which pays for the call as every peer in
Python does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Times = dict[str, float]
OURS = ("ours_rust", "ours")


@dataclass(frozen=True)
class Floor:
    """One promise."""

    text: str
    lanes: int | None
    """None: for every size."""
    gradient: bool | None
    """None: for both."""
    needed: float
    """The ratio must be at least this."""
    ratio: Callable[[Times, str], float | None]
    """Of the times of a case and the name of our contender; None where it cannot be formed."""
    ours: tuple[str, ...] = OURS
    dtypes: tuple[str, ...] = ("float32",)


def times_as_fast_as(*peers: str) -> Callable[[Times, str], float | None]:
    """How many times as fast as the best of some peers."""

    def ratio(times: Times, ours: str) -> float | None:
        found = [times[p] for p in peers if p in times]
        return min(found) / times[ours] if found and ours in times else None

    return ratio


def of_microseconds(limit: float) -> Callable[[Times, str], float | None]:
    """How often the time fits into a limit."""
    return lambda times, ours: limit * 1e-6 / times[ours] if ours in times else None


FLOORS = (
    Floor("batch 1 from Rust within 0.3 µs", 1, False, 1.0, of_microseconds(0.3), ("ours_rust",)),
    Floor("values at 10^4: as fast as heyoka", 10**4, False, 1.0, times_as_fast_as("heyoka_cfunc")),
    Floor("values at 10^4: 3x as fast as torch eager", 10**4, False, 3.0, times_as_fast_as("eager")),
    Floor("gradients at 10^4: as fast as heyoka", 10**4, True, 1.0, times_as_fast_as("heyoka_cfunc")),
    Floor("gradients at 10^4: 8x as fast as torch eager", 10**4, True, 8.0, times_as_fast_as("eager")),
    Floor("at 10^4 within 3x of the native loop", 10**4, None, 1 / 3, times_as_fast_as("native")),
    Floor("at 10^6 within 2x of the better of jax and heyoka", 10**6, None, 1 / 2, times_as_fast_as("jax_jit", "heyoka_cfunc")),
)


BOTH = ("float32", "float64")
RUST = ("ours_rust",)
COMPUTE_BOUND = ("chain_250", "gaussian", "pendulum", "soft_clamp", "newton20")
"""Programs that compute longer than they wait for memory."""

CODE_FLOORS = (
    Floor("generated code, values at 10^4: 2x as fast as heyoka", 10**4, False, 2.0, times_as_fast_as("heyoka_cfunc"), RUST, BOTH),
    Floor("generated code, gradients at 10^4: 2x as fast as heyoka", 10**4, True, 2.0, times_as_fast_as("heyoka_cfunc"), RUST, BOTH),
    Floor(
        "generated code at 10^4: never slower than jax or torch.compile",
        10**4,
        None,
        1.0,
        times_as_fast_as("jax_jit", "compile"),
        RUST,
        BOTH,
    ),
    Floor("generated code at 10^4: within 1.3x of the native loop", 10**4, None, 1 / 1.3, times_as_fast_as("native"), RUST, BOTH),
    Floor(
        "generated code at 10^6: no slower than the best peer, within 5 %",
        10**6,
        None,
        0.95,
        times_as_fast_as("jax_jit", "compile", "heyoka_cfunc", "numexpr_evaluate", "eager", "casadi_map"),
        RUST,
        BOTH,
    ),
)
"""What generated code promised beyond the engine."""

MODULE_FLOORS = (
    Floor("module, values at 1: at most 0.6x the time of eager", 1, False, 1 / 0.6, times_as_fast_as("eager"), ("module",)),
    Floor("module, values at 10^4: at most 0.4x the time of eager", 10**4, False, 1 / 0.4, times_as_fast_as("eager"), ("module",)),
    Floor("module, forward and backward at 1: at most 0.7x the time of eager", 1, True, 1 / 0.7, times_as_fast_as("eager"), ("module",)),
    Floor(
        "module, forward and backward at 10^4: at most 0.55x the time of eager",
        10**4,
        True,
        1 / 0.55,
        times_as_fast_as("eager"),
        ("module",),
    ),
)
"""Of programs of five operations or more. A program without a gradient (comparisons alone) has no backward pass to compare."""

HYBRID_FLOORS = (
    Floor("training step of a hybrid model: no slower than with physics by hand", None, True, 1.0, times_as_fast_as("eager"), ("module",)),
)
"""Of the paper's patterns, from its windows of six to its 10^4 samples."""

FIT_FLOORS = (
    Floor(
        "fit of 10^4 points: 10x as fast as curve_fit without a Jacobian",
        10**4,
        False,
        10.0,
        times_as_fast_as("scipy_curve_fit"),
        ("ours", "ours_many_starts"),
        ("float64",),
    ),
    Floor(
        "fit of 10^4 points: 100x as fast as 3,000 epochs of Adam",
        10**4,
        False,
        100.0,
        times_as_fast_as("torch_adam"),
        ("ours", "ours_many_starts"),
        ("float64",),
    ),
    Floor(
        "Lotka-Volterra: 20x as fast as multiple shooting in PyTorch",
        121,
        False,
        20.0,
        times_as_fast_as("torch_shooting"),
        ("ours", "ours_many_starts"),
        ("float64",),
    ),
    Floor(
        "Lotka-Volterra: as fast as diffrax under jit, compiling included",
        121,
        False,
        1.0,
        times_as_fast_as("diffrax_jit"),
        ("ours", "ours_many_starts"),
        ("float64",),
    ),
)

BY_SUITE = {
    "batches": FLOORS + CODE_FLOORS,
    "module": MODULE_FLOORS,
    "hybrid": HYBRID_FLOORS,
    "scaling": (),
    "linear": (),
    "fit": FIT_FLOORS,
}


@dataclass(frozen=True)
class Verdict:
    """A promise held against one program."""

    floor: str
    program: str
    gradient: bool
    ours: str
    ratio: float
    needed: float
    dtype: str = "float32"
    lanes: int | None = None
    """Where the promise does not say it."""

    @property
    def met(self) -> bool:
        """Whether it holds."""
        return self.ratio >= self.needed

    def record(self) -> dict[str, Any]:
        """For bench.json."""
        return asdict(self) | {"met": self.met}


def times_of(record: dict[str, Any]) -> Times:
    """Seconds per call of the contenders that have a time."""
    return {name: c["best"] for name, c in record.get("contenders", {}).items() if "best" in c}


def judge(records: list[dict[str, Any]], suite: str) -> list[Verdict]:
    """Every promise against every program it speaks of."""
    verdicts = []
    for floor in BY_SUITE[suite]:
        for record in records:
            wanted = record["threads"] == 1 and record["dtype"] in floor.dtypes and floor.lanes in (None, record["lanes"])
            if not wanted or floor.gradient not in (None, record["gradient"]):
                continue
            for ours in floor.ours:
                ratio = floor.ratio(times_of(record), ours)
                if ratio is not None:
                    verdicts.append(
                        Verdict(
                            floor.text,
                            record["program"],
                            record["gradient"],
                            ours,
                            ratio,
                            floor.needed,
                            record["dtype"],
                            record["lanes"] if floor.lanes is None else None,
                        )
                    )
    return verdicts + (two_threads(records) if suite == "batches" else [])


def two_threads(records: list[dict[str, Any]]) -> list[Verdict]:
    """Whether a second thread pays where the work is computing."""
    key = lambda r: (r["program"], r["gradient"], r["dtype"], r["lanes"])
    one = {key(r): times_of(r) for r in records if r["threads"] == 1}
    found = []
    for record in records:
        alone, both = one.get(key(record), {}).get("ours_rust"), times_of(record).get("ours_rust")
        if record["threads"] == 2 and record["lanes"] == 10**6 and record["program"] in COMPUTE_BOUND and alone and both:
            found.append(
                Verdict(
                    "two threads at 10^6: 1.7x one where the work is computing",
                    record["program"],
                    record["gradient"],
                    "ours_rust",
                    alone / both,
                    1.7,
                    record["dtype"],
                )
            )
    return found
