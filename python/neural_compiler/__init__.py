"""Scientific equations as text, compiled into exact, differentiable programs.

>>> import neural_compiler as nc
>>> energy = nc.compile("(* 0.5 m (square v))")
>>> float(energy(m=2.0, v=3.0))
9.0

`compile`, `fit`, `predict` and `simulate` need NumPy only. With PyTorch installed, `compile_scheme` gives the same program as an
`nn.Module`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ._native import __version__
from .errors import CompileError, Diagnostic, EvaluationError, FitError
from .files import linked
from .fitting import Estimate, FitResult, fit, predict, simulate
from .operations import Operation, operations
from .program import Program, compile
from .threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from .nn import CompiledModule, compile_scheme, compose, odeint

__all__ = [
    "CompileError",
    "CompiledModule",
    "Diagnostic",
    "Estimate",
    "EvaluationError",
    "FitError",
    "FitResult",
    "Operation",
    "Program",
    "__version__",
    "compile",
    "compile_scheme",
    "compose",
    "fit",
    "get_num_threads",
    "linked",
    "odeint",
    "operations",
    "predict",
    "set_num_threads",
    "simulate",
]

_NEEDS_TORCH = {"CompiledModule", "compile_scheme", "compose", "odeint"}
if find_spec("torch") is None:
    __all__ = [name for name in __all__ if name not in _NEEDS_TORCH]


def __getattr__(name: str) -> Any:
    # PyTorch takes a second to import and need not be there: only its users pay.
    if name in _NEEDS_TORCH:
        try:
            from . import nn
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] != "torch":
                raise
            # An AttributeError, so that hasattr is False.
            raise AttributeError(f"neural_compiler.{name} needs PyTorch, which is not installed: pip install torch") from error
        return getattr(nn, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
