"""Who looks on while a module is called. In: PyTorch's state; out: whether a tracer, a mode or a transform is active."""

from __future__ import annotations

from typing import Any

import torch

TransformType = torch._C._functorch.TransformType


def within(transform: Any) -> bool:
    """Whether this transform of `torch.func` is active."""
    stack = torch._C._functorch.get_interpreter_stack()
    return stack is not None and any(i.key() == transform for i in stack)


def functionalized() -> bool:
    """Whether `torch.func.functionalize` is active: for functions with derivatives of their own it has no rule, for operations it has."""
    return within(TransformType.Functionalize)


def looked_on() -> bool:
    """Whether a program must be an operation, which all of them see alike: compiled, traced, under a dispatch mode or functionalised."""
    return bool(torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() or torch._C._is_tracing() or functionalized())
