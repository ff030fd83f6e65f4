"""Programs as PyTorch modules: `compile_scheme`, `compose`, `CompiledModule`; `odeint` solves differential equations with them."""

from .build import Param, compile_scheme, compose
from .integrate import odeint
from .module import CompiledModule, Graph

__all__ = ["CompiledModule", "Graph", "Param", "compile_scheme", "compose", "odeint"]
