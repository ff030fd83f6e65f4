"""What torch's exporter to ONNX needs to be told. In: the calls of torch code on its way there; out: the same numbers.

torch makes numbers of single precision of every constant of a double program (a tensor it leaves as it is), writes log1p as log(1 + x) and
expm1 as e^x - 1, and has no hypot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_ARITHMETIC = {"add", "sub", "rsub", "mul", "div", "true_divide", "gt", "lt", "ge", "le", "eq", "ne", "where", "maximum", "minimum"}
_ARITHMETIC |= {f"__{r}{name}__" for r in ("", "r") for name in ("add", "sub", "mul", "div", "truediv")}
_ARITHMETIC |= {f"__{name}__" for name in ("gt", "lt", "ge", "le", "eq", "ne")}


def _log1p(x: torch.Tensor) -> torch.Tensor:
    """W. Kahan's: what 1 + x is off by, log is off by as much."""
    above = 1 + x
    lost = (above == 1) | torch.isinf(above) | (above <= 0)
    usual = torch.where(lost, 2.0, above)
    found = torch.log(usual) * (torch.where(lost, 1.0, x) / (usual - 1))
    return torch.where(above == 1, x, torch.where(lost, torch.log(above), found))


def _expm1(x: torch.Tensor) -> torch.Tensor:
    """W. Kahan's, of e^x - 1 and the logarithm of the rounded e^x; far from 0 the difference itself."""
    near = x.abs() < 1
    place = torch.where(near, x, 0.5)
    grown = torch.exp(place)
    same = grown == 1
    usual = torch.where(same, 2.0, grown)
    inner = torch.where(same, place, (usual - 1) * (place / torch.log(usual)))
    return torch.where(near, inner, torch.exp(x) - 1)


def _hypot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    p, q = x.abs(), y.abs()
    large, small = torch.maximum(p, q), torch.minimum(p, q)
    alone = (large == 0) | torch.isinf(large)
    ratio = small / torch.where(alone, 1.0, large)
    return torch.where(alone, large, large * torch.sqrt(1 + ratio * ratio))


def _filled(shape: Any, value: float, like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(value, dtype=like.dtype, device=like.device).expand(shape)


_REPLACED: dict[Any, Callable[..., torch.Tensor]] = {
    torch.log1p: _log1p,
    torch.expm1: _expm1,
    torch.hypot: _hypot,
    torch.full_like: lambda like, value: _filled(like.shape, value, like),
    torch.Tensor.new_full: lambda like, shape, value: _filled(shape, value, like),
}


class ForOnnx(TorchFunctionMode):
    """Calls as they are to be exported."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """A call."""
        if func in _REPLACED and not kwargs:
            # A mode is off within itself; the constants of what stands for the call are to be exact, too.
            with self:
                return _REPLACED[func](*args)
        if getattr(func, "__name__", "") in _ARITHMETIC:
            like = next((a for a in args if isinstance(a, torch.Tensor) and a.dtype == torch.float64), None)
            if like is not None:
                args = tuple(_filled((), a, like) if isinstance(a, float) else a for a in args)
        return func(*args, **(kwargs or {}))
