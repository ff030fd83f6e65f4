"""Computed indices. In: a value and an index per lane; out: elements or rows, or an error that names the lane."""

from __future__ import annotations

import torch

from .failures import evaluation_error
from .graph import Shape
from .leaf import leaf


@leaf
def element_at(x: torch.Tensor, i: torch.Tensor, shape: Shape, span: tuple[int, int], root: bool = False) -> torch.Tensor:
    """The element of a vector, or the row of a matrix, of this shape, at an index; `root`: what is not there is the root of an equation."""
    index = _checked(i, shape, span, root)
    batch = torch.broadcast_shapes(x.shape[: x.ndim - len(shape)], i.shape)
    x, index = x.expand(*batch, *shape), index.expand(batch)
    if len(shape) == 1:
        return x.take_along_dim(index[..., None], -1)[..., 0]
    return x.take_along_dim(index[..., None, None], -2)[..., 0, :]


@leaf
def placed_at(x: torch.Tensor, i: torch.Tensor, shape: Shape, span: tuple[int, int]) -> torch.Tensor:
    """Zeros of this shape with an element or row at an index."""
    here = torch.arange(shape[0], device=x.device) == _checked(i, shape, span)[..., None]
    return torch.where(here, x[..., None], 0.0) if len(shape) == 1 else torch.where(here[..., None], x[..., None, :], 0.0)


def _checked(i: torch.Tensor, shape: Shape, span: tuple[int, int], root: bool = False) -> torch.Tensor:
    """The index as whole numbers; outside the value, or not whole, it is an error."""
    i = i.detach()
    good = (i >= 0) & (i < shape[0]) & (i == torch.trunc(i))
    described = f"{'vector' if len(shape) == 1 else 'matrix'}({','.join(map(str, shape))})"
    if torch.compiler.is_compiling():
        # No exception can leave a compiled graph by a branch on data; an assertion can.
        message = "no-root: an equation has none" if root else f"index-out-of-range: an index is outside a {described}"
        torch._assert_async(good.all(), message)
    elif not i.is_meta and not bool(good.all()):
        lane = None if i.ndim == 0 else int(torch.argmin(good.flatten().to(torch.uint8)))
        if root:
            raise evaluation_error("no-root", "there is no root in this interval, or none is found from this start", span, lane)
        first = float(i if lane is None else i.flatten()[lane])
        raise evaluation_error("index-out-of-range", f"the index {first:g} is outside a {described}", span, lane)
    return i.long()
