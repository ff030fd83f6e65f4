"""The operation PyTorch's compilers see: `neural_compiler::run`. Its arguments are texts and tensors only, so that exported and
compiled graphs hold everything they need.

Its derivatives, backward and forward, are runs of the same operation with a longer chain, set up where PyTorch's own operations set up
theirs: below every transform, mode and tracer. So whatever transforms PyTorch's operations transforms this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

from .compiled import Chain, Compiled, find
from .function import pulled_back, pushed_forward
from .gate import is_compiling
from .run import fitted_behind, in_front, run
from .tensors import refuse_class

NOT_IN_ONNX = (
    "`torch.onnx.export` has no way to write loops, recursion or roots of a program: export the module by itself, `to_onnx`, "
    "which writes loops and roots"
)


@lru_cache(maxsize=4096)
def _chain(text: str) -> Chain:
    return tuple((what, tuple(wrt), tuple(seeds)) for what, wrt, seeds in json.loads(text))


def chain_text(chain: Chain) -> str:
    """A chain as the operation takes it."""
    return json.dumps(chain)


_library = torch.library.Library("neural_compiler", "DEF")
_library.define("run(str spec, str chain, Tensor[] inputs) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,))
operation: Any = torch.ops.neural_compiler.run.default
"""Runs the program `spec` describes, or what `chain` makes of it, on tensors of one type."""


def run_as_operation(compiled: Compiled, chain: str, tensors: list[Tensor]) -> Any:
    """A run as the operation everybody sees: a tensor, or a tuple of them. Tensors of a class that does not take it are refused."""
    if is_compiling():
        found = operation(compiled.spec, chain, tensors)
    else:
        try:
            found = operation(compiled.spec, chain, tensors)
        except (TypeError, NotImplementedError) as error:
            if str(operation) in str(error):
                refuse_class(compiled.names, tensors, compiled.on_torch, error)
            raise
    return found[0] if len(found) == 1 else tuple(found)


def _run(spec: str, chain: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    found = run(find(spec, hold=True), _chain(chain), tuple(inputs))
    return list(found) if isinstance(found, tuple) else [found]


_library.impl("run", _run, "CompositeExplicitAutograd")


@torch.library.register_fake("neural_compiler::run", lib=_library)  # type: ignore[untyped-decorator]
def _(spec: str, chain: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    if torch.onnx.is_in_onnx_export():
        # Whatever way it tries to see the model.
        raise RuntimeError(NOT_IN_ONNX)
    shapes = find(spec, hold=True).result_shapes(_chain(chain), inputs)
    like = inputs[0] if inputs else torch.empty((), dtype=torch.get_default_dtype())
    return [like.new_empty(shape) for shape in shapes]


class _Differentiable(_SingleLevelFunction):
    """The operation with autograd, at one level of transforms: what is below runs without."""

    @staticmethod
    def forward(ctx: Any, keys: Any, spec: str, chain: str, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.spec, ctx.chain = spec, chain
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)
        with torch._C._AutoDispatchBelowAutograd():
            return tuple(operation.redispatch(keys & torch._C._after_autograd_keyset, spec, chain, list(tensors)))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        found = pulled_back(_again(ctx.spec), _chain(ctx.chain), ctx.saved_tensors, ctx.needs_input_grad[3:], grads)
        return (None, None, None, *found)

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, ___: None, *tangents: Tensor | None) -> Any:
        return pushed_forward(_again(ctx.spec), _chain(ctx.chain), ctx.saved_tensors, tangents)


def _again(spec: str) -> Callable[[Chain, list[Tensor]], list[Tensor]]:
    """What runs derivatives of a call: the same operation."""

    def run(chain: Chain, tensors: list[Tensor]) -> list[Tensor]:
        found: list[Tensor] = operation(spec, chain_text(chain), tensors)
        return found

    return run


def _run_with_autograd(keys: Any, spec: str, chain: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    with enable_single_level_autograd_function():
        return list(_Differentiable.apply(keys, spec, chain, *inputs))  # type: ignore[attr-defined]


_library.impl("run", _run_with_autograd, "Autograd", with_keyset=True)


@torch.library.register_vmap("neural_compiler::run", lib=_library)  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: Any, spec: str, chain: str, inputs: Sequence[Tensor]) -> Any:
    compiled: Compiled = find(spec, hold=True)
    moved, shapes = in_front(compiled, _chain(chain), inputs, in_dims[2])
    found = fitted_behind(operation(spec, chain, moved), shapes)
    return found, [0] * len(found)
