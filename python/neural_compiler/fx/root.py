"""Roots of equations as torch operations. In: where an equation is 0, and what else it depends on; out: the same tensor with the
derivatives of the implicit function, of every order: backward is made of torch operations on the root itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Equation = Callable[[torch.Tensor, Sequence[torch.Tensor]], torch.Tensor]
"""A function of what is looked for and of everything else."""


class Implicit(torch.autograd.Function):
    """The root x of zero(x, p) = 0 as a function of p: dx = -(d zero / d x)^-1 (d zero / d p) dp."""

    @staticmethod
    def forward(ctx: Any, equations: tuple[Equation, Equation], root: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        """Hands the root on."""
        found = root.clone()
        ctx.equations = equations
        ctx.save_for_backward(found, *given)
        return found

    @staticmethod
    def backward(ctx: Any, *bars: torch.Tensor) -> Any:
        """The cotangents of what the equation depends on; the root stands still in the equation, and is no constant elsewhere."""
        (bar,) = bars
        root, *given = ctx.saved_tensors
        zero, slope = ctx.equations
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            # What is differentiated by stands for itself: the way through the root does not lead there.
            own = [g.view_as(g) for g in given]
            value = zero(root, own)
            by = slope(root, given)
            share = bar / by if by.ndim == bar.ndim else torch.linalg.solve(by.mT, bar.unsqueeze(-1)).squeeze(-1)
            wanted = [g for g in own if g.requires_grad]
            found = iter(torch.autograd.grad(value, wanted, -share.expand_as(value), create_graph=again, allow_unused=True))
        return (None, None, *(next(found) if g.requires_grad else None for g in own))
