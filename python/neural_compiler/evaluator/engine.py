"""A graph at given values. In: a graph, numbers or tensors; out: a number, or a tensor for a vector or matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..compiler import ComputeGraph
from .direct_module import DirectModule


def evaluate(
    graph: ComputeGraph, inputs: Mapping[str, Any] | None = None, max_iter: int | None = None, max_depth: int | None = None
) -> float | torch.Tensor:
    """Evaluates a graph. Python numbers alone are computed with in 64 bits; tensors decide the type otherwise.

    `max_iter` and `max_depth` bound the rounds of a loop and the depth of recursion (see `DirectModule`).

    >>> from neural_compiler.compiler import compile_scheme
    >>> evaluate(compile_scheme("(* 0.5 (dot v v))", inputs={"v": None}), {"v": torch.tensor([3.0, 4.0])})
    12.5
    """
    given = dict(inputs or {})
    for name in graph.input_names:
        if name not in given:
            raise ValueError(f"Missing input: {name}")
    plain = not any(isinstance(given[n], torch.Tensor) for n in graph.input_names)
    if plain and max_iter is None and max_depth is None:
        result = torch.as_tensor(graph.on_numbers(*(given[n] for n in graph.input_names)))
    else:
        result = DirectModule(graph, max_iter, max_depth)._run(given, torch.float64 if plain else None)
    if result.dim() == 0:
        return float(result)
    return result.to(torch.get_default_dtype()) if plain else result
