"""What torch's exporter to ONNX needs to be told. In: the calls of torch code on its way there; out: the same numbers.

torch makes numbers of single precision of every constant of a double program (a tensor it leaves as it is), writes log1p as log(1 + x) and
expm1 as e^x - 1, and has no hypot, no lgamma and no tan of doubles. Its optimiser (onnxscript) takes a constant within 1e-8 of 0 for 0 and
one within 1e-5 of 1 for 1, and leaves out what adds or multiplies it; onnxruntime does so after rounding it to single precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .gaps import log_gamma_gap

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


def _tan(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) / torch.cos(x)


_FAR = 40.0
"""From here on Stirling's series has all digits."""
_HALF_LOG_TAU = 0.9189385332046728


def _lgamma(x: torch.Tensor) -> torch.Tensor:
    """By its way from 1 or 2, where it is 0, so that it has its digits next to them; far out Stirling's series; left of 1/2 mirrored. About
    14 digits, next to the zeros left of 0 as many behind the point."""
    below, endless = x < 0.5, torch.isinf(x)
    usual = torch.where(endless, 3.0, torch.where(below, 1 - x, x))
    far = usual > _FAR
    near = torch.where(far, 3.0, usual)
    start = torch.where(near < 1.5, torch.ones_like(near), 2.0)
    large = torch.where(far, usual, 2 * _FAR)
    z = 1 / (large * large)
    tail = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680)))) / large
    found = torch.where(far, (large - 0.5) * torch.log(large) - large + _HALF_LOG_TAU + tail, log_gamma_gap(start, near - start))
    turn = torch.where(below, x - torch.round(x), 0.25)
    mirrored = math.log(math.pi) - torch.log(torch.abs(torch.sin(math.pi * turn))) - found
    return torch.where(endless, math.inf, torch.where(below, mirrored, found))


def _taken_for_another(value: float) -> bool:
    """Whether an optimiser takes a number for 0 or 1 that is neither."""
    return 0 < abs(value) < 2e-8 or 0 < abs(value - 1) < 2e-5


def _filled(shape: Any, value: float, like: torch.Tensor) -> torch.Tensor:
    """A constant; one that would be taken for another comes from a choice that hangs on `like`, though both sides of it are the same."""
    found = torch.tensor(value, dtype=like.dtype, device=like.device)
    if _taken_for_another(value):
        found = torch.where(torch.isnan(like).any(), found, torch.tensor(value, dtype=like.dtype, device=like.device))
    return found.expand(shape)


_REPLACED: dict[Any, Callable[..., torch.Tensor]] = {
    torch.log1p: _log1p,
    torch.expm1: _expm1,
    torch.hypot: _hypot,
    torch.tan: _tan,
    torch.lgamma: _lgamma,
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
            like = next((a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()), None)
            if like is not None:
                exact = like.dtype == torch.float64
                args = tuple(_filled((), a, like) if isinstance(a, float) and (exact or _taken_for_another(a)) else a for a in args)
        return func(*args, **(kwargs or {}))
