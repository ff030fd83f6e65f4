"""What torch's exporter to ONNX needs to be told. In: the calls of torch code on its way there; out: the same numbers.

torch makes numbers of single precision of every constant of a double program (a tensor it leaves as it is). Its optimiser (onnxscript)
takes a constant within 1e-8 of 0 for 0 and one within 1e-5 of 1 for 1, and leaves out what adds or multiplies it; onnxruntime does so after
rounding it to single precision. What is missing, or has too few digits, is written by `onnx_functions` and `onnx_matrices`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import onnx_functions as functions
from . import onnx_matrices

_ARITHMETIC = {"add", "sub", "rsub", "mul", "div", "true_divide", "gt", "lt", "ge", "le", "eq", "ne", "where", "maximum", "minimum"}
_ARITHMETIC |= {f"__{r}{name}__" for r in ("", "r") for name in ("add", "sub", "mul", "div", "truediv")}
_ARITHMETIC |= {f"__{name}__" for name in ("gt", "lt", "ge", "le", "eq", "ne")}


def _taken_for_another(value: float) -> bool:
    """Whether an optimiser takes a number for 0 or 1 that is neither."""
    return 0 < abs(value) < 2e-8 or 0 < abs(value - 1) < 2e-5


def _filled(shape: Any, value: float, like: torch.Tensor) -> torch.Tensor:
    """A constant; one that would be taken for another comes from a choice that hangs on `like`, though both sides of it are the same."""
    found = torch.tensor(value, dtype=like.dtype, device=like.device)
    if _taken_for_another(value):
        found = torch.where(torch.isnan(like).any(), found, torch.tensor(value, dtype=like.dtype, device=like.device))
    return found.expand(shape)


_REPLACED: dict[Any, Callable[..., Any]] = {
    torch.full_like: lambda like, value: _filled(like.shape, value, like),
    torch.Tensor.new_full: lambda like, shape, value: _filled(shape, value, like),
    torch.linalg.inv_ex: onnx_matrices.inv_ex,
    torch.linalg.det: onnx_matrices.det,
    torch.log1p: functions.log1p,
    torch.expm1: functions.expm1,
    torch.hypot: functions.hypot,
    torch.tan: functions.tan,
    torch.lgamma: functions.lgamma,
    torch.log2: functions.log2,
    torch.log10: functions.log10,
    torch.atan2: functions.atan2,
    torch.remainder: functions.remainder,
    torch.sigmoid: functions.sigmoid,
    torch.special.ndtri: functions.normal_quantile,
    torch.polygamma: functions.polygamma,
}
_REPLACED_IN_DOUBLE: dict[Any, Callable[..., torch.Tensor]] = {
    torch.sinh: functions.sinh,
    torch.cosh: functions.cosh,
    torch.atan: functions.atan,
    torch.asin: functions.asin,
    torch.acos: functions.acos,
    torch.nn.functional.softplus: functions.softplus,
}


class ForOnnx(TorchFunctionMode):
    """Calls as they are to be exported."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """A call."""
        another = _REPLACED.get(func)
        if another is None and args and isinstance(args[0], torch.Tensor) and args[0].dtype == torch.float64:
            another = _REPLACED_IN_DOUBLE.get(func)
        if another is not None:
            # A mode is off within itself; the constants of what stands for the call are to be exact, too.
            with self:
                return another(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in _ARITHMETIC:
            like = next((a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()), None)
            if like is not None:
                exact = like.dtype == torch.float64
                args = tuple(_filled((), a, like) if isinstance(a, float) and (exact or _taken_for_another(a)) else a for a in args)
        return func(*args, **(kwargs or {}))
