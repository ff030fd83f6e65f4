"""The eight operations, the nine chains of the paper's table, and what the paper prints for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import torch
from neural_compiler import CompiledModule, compile_scheme
from torch import Tensor

OPERATIONS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "square": ("(* x x)", lambda x: x * x),
    "cube": ("(* x (* x x))", lambda x: x * (x * x)),
    "sin": ("(sin x)", torch.sin),
    "exp": ("(exp x)", torch.exp),
    "add_one": ("(+ x 1)", lambda x: x + 1),
    "negate": ("(- 0 x)", lambda x: 0 - x),
    "double": ("(* 2 x)", lambda x: 2 * x),
    "sqrt_abs": ("(sqrt (+ (* x x) 0.01))", lambda x: torch.sqrt(x * x + 0.01)),
}

# Chain, then the paper's errors of the neural chain on [-2, 2] and on [-8, 8].
CHAINS: list[tuple[tuple[str, ...], str, str]] = [
    (("square", "add_one"), "1.2e+0", "7.7e+2"),
    (("sin", "square"), "3.2e-1", "9.0e-1"),
    (("square", "add_one", "cube"), "1.4e+3", "5.9e+9"),
    (("exp", "negate", "add_one"), "2.8e+0", "2.8e+5"),
    (("sin", "square", "add_one", "sqrt_abs"), "3.0e-1", "2.3e-1"),
    (("square", "double", "sin", "add_one"), "1.3e+0", "1.7e+0"),
    (("sin", "exp", "negate", "add_one", "square"), "9.3e-1", "1.1e+0"),
    (("square", "add_one", "cube", "negate", "add_one"), "1.5e+3", "5.9e+9"),
    (("negate", "add_one", "square", "double", "sin", "add_one"), "1.3e+0", "1.8e+0"),
]

DEEP = tuple(("negate", "add_one", "sqrt_abs", "sin")[i % 4] for i in range(250))
"""A chain much deeper than the paper's, whose values stay in range."""


def name(chain: tuple[str, ...]) -> str:
    return " → ".join(chain) if len(chain) <= 6 else f"{' → '.join(chain[:3])} → … ({len(chain)})"


def modules(chain: tuple[str, ...], backend: str) -> list[CompiledModule]:
    return [compile_scheme(OPERATIONS[part][0], backend=backend) for part in chain]


def fused(chain: tuple[str, ...], backend: str) -> CompiledModule:
    """The chain as one program."""
    return reduce(lambda a, b: a >> b, modules(chain, backend))


def by_hand(chain: tuple[str, ...], x: Tensor) -> Tensor:
    for part in chain:
        x = OPERATIONS[part][1](x)
    return x
