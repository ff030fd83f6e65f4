"""Compares the native backend with torch: values by the kernels of each, derivatives by the program's own rules and by autograd.

In: a program and where to evaluate it; out: nothing, or a failed assertion that names the program. The two share no arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import neural_compiler as nc
import numpy as np
import torch
from neural_compiler.fx import lower

DTYPES = (torch.float64, torch.float32)


def agree(
    source: str, values: Mapping[str, Any], sizes: Mapping[str, Any] | None = None, rounding: float = 64, second: bool = False
) -> None:
    """Value and gradient (and Hessian-vector product, if `second`) agree within `rounding` units in the last place of the largest."""
    shapes = {name: (sizes or {}).get(name) for name in values}
    program = nc.compile(source, inputs=shapes)
    for dtype in DTYPES:
        given = [torch.tensor(v, dtype=dtype) for v in values.values()]
        arrays = [g.numpy() for g in given]
        module = lower(program.graph_json())
        xs = [g.clone().requires_grad_() for g in given]
        (value,) = module(*xs)
        expected = torch.from_numpy(np.asarray(program(*arrays)))
        assert value.dtype == dtype
        close(value, expected, rounding, source)
        if expected.ndim and expected.shape != torch.broadcast_shapes(
            *(a.shape[: a.ndim - rank(s)] for a, s in zip(given, shapes.values()))
        ):
            source_scalar = f"(total {source})" if "define" not in source else None
            if source_scalar is None:
                continue
            program = nc.compile(source_scalar, inputs=shapes)
            xs = [g.clone().requires_grad_() for g in given]
            (value,) = lower(program.graph_json())(*xs)
        slopes = gradient(value, xs)
        expected_slopes = listed(program.grad(*values)(*arrays), len(values))
        for name, slope, want, x in zip(values, slopes, expected_slopes, xs):
            # An input shared by a batch has the sum of its lanes' derivatives in torch, one per lane in the native program.
            close(slope, summed(torch.from_numpy(np.asarray(want)), x.shape), rounding, f"d/d{name} of {source}")
        # The derivative program, lowered itself: its tape runs on torch.
        derived = lower(program.grad(*values).graph_json())(*given)
        for name, found, want in zip(values, derived, expected_slopes):
            close(found, torch.from_numpy(np.asarray(want)), rounding, f"program of d/d{name} of {source}")
        if second and dtype == torch.float64:
            hessians(program, xs, value, list(values), rounding, source)


def hessians(program: nc.Program, xs: list[torch.Tensor], value: torch.Tensor, names: Sequence[str], rounding: float, source: str) -> None:
    """Second derivatives of scalar inputs, pair by pair."""
    first = torch.autograd.grad(value.sum(), xs, create_graph=True, allow_unused=True) if value.requires_grad else [None] * len(xs)
    blocks = program.hessian(*(x.detach().numpy() for x in xs), wrt=names)
    rows = ((blocks,),) if len(names) == 1 else blocks
    for i, slope in enumerate(first):
        second = gradient(slope, xs) if slope is not None and slope.requires_grad else [torch.zeros_like(x) for x in xs]
        for j, found in enumerate(second):
            want = torch.from_numpy(np.asarray(rows[i][j]))
            close(found, summed(want, xs[j].shape), 64 * rounding, f"d2/d{names[i]}d{names[j]} of {source}")


def gradient(value: torch.Tensor, xs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Derivatives of the sum, zeros where there is no dependence."""
    if not value.requires_grad:
        return [torch.zeros_like(x) for x in xs]
    found = torch.autograd.grad(value.sum(), xs, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, xs)]


def summed(value: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The sum over batch axes that a shape does not have."""
    return value.sum_to_size(shape)


def rank(shape: Any) -> int:
    return 0 if shape is None else 1 if isinstance(shape, int) else len(shape)


def listed(found: Any, count: int) -> list[Any]:
    return [found] if count == 1 else list(found)


def close(found: torch.Tensor, expected: torch.Tensor, rounding: float, what: str) -> None:
    """Equal up to rounding relative to the largest finite number there is, and alike where not finite."""
    found = found.detach()
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    finite = expected[torch.isfinite(expected)].abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    tolerance = rounding * torch.finfo(expected.dtype).eps
    same = torch.isclose(found, expected, rtol=tolerance, atol=tolerance * min(scale, 1.0), equal_nan=True)
    assert same.all(), (what, found.tolist(), expected.tolist())
