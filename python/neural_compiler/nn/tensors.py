"""Arguments of a call as tensors of one type. In: what the caller gave; out: tensors, the type to compute in and that of the results.

Types are promoted by PyTorch's rules, with one difference: no whole number is rounded to fit. Tensors with axes decide before those
without, and these before Python's numbers, which follow. Whole numbers of 32 and 64 bits count as float64, shorter ones follow; of
whole numbers alone the shorter ones become the default type. float16 and bfloat16 are computed in float32. Whole numbers beyond 2^53, which
no float64 holds, are refused; in compiled and exported graphs by an assertion; under other tracers and transforms nothing looks at them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..masks import unmasked

_HALVES = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float32, torch.float64, *_HALVES)
_SHORT = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16)
"""Whole numbers that every float32 holds."""
_EXACT = 2**53
"""float64 holds whole numbers up to here."""
_BEYOND = "has whole numbers beyond 2^53, which float64 does not hold: subtract an offset first"


def as_tensor(name: str, value: Any) -> Tensor:
    """A tensor, a number, or what PyTorch makes a tensor of; Python's numbers in float64, so that nothing is lost before the type is
    known."""
    if isinstance(value, Tensor):
        return _dense(name, value)
    unmasked(f"the input `{name}`", value)
    try:
        found = torch.as_tensor(native(value))
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        if _overflows(value):
            kind = "a whole number" if isinstance(value, int) else f"a {type(value).__name__} with a whole number"
            raise TypeError(f"the input `{name}` is {kind} that is too large for float64, beyond 1.8e308") from error
        if isinstance(value, (list, tuple)):
            advice = "pad its rows to one length, or call once for each" if _ragged(value) else "it holds something that is no number"
            raise TypeError(f"the input `{name}` is a {type(value).__name__} that is no array of numbers: {advice}") from error
        held = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        raise TypeError(f"the input `{name}` is a tensor or a number, not {type(value).__name__}{held}") from error
    if not _weak(value) or found.dtype.is_complex:
        return _dense(name, found)
    return torch.as_tensor(value, dtype=torch.float64)


def native(value: Any) -> Any:
    """The value; an array that runs backward, or whose numbers have their bytes in another order, as a copy that PyTorch takes."""
    if not isinstance(value, np.ndarray) or (value.dtype.isnative and all(s >= 0 for s in value.strides)):
        return value
    return np.array(value, value.dtype.newbyteorder("="), order="C")


def _weak(value: Any) -> bool:
    """Whether a value has no type of its own."""
    return isinstance(value, (bool, int, float, list, tuple))


def _overflows(value: Any) -> bool:
    """Whether a whole number is there that is larger than every float."""
    if isinstance(value, (list, tuple)):
        return any(map(_overflows, value))
    return isinstance(value, int) and abs(value) > sys.float_info.max


def _ragged(value: Any) -> bool:
    rows = [len(v) for v in value if isinstance(v, (list, tuple, Tensor)) and not (isinstance(v, Tensor) and v.dim() == 0)]
    return len(rows) > 0 and (
        len(rows) < len(value) or len(set(rows)) > 1 or any(_ragged(v) for v in value if isinstance(v, (list, tuple)))
    )


def _dense(name: str, tensor: Tensor) -> Tensor:
    if tensor.is_nested:
        raise TypeError(
            f"the input `{name}` is a nested tensor: pad it (`{name}.to_padded_tensor(0.0)`), or call once for each of its parts"
        )
    if tensor.layout is not torch.strided:
        raise TypeError(f"the input `{name}` is a sparse tensor ({tensor.layout}): give `{name}.to_dense()`, or its values alone")
    if tensor.is_quantized:
        raise TypeError(f"the input `{name}` is a quantized tensor: give `{name}.dequantize()`")
    return tensor


def real(what: str, name: str, tensor: Tensor) -> Tensor:
    """The tensor, whose numbers are real."""
    if tensor.dtype.is_complex:
        raise TypeError(
            f"the {what} `{name}` is complex ({tensor.dtype}), programs compute with real numbers: "
            f"give its real and imaginary part as two {what}s"
        )
    return tensor


def common_type(names: Sequence[str], values: Sequence[Any], tensors: Sequence[Tensor]) -> torch.dtype:
    """The type of the results, as the rules above say."""
    ranked: list[list[torch.dtype]] = [[], []]
    for name, value, tensor in zip(names, values, tensors):
        dtype = tensor.dtype
        real("input", name, tensor)
        if dtype.is_floating_point and dtype not in _FLOATS:
            raise TypeError(f"the input `{name}` has the type {dtype}: convert it to float16, bfloat16, float32 or float64 first")
        if not _weak(value) and dtype not in _SHORT:
            # Whole numbers decide with or without axes: as single floats they would lose digits without a word.
            whole = not dtype.is_floating_point
            ranked[0 if whole or tensor.dim() > 0 else 1].append(torch.float64 if whole else dtype)
    for group in ranked:
        if group:
            return reduce(torch.promote_types, group)
    default = torch.get_default_dtype()
    return default if default is torch.float64 or all(_holds_whole(v) for v in values if _weak(v)) else torch.float64


def _holds_whole(value: Any) -> bool:
    """Whether the whole numbers among Python's numbers are in the range where float32 holds each."""
    if isinstance(value, (list, tuple)):
        return all(map(_holds_whole, value))
    return not isinstance(value, int) or abs(value) <= 2**24


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """The type programs compute in for results of this one."""
    return torch.float32 if dtype in _HALVES else dtype


def refuse_rounding(name: str, value: Any, tensor: Tensor) -> None:
    """Refuses whole numbers that no float64 holds. Looks at the numbers: not for tensors a tracer or transform stands behind."""
    if isinstance(value, int) and abs(value) > _EXACT:
        raise TypeError(f"the input `{name}` is {value}, a whole number that float64 does not hold: subtract an offset first")
    if isinstance(value, Tensor) and tensor.dtype in (torch.int64, torch.uint64) and tensor.numel():
        signed = tensor.to(torch.int64)
        low, high = torch.aminmax(signed)
        if (tensor.dtype == torch.uint64 and int(low) < 0) or int(low) < -_EXACT or int(high) > _EXACT:
            raise TypeError(f"the input `{name}` {_BEYOND}")


def assert_exact(name: str, tensor: Tensor) -> None:
    """The same inside a compiled graph, which no exception leaves by a branch on data: an assertion does."""
    if tensor.dtype in (torch.int64, torch.uint64):
        signed = tensor.to(torch.int64)
        low = -_EXACT if tensor.dtype == torch.int64 else 0
        torch._assert_async(((signed >= low) & (signed <= _EXACT)).all(), f"the input `{name}` {_BEYOND}")


def common_device(names: Sequence[str], tensors: Sequence[Tensor]) -> torch.device:
    """The one device all tensors are on; tensors without axes may stay on the CPU, as in PyTorch."""
    devices = {t.device: name for name, t in zip(names, tensors) if t.dim() > 0}
    if not devices:
        devices = {t.device: name for name, t in zip(names, tensors) if t.device.type != "cpu"}
    if len(devices) > 1:
        listed = ", ".join(f"`{name}` on {device}" for device, name in devices.items())
        raise RuntimeError(f"all inputs must be on one device: {listed}")
    return next(iter(devices), torch.device("cpu"))
