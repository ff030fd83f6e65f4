"""Programs as PyTorch modules: `compile_scheme`, `compose`, `CompiledModule`; `odeint` solves differential equations with them."""

from .build import Param, compile_scheme, compose
from .module import CompiledModule, Graph
from .integrate import odeint

__all__ = ["CompiledModule", "Graph", "Param", "compile_scheme", "compose", "odeint"]
