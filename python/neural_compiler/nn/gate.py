"""The gate: who looks on while a program is called, and so which way the call takes. In: PyTorch's state, tensors; out: the way.

The quick way, in the extension (`Caller.call`, `Function.plain`), is open for plain tensors on the CPU when nobody looks on. It asks
`WATCHERS` and looks at `HOOKS`, which are told to it here; nothing else decides. Where it is closed, `way` says how the call goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeAlias

import torch
import torch.nn.modules.module as modules
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils._python_dispatch import _disable_current_modes

PLAIN = (Tensor, torch.nn.Parameter)
"""Classes of tensors whose numbers lie where they seem to."""

_NO_DISPATCH = Tensor.__torch_dispatch__


def is_plain_below(tensor: Tensor) -> bool:
    """Whether a tensor is of another class that changes only what Python sees of it: its numbers lie where they seem to."""
    return type(tensor) not in PLAIN and type(tensor).__torch_dispatch__ is _NO_DISPATCH


def is_foreign(tensor: Tensor) -> bool:
    """Whether a tensor is of a class that says itself what operations do."""
    return type(tensor) not in PLAIN and not is_plain_below(tensor) and not isinstance(tensor, FakeTensor)


def below(tensor: Tensor) -> Tensor:
    """Such a tensor without its class; any other as it is."""
    if not is_plain_below(tensor):
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(Tensor)


Way: TypeAlias = Literal["operation", "function", "plain"]
"""As the operation every compiler, tracer and mode sees; as a function with derivatives, for transforms and forward mode; as it is."""

TransformType = torch._C._functorch.TransformType
is_compiling = torch.compiler.is_compiling
is_hidden = torch._C._functorch.is_legacy_batchedtensor
"""Whether a tensor hides the batch of `torch.autograd.grad(is_grads_batched=True)`."""
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_is_batched = torch._C._functorch.is_batchedtensor
_is_functional = torch._C._functorch.is_functionaltensor
_unwrapped = torch._C._functorch.get_unwrapped
_transforms = torch._C._functorch.peek_interpreter_stack
_modes = torch._C._len_torch_dispatch_stack
_is_tracing = torch._C._is_tracing

WATCHERS = [_transforms, _modes, torch._C._len_torch_function_stack, _is_tracing, torch._C._is_any_autocast_enabled]
"""Functions that give nothing, 0 or False when nobody looks on."""
FORWARD_MODE = vars(forward_ad)
"""Where the level of forward mode is kept."""
HOOKS = [
    modules._global_forward_hooks,
    modules._global_forward_pre_hooks,
    modules._global_backward_hooks,
    modules._global_backward_pre_hooks,
]
"""Hooks on all modules, which a quick call would pass by."""


def within(transform: Any) -> bool:
    """Whether this transform of `torch.func` is active."""
    stack = torch._C._functorch.get_interpreter_stack()
    return stack is not None and any(i.key() == transform for i in stack)


def transformed() -> bool:
    """Whether any transform of `torch.func` is active."""
    return _transforms() is not None


def functionalized() -> bool:
    """Whether `torch.func.functionalize` is active: for functions with derivatives of their own it has no rule, for operations it has."""
    return within(TransformType.Functionalize)


def looked_on() -> bool:
    """Whether a program must be an operation, which all of them see alike: compiled, traced, under a dispatch mode or functionalised."""
    return bool(is_compiling() or _modes() or _is_tracing() or functionalized())


def numbers_hidden() -> bool:
    """Whether Python may not look at numbers to decide how a program goes on."""
    return bool(is_compiling() or _modes() or functionalized())


def lanes_hidden(tensors: Sequence[Tensor]) -> bool:
    """Whether `vmap`, of either kind, hides an axis in which numbers differ."""
    return within(TransformType.Vmap) or any(map(is_hidden, tensors))


def differentiated_by_function() -> bool:
    """Whether a transform of `torch.func`, or forward mode, may ask for derivatives."""
    return transformed() or forward_ad._current_level >= 0


def casts(tensors: Sequence[Tensor]) -> bool:
    """Whether `torch.autocast` rounds what is computed from these tensors, all of one device."""
    device = _device_type(tensors)
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def uncast(tensors: Sequence[Tensor]) -> AbstractContextManager[Any]:
    """Whatever `torch.autocast` says, programs compute in the type they have: within, it says nothing of these tensors. Outside stays what
    a backward pass computes later."""
    return torch.autocast(_device_type(tensors), enabled=False) if casts(tensors) else nullcontext()


def _device_type(tensors: Sequence[Tensor]) -> str:
    return tensors[0].device.type if tensors else "cpu"


def numberless(tensor: Tensor) -> bool:
    """Whether a tensor has a shape and no numbers."""
    return tensor.is_meta or isinstance(tensor, FakeTensor)


def seen(tensor: Tensor, refusal: str) -> Any:
    """The numbers of a tensor as an array, also where `torch.func` differentiates. What `vmap` hides is refused."""
    while _is_wrapped(tensor):
        if _is_batched(tensor):
            raise RuntimeError(refusal)
        tensor = _unwrapped(tensor)
    # Outside of the transforms, which would wrap them again.
    with temporarily_clear_interpreter_stack():
        return tensor.detach().cpu().numpy()


@torch.compiler.disable  # type: ignore[untyped-decorator]
def each_number(tensor: Tensor, look: Callable[[Tensor], None], ask: Callable[[Tensor], None], record: Callable[[Tensor], None]) -> None:
    """Shows all numbers of a tensor, those of all lanes of a `vmap` too, to what looks at each by itself. `look` is given a tensor whose
    numbers lie there, where nobody looks on; `ask` one whose numbers are its class's to tell; `record` one whose numbers come later: what
    it does is operations that tracers keep."""
    while _is_wrapped(tensor):
        if _is_functional(tensor):
            torch._sync(tensor)  # type: ignore[attr-defined, no-untyped-call]
        tensor = _unwrapped(tensor)
    plain = type(tensor) in PLAIN or is_plain_below(tensor)
    later = numberless(tensor) or _modes() > 0
    with temporarily_clear_interpreter_stack():
        if not plain:
            (record if later else ask)(tensor)
            return
        if not tensor.is_meta:
            with _disable_current_modes():
                look(below(tensor))
        if get_proxy_mode() is not None:
            record(tensor)


def way(tensors: Sequence[Tensor]) -> Way:
    """The way of a call for which the quick one is closed."""
    if looked_on() or any(type(t) not in PLAIN for t in tensors):
        return "operation"
    return "function" if differentiated_by_function() else "plain"
