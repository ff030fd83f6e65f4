"""Arguments of a call as tensors of one type, by PyTorch's rules of promotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_FLOATS = (torch.float32, torch.float64)


def as_tensor(name: str, value: Any) -> Tensor:
    """A tensor, a number, or what PyTorch makes a tensor of."""
    if isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"the input `{name}` is a tensor or a number, not {type(value).__name__}") from error


def common_type(names: Sequence[str], values: Sequence[Any], tensors: Sequence[Tensor]) -> torch.dtype:
    """float32 or float64: what PyTorch would compute in. Tensors with axes decide before those without, and these before numbers;
    whole numbers become the default type."""
    ranked: list[list[torch.dtype]] = [[], [], []]
    for name, value, tensor in zip(names, values, tensors):
        dtype = tensor.dtype
        if dtype.is_complex or (dtype.is_floating_point and dtype not in _FLOATS):
            raise TypeError(f"the input `{name}` has the type {dtype}: float32, float64 or whole numbers are expected")
        ranked[0 if tensor.dim() > 0 else 1 if isinstance(value, Tensor) else 2].append(dtype)
    for group in ranked:
        floats = [d for d in group if d.is_floating_point]
        if floats and group is ranked[2]:
            break
        if floats:
            return torch.float64 if torch.float64 in floats else torch.float32
    default = torch.get_default_dtype()
    if default not in _FLOATS:
        raise TypeError(f"whole numbers become the default type, which is {default}: float32 or float64 is expected")
    return default


def common_device(names: Sequence[str], tensors: Sequence[Tensor]) -> torch.device:
    """The one device all tensors are on; tensors without axes may stay on the CPU, as in PyTorch."""
    devices = {t.device: name for name, t in zip(names, tensors) if t.dim() > 0}
    if not devices:
        devices = {t.device: name for name, t in zip(names, tensors) if t.device.type != "cpu"}
    if len(devices) > 1:
        listed = ", ".join(f"`{name}` on {device}" for device, name in devices.items())
        raise RuntimeError(f"all inputs must be on one device: {listed}")
    return next(iter(devices), torch.device("cpu"))
