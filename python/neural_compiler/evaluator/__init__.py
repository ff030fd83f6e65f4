"""The paper's evaluators: `DirectModule`, a graph as an `nn.Module`, and `evaluate`, a graph at given values."""

from .direct_module import DirectModule
from .engine import evaluate

__all__ = ["DirectModule", "evaluate"]
