"""Roots of equations as torch operations. In: where an equation is 0, and what else it depends on; out: the same tensor with the
derivatives of the implicit function, of every order, backward and forward: both are made of torch operations on the root itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

Equation = Callable[[torch.Tensor, Sequence[torch.Tensor]], torch.Tensor]
"""A function of what is looked for and of everything else."""
_vjp: Any = torch.func.vjp


def differentiated(given: Sequence[torch.Tensor]) -> bool:
    """Whether any derivative may be asked for: backward, or forward, where a tensor does not say so of itself."""
    forward = forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None
    return forward or (torch.is_grad_enabled() and any(g.requires_grad for g in given))


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without what function transforms wrap around it."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


_NESTED = (
    "the torch code of a root has no `jvp` inside of a `jvp`: take `jvp` of `grad`, or call the module (`compile_scheme`), which has both"
)


class Implicit(torch.autograd.Function):
    """The root x of zero(x, p) = 0 as a function of p: dx = -(d zero / d x)^-1 (d zero / d p) dp."""

    generate_vmap_rule = True

    @staticmethod
    def forward(equations: tuple[Equation, Equation], root: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        """Hands the root on."""
        return root.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        """Keeps the root, and what the equation depends on."""
        ctx.equations, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor) -> Any:
        """The cotangents of what the equation depends on; the root stands still in the equation, and is no constant elsewhere."""
        (bar,) = bars
        root, given = _again(ctx)
        zero, slope = ctx.equations
        by = slope(root, given)
        share = bar / by if by.ndim == bar.ndim else torch.linalg.solve(by.mT, bar.unsqueeze(-1)).squeeze(-1)
        value, pull = _vjp(lambda *own: zero(root, own), *given)
        return (None, None, *pull(-share.expand_as(value)))

    @staticmethod
    def jvp(ctx: Any, _: None, __: Any, *tangents: torch.Tensor | None) -> torch.Tensor:
        """The tangent of the root."""
        stack = torch._C._functorch.get_interpreter_stack() or ()
        if sum(i.key() == torch._C._functorch.TransformType.Jvp for i in stack) > 1:
            # To dual numbers within dual numbers PyTorch hides what the root depends on.
            raise RuntimeError(_NESTED)
        root, given = _again(ctx)
        zero, slope = ctx.equations
        along = tuple(torch.zeros_like(g) if t is None else t for g, t in zip(given, tangents))
        # By the pullback of the pullback, which is linear: inside dual numbers PyTorch makes no others.
        value, pull = _vjp(lambda *own: zero(root, own), *given)
        _, push = _vjp(pull, torch.zeros_like(value))
        (pushed,) = push(along)
        by = slope(root, given)
        tangent: torch.Tensor = -(pushed / by if by.ndim == pushed.ndim else torch.linalg.solve(by, pushed.unsqueeze(-1)).squeeze(-1))
        return tangent


def _again(ctx: Any) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The root, as the function of what the equation depends on that it is in derivatives of it too, and that. Not what came out: to dual
    numbers within dual numbers, that is a constant."""
    root, *given = ctx.saved_tensors
    return Implicit.apply(ctx.equations, root, *given), given
