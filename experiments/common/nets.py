"""The networks the physics is compared with, and the physics written by hand.

A physics module is called with named inputs, compiled or not, so that one training loop serves all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import neural_compiler
import torch
from torch import Tensor, nn

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


def mlp(sizes: Sequence[int], activation: str, zero_last: bool = False) -> nn.Sequential:
    """Linear layers of these sizes with the activation between them."""
    layers: list[nn.Module] = []
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        layers += [nn.Linear(before, after)] + ([ACTIVATIONS[activation]()] if i < len(sizes) - 2 else [])
    if zero_last:
        nn.init.zeros_(layers[-1].weight)  # type: ignore[arg-type]
        nn.init.zeros_(layers[-1].bias)  # type: ignore[arg-type]
    return nn.Sequential(*layers)


def count(model: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def constants(start: Mapping[str, float], dtype: torch.dtype = torch.float32) -> dict[str, nn.Parameter]:
    return {name: nn.Parameter(torch.tensor(value, dtype=dtype)) for name, value in start.items()}


def compiled(
    source: str, start: Mapping[str, float], backend: str, inputs: Any = None, dtype: torch.dtype = torch.float32
) -> neural_compiler.CompiledModule:
    """The program with its constants to learn, of the type of the data."""
    return neural_compiler.compile_scheme(source, inputs, constants(start, dtype), backend=backend)


class HandCoded(nn.Module):
    """The same equation as a Python function of tensors."""

    def __init__(self, function: Callable[..., Tensor], start: Mapping[str, float], dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.function = function
        self.names = tuple(start)
        for name, value in constants(start, dtype).items():
            self.register_parameter(name, value)

    def forward(self, **inputs: Tensor) -> Tensor:
        return self.function(**{name: self._parameters[name] for name in self.names}, **inputs)


def physics(kind: str, source: str, function: Callable[..., Tensor], start: Mapping[str, float], inputs: Any = None) -> nn.Module:
    """An equation as `torch` operations made by the compiler, as a `native` program, or written by `hand`."""
    if kind == "hand":
        return HandCoded(function, start)
    return compiled(source, start, kind, inputs)


def learned(model: nn.Module) -> dict[str, float]:
    """The values of the scalar parameters, by the last part of their name."""
    return {name.split(".")[-1]: p.item() for name, p in model.named_parameters() if p.numel() == 1 and p.dim() == 0}
