"""Programs as PyTorch modules: `compile_scheme`, `compose`, `CompiledModule`."""

from .build import Param, compile_scheme, compose
from .module import CompiledModule, Graph

__all__ = ["CompiledModule", "Graph", "Param", "compile_scheme", "compose"]
