"""What the benchmark compares. One file per contender with `LABEL`, `prepare(case)` and, where it can tell, `version()`.

In: a `Case` (program, data, what to compute, how many threads). Out: `Prepared`, something that can be run and repeated, or the
exception `NotSupported` with the reason. Importing a contender's file imports its library and nothing else happens; one that
cannot be imported is skipped by name.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from catalogue import Program

NAMES = ("ours_rust", "ours", "native", "eager", "compile", "jax_jit", "heyoka_cfunc", "numexpr_evaluate", "casadi_map")
"""Contenders in the order of the tables."""


class NotSupported(Exception):
    """This contender cannot do this case; the text says why."""


@dataclass(frozen=True)
class Case:
    """One cell of the table."""

    program: Program
    columns: np.ndarray
    """One row per input."""
    gradient: bool
    """Value and gradient with respect to every input, or the value alone."""
    threads: int

    @property
    def lanes(self) -> int:
        """The size of the batch."""
        return self.columns.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """f32 or f64."""
        return self.columns.dtype

    @property
    def results(self) -> int:
        """How many columns come out."""
        return 1 + len(self.program.inputs) if self.gradient else 1


@dataclass(frozen=True)
class Prepared:
    """A contender, compiled and warm."""

    run: Callable[[], Any]
    """Computes once and waits until it is done."""
    results: Callable[[Any], list[np.ndarray]] | None
    """Of what `run` gave: the value, then the derivatives in the order of the inputs. Not timed. None: it has no right result."""
    repeat: Callable[[int], None] | None = None
    """Computes so many times without Python in between, where the contender is no Python library."""


class Namespace:
    """Functions the formulas of the catalogue use, by default those of a module with NumPy's names."""

    less = staticmethod(operator.lt)
    greater = staticmethod(operator.gt)
    at_least = staticmethod(operator.ge)

    def __init__(self, module: Any, number: Callable[[float], Any]) -> None:
        self._module = module
        self._constant = number
        self._constants: dict[float, Any] = {}

    def number(self, value: float) -> Any:
        """A constant of the case's type, made once."""
        if value not in self._constants:
            self._constants[value] = self._constant(value)
        return self._constants[value]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        setattr(self, name, found)
        return found


def load(name: str) -> tuple[ModuleType | None, str]:
    """A contender's file and its version, or None and why it is not there."""
    try:
        module = importlib.import_module(f"peers.{name}")
    except (ImportError, OSError) as error:
        return None, str(error).splitlines()[0]
    return module, module.version()
