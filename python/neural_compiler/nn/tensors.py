"""Arguments of a call as tensors of one type. In: what the caller gave; out: tensors, the type to compute in and that of the results.

Types are promoted by PyTorch's rules, with one difference: no whole number is rounded to fit. Tensors with axes decide before those
without, and these before Python's numbers, which follow. Whole numbers of 32 and 64 bits count as float64, shorter ones follow; of
whole numbers alone the shorter ones become the default type. float16 and bfloat16 are computed in float32. Whole numbers beyond 2^53, which
no float64 holds, are refused, by an assertion where a compiler or a tracer stands before the numbers; what `torch.jit.trace` and
`torch.onnx.export` make rounds them, for neither keeps it. A list that holds tensors or arrays is the tensor they make together, by the
same rules, and differentiates as such.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..advice import advice_for
from ..masks import unmasked
from ..whole import EXACT, leaves
from .gate import each_number, is_compiling, is_foreign

_HALVES = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float32, torch.float64, *_HALVES)
_SHORT = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16)
"""Whole numbers that every float32 holds."""
_BEYOND = "has whole numbers beyond 2^53, which float64 does not hold: subtract an offset first"


def as_tensor(name: str, value: Any) -> Tensor:
    """A tensor, a number, or what PyTorch makes a tensor of; Python's numbers in float64, so that nothing is lost before the type is
    known."""
    value = joined(name, value)
    if isinstance(value, Tensor):
        return _dense(name, value)
    unmasked(f"the input `{name}`", value)
    _refuse_beyond(f"the input `{name}`", value)
    if isinstance(value, (list, tuple)) and _any_of(_kinds(value), np.generic):
        value = _of_python(value)
    try:
        found = torch.as_tensor(native(value))
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        if isinstance(value, (list, tuple)):
            advice = "pad its rows to one length, or call once for each" if _ragged(value) else "it holds something that is no number"
            raise TypeError(f"the input `{name}` is a {type(value).__name__} that is no array of numbers: {advice}") from error
        held = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        raise TypeError(f"the input `{name}` is a tensor or a number, not {type(value).__name__}{held}{advice_for(value)}") from error
    if not _weak(value) or found.dtype.is_complex:
        return _dense(name, found)
    return torch.as_tensor(value, dtype=torch.float64)


def joined(name: str, value: Any) -> Any:
    """The value; a list, nested or not, that holds tensors or arrays as the one tensor of them. Numbers beside them take their type."""
    if not isinstance(value, (list, tuple)) or not _any_of(_kinds(value), (Tensor, np.ndarray)):
        return value
    held = list(leaves(value))
    names = [name] * len(held)
    tensors = [as_tensor(name, v) for v in held]
    device, dtype = common_device(names, tensors), tensors[0].dtype
    if any(t.dtype is not dtype or _weak(v) for v, t in zip(held, tensors)):
        dtype = common_type(names, held, tensors)
        for leaf, tensor in zip(held, tensors):
            refuse_rounding(name, leaf, tensor)
    return _stacked(name, value, iter([t.to(device, dtype) for t in tensors]))


def _stacked(name: str, value: Any, tensors: Iterator[Tensor]) -> Tensor:
    """The tensors in the places of the leaves of a list."""
    if not isinstance(value, (list, tuple)):
        return next(tensors)
    parts = [_stacked(name, v, tensors) for v in value]
    for part in parts:
        if part.shape != parts[0].shape:
            raise TypeError(
                f"the input `{name}` is a {type(value).__name__} that is no array of numbers: it holds tensors of different shapes, "
                f"{list(parts[0].shape)} and {list(part.shape)}; pad them to one, or call once for each"
            )
    return torch.stack(parts) if parts else torch.empty(0)


def _kinds(value: Any) -> set[type]:
    """The types of what a list holds, and the lists in it: found without a look at each of many numbers."""
    kinds = set(map(type, value))
    if _any_of(kinds, (list, tuple)):
        for v in value:
            if isinstance(v, (list, tuple)):
                kinds |= _kinds(v)
    return kinds


def _any_of(kinds: set[type], wanted: Any) -> bool:
    return any(issubclass(k, wanted) for k in kinds)


def _of_python(value: Any) -> Any:
    """A list with Python's numbers in the places of NumPy's, not all of which PyTorch takes."""
    if isinstance(value, (list, tuple)):
        return [_of_python(v) for v in value]
    return value.item() if isinstance(value, (np.number, np.bool_)) else value


def native(value: Any) -> Any:
    """The value; an array that runs backward, or whose numbers have their bytes in another order, as a copy that PyTorch takes, and so a
    number of NumPy's."""
    if is_compiling():
        return value  # Arrays are tensors there.
    if isinstance(value, np.generic) and not isinstance(value, float):
        return np.array(value)
    if not isinstance(value, np.ndarray) or (value.dtype.isnative and all(s >= 0 for s in value.strides)):
        return value
    return np.array(value, value.dtype.newbyteorder("="), order="C")


def _weak(value: Any) -> bool:
    """Whether a value has no type of its own."""
    return isinstance(value, (bool, int, float, list, tuple))


def _refuse_beyond(what: str, value: Any) -> None:
    """Refuses whole numbers among Python's and NumPy's that no float64 holds."""
    if isinstance(value, (list, tuple)):
        kind = type(value).__name__
        for leaf in leaves(value) if _any_of(_kinds(value), (int, np.integer, np.ndarray)) else ():
            if isinstance(leaf, (int, np.integer)) and abs(int(leaf)) > EXACT:
                _refuse(f"{what} is a {kind} with", int(leaf))
            elif isinstance(leaf, np.ndarray):
                _refuse_beyond(what, leaf)
    elif isinstance(value, (int, np.integer)):
        if abs(int(value)) > EXACT:
            _refuse(f"{what} is", int(value))
    elif isinstance(value, np.ndarray) and not is_compiling():
        # In a compiled graph arrays are tensors.
        long = value.dtype.kind in "iu" and value.dtype.itemsize == 8 and value.size > 0
        if long and (int(value.min()) < -EXACT or int(value.max()) > EXACT):
            raise TypeError(f"{what} {_BEYOND}")


def _refuse(begin: str, number: int) -> None:
    if abs(number) > sys.float_info.max:
        raise TypeError(f"{begin} a whole number that is too large for float64, beyond 1.8e308")
    raise TypeError(f"{begin} {number}, a whole number that float64 does not hold: subtract an offset first")


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
    return tracked(tensor)


def tracked(tensor: Tensor) -> Tensor:
    """The tensor; of one of `torch.inference_mode`, where autograd looks on, a copy: it keeps none of those, which is an error or a
    derivative lost without a word, as the program begins."""
    if not is_compiling() and tensor.is_inference() and torch.is_grad_enabled() and not torch.is_inference_mode_enabled():
        return tensor.clone()
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
        return not _any_of(_kinds(value), (int, np.integer)) or all(map(_holds_whole, value))
    return not isinstance(value, (int, np.integer)) or abs(int(value)) <= 2**24


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """The type programs compute in for results of this one."""
    return torch.float32 if dtype in _HALVES else dtype


def refuse_rounding(name: str, value: Any, tensor: Tensor) -> None:
    """Refuses whole numbers that no float64 holds, among those that `as_tensor` has not looked at: in tensors, and in what PyTorch made a
    tensor of. Looks at the numbers, in what a compiler or tracer makes by an assertion."""
    if _weak(value) or tensor.dtype not in (torch.int64, torch.uint64) or torch.onnx.is_in_onnx_export():
        return
    if is_compiling():
        _assert_exact(name, tensor)
    else:
        what = f"the input `{name}`"
        each_number(tensor, lambda t: _refuse_whole(what, t), lambda t: _refuse_asked(name, t), lambda t: _assert_exact(name, t))


def refuse_parameter(name: str, value: Any) -> None:
    """Refuses a value of a parameter with whole numbers that no float64 holds."""
    what = f"the parameter `{name}`"
    _refuse_beyond(what, value)
    for leaf in leaves(value):
        if isinstance(leaf, Tensor) and leaf.dtype in (torch.int64, torch.uint64) and not leaf.is_meta:
            _refuse_whole(what, leaf)


def _refuse_whole(what: str, tensor: Tensor) -> None:
    if not tensor.numel():
        return
    low, high = torch.aminmax(tensor.to(torch.int64))
    if (tensor.dtype == torch.uint64 and int(low) < 0) or int(low) < -EXACT or int(high) > EXACT:
        raise TypeError(f"{what} {_BEYOND}")


def _exact(tensor: Tensor) -> Tensor:
    """Whether all numbers are such that float64 holds them, as an operation."""
    signed = tensor.to(torch.int64)
    low = -EXACT if tensor.dtype == torch.int64 else 0
    return ((signed >= low) & (signed <= EXACT)).all()


def _refuse_asked(name: str, tensor: Tensor) -> None:
    """The same for a tensor of another's class, by that class's own operations: a tensor over several devices knows the number that all
    have together, a masked one that of what it shows."""
    kind = type(tensor).__name__
    try:
        found: Any = _exact(tensor)
        for together in ("full_tensor", "get_data"):
            found = getattr(found, together)() if hasattr(found, together) else found
        exact = bool(found)
    except (RuntimeError, TypeError, ValueError) as error:
        unknown = "which does not tell whether float64 holds them"
        raise TypeError(f"the input `{name}` is a {kind} of whole numbers, {unknown}: convert it, `{name}.double()`") from error
    if not exact:
        raise TypeError(f"the input `{name}` {_BEYOND}")


_PLAIN_BY = {"full_tensor": "full_tensor()", "to_tensor": "to_tensor(…)"}
"""How tensors of PyTorch's own other classes become plain ones: those over several devices, and masked ones."""


def refuse_class(names: Sequence[str], tensors: Sequence[Tensor], on_torch: bool, error: Exception) -> None:
    """Refuses, for this error, the first tensor of a class whose numbers are its own to tell. `on_torch`: whether the program is torch
    operations already."""
    for name, tensor in zip(names, tensors):
        if is_foreign(tensor):
            way = next((f"`{name}.{how}`" for has, how in _PLAIN_BY.items() if hasattr(tensor, has)), "it as a plain tensor")
            instead = "" if on_torch else 'compile with backend="torch", which computes by the operations of that class, or '
            kind = f"a {type(tensor).__name__}, a class that takes no operations but those it knows"
            raise TypeError(f"the input `{name}` is {kind}: {instead}give {way}") from error


def _assert_exact(name: str, tensor: Tensor) -> None:
    """The same inside a compiled graph, which no exception leaves by a branch on data: an assertion does."""
    torch._assert_async(_exact(tensor), f"the input `{name}` {_BEYOND}")


def common_device(names: Sequence[str], tensors: Sequence[Tensor]) -> torch.device:
    """The one device all tensors are on; tensors without axes may stay on the CPU, as in PyTorch."""
    devices = {t.device: name for name, t in zip(names, tensors) if t.dim() > 0}
    if not devices:
        devices = {t.device: name for name, t in zip(names, tensors) if t.device.type != "cpu"}
    if len(devices) > 1:
        listed = ", ".join(f"`{name}` on {device}" for device, name in devices.items())
        raise RuntimeError(f"all inputs must be on one device: {listed}")
    return next(iter(devices), torch.device("cpu"))
