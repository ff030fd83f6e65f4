"""Scientific equations as text, compiled into exact, differentiable programs.

>>> import neural_compiler as nc
>>> energy = nc.compile("(* 0.5 m (square v))")
>>> float(energy(m=2.0, v=3.0))
9.0

`compile`, `fit`, `compare`, `predict`, `simulate` and `refine` need NumPy only. With PyTorch installed, `compile_scheme` gives the same
program as an `nn.Module`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ._native import __version__
from .errors import CompileError, Diagnostic, EvaluationError, FitError, LibraryError, TableError
from .files import linked
from .fitting import Comparison, Estimate, FitResult, Hypothesis, Refinement, compare, fit, predict, refine, simulate
from .library import Found, Library, LibraryModule
from .operations import Operation, operations
from .program import Program, compile
from .threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from . import grow, spread
    from .nn import CompiledModule, compile_scheme, compose, odeint

__all__ = [
    "Comparison",
    "CompileError",
    "CompiledModule",
    "Diagnostic",
    "Estimate",
    "EvaluationError",
    "FitError",
    "FitResult",
    "Found",
    "Hypothesis",
    "Library",
    "LibraryError",
    "LibraryModule",
    "Operation",
    "Program",
    "Refinement",
    "TableError",
    "__version__",
    "compare",
    "compile",
    "compile_scheme",
    "compose",
    "fit",
    "get_num_threads",
    "grow",
    "linked",
    "odeint",
    "operations",
    "predict",
    "refine",
    "set_num_threads",
    "simulate",
    "spread",
]

_MODULES = {"grow", "spread"}
_NEEDS_TORCH = {"CompiledModule", "compile_scheme", "compose", "grow", "odeint"}
if find_spec("torch") is None:
    __all__ = [name for name in __all__ if name not in _NEEDS_TORCH]


def __getattr__(name: str) -> Any:
    # PyTorch takes a second to import and need not be there: only its users pay.
    if name in _NEEDS_TORCH | _MODULES:
        try:
            found = import_module("." + name if name in _MODULES else ".nn", __name__)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] != "torch":
                raise
            # An AttributeError, so that hasattr is False.
            raise AttributeError(f"neural_compiler.{name} needs PyTorch, which is not installed: pip install torch") from error
        return found if name in _MODULES else getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
