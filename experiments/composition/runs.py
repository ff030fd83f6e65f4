"""The jobs of the composition experiment: one for what is exact, one per seed for the networks."""

from __future__ import annotations

from typing import Any

import torch
from neural_compiler import compile_scheme
from torch import Tensor

from ..common.jobs import Record
from ..common.nets import count, mlp
from ..common.training import Settings, train
from .chains import CHAINS, DEEP, OPERATIONS, by_hand, fused, modules, name

RANGES = {"in": 2.0, "out": 8.0}


def points(half: float, count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.linspace(-half, half, count, dtype=dtype)


def differences(found: Tensor, reference: Tensor) -> dict[str, float]:
    gap = (found.double() - reference.double()).abs()
    return {"mse": gap.square().mean().item(), "worst": gap.max().item()}


def exact(samples: int, deep: bool, seed: int) -> Record:
    """Every chain compiled as one program and stage by stage, beside the same by hand, in both number types.

    The torch backend is held against hand-written torch, the native one against its own stages run one after the other:
    fusing must not change a bit."""
    chains: dict[str, Any] = {}
    for chain in [c for c, _, _ in CHAINS] + ([DEEP] if deep else []):
        found: dict[str, Any] = {"depth": len(chain)}
        one, stages, native = fused(chain, "torch"), modules(chain, "native"), fused(chain, "native")
        for range_name, half in RANGES.items():
            for dtype in (torch.float32, torch.float64):
                x = points(half, samples, dtype)
                hand = by_hand(chain, x)
                staged = x
                for stage in stages:
                    staged = stage(staged)
                label = f"{range_name}.{'f32' if dtype == torch.float32 else 'f64'}"
                found[f"torch.{label}"] = differences(one(x), hand)
                found[f"native.{label}"] = differences(native(x), staged)
                found[f"rounding.{label}"] = _relative(native(x), hand)
        regions = native.graph.to_dict()["regions"]
        found["regions"] = len(regions)
        found["nodes"] = sum(len(region["nodes"]) for region in regions)
        chains[name(chain)] = found
    return {"chains": chains}


def _relative(a: Tensor, b: Tensor) -> float:
    """The largest difference between native functions and torch's, beside the size of the value."""
    return ((a - b).abs() / b.abs().clamp_min(1)).max().item()


def networks(epochs: int, samples: int, seed: int) -> Record:
    """A network 1-32-32-1 for each operation on [-2, 2], then the chains out of networks."""
    generator = torch.Generator().manual_seed(seed)
    x = 4 * torch.rand(samples, 1, generator=generator) - 2
    trained: dict[str, Any] = {}
    losses: dict[str, float] = {}
    curves: dict[str, Any] = {}
    for operation, (_, function) in OPERATIONS.items():
        target = function(x)
        net = mlp((1, 32, 32, 1), "tanh")
        result = train(net, lambda: (net(x) - target).square().mean(), Settings(epochs, 1e-3, cosine=True))
        trained[operation] = net
        losses[operation] = result.losses[-1][1]
        curves[operation] = result.losses
    chains: dict[str, Any] = {}
    with torch.no_grad():
        for chain, _, _ in CHAINS:
            found: dict[str, Any] = {"depth": len(chain)}
            for range_name, half in RANGES.items():
                at = points(half, samples)
                through = at[:, None]
                for part in chain:
                    through = trained[part](through)
                found[range_name] = differences(through[:, 0], by_hand(chain, at))
            chains[name(chain)] = found
        example = CHAINS[4][0]
        at = points(8.0, 161)
        through = at[:, None]
        for part in example:
            through = trained[part](through)
    return {
        "parameters": count(trained["square"]),
        "module_losses": losses,
        "curves": curves,
        "chains": chains,
        "example": {"x": at.tolist(), "true": by_hand(example, at).tolist(), "neural": through[:, 0].tolist()},
        "bounds": _bounds(trained),
    }


def _bounds(trained: dict[str, Any]) -> list[dict[str, float]]:
    """The paper's bound, evaluated on the points of [-2, 2] for the chain sin → square → add_one: error at most Σ ε_i Π L_j.

    ε and L are taken over the interval the values of both chains cover."""
    chain = ("sin", "square", "add_one")
    exact_values, neural_values = points(2.0, 2001), points(2.0, 2001)
    errors: list[float] = []
    slopes: list[float] = []
    with torch.no_grad():
        for part in chain:
            low = min(exact_values.min(), neural_values.min()).item()
            high = max(exact_values.max(), neural_values.max()).item()
            grid = torch.linspace(low, high, 20001)
            function = OPERATIONS[part][1]
            errors.append((trained[part](grid[:, None])[:, 0] - function(grid)).abs().max().item())
            slope = compile_scheme(OPERATIONS[part][0]).grad("x")
            slopes.append(slope(x=grid).abs().max().item())
            exact_values, neural_values = function(exact_values), trained[part](neural_values[:, None])[:, 0]
    seen = (exact_values - neural_values).abs().max().item()
    bound = sum(e * torch.tensor(slopes[i + 1 :]).prod().item() for i, e in enumerate(errors))
    return [{"seen": seen, "bound": bound}]
