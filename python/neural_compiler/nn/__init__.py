"""Programs as PyTorch modules: `compile_scheme`, `compose`, `CompiledModule`; `odeint` solves differential equations with them."""

# Registers the operation that exported graphs are made of: a process that reads one has compiled nothing yet.
from . import library as _library  # noqa: F401
from .build import Param, compile_scheme, compose
from .integrate import odeint
from .module import CompiledModule, Graph

__all__ = ["CompiledModule", "Graph", "Param", "compile_scheme", "compose", "odeint"]
