"""Computed indices. In: a value and an index per lane; out: elements or rows, or an error that names the lane."""

from __future__ import annotations

import math

import torch

from .failures import evaluation_error
from .graph import Shape
from .leaf import leaf

ON_GRID = 3
"""The attribute of an index that is a place among the points of a grid. Others but 0: what is not there is the root of an equation."""


@leaf
def element_at(x: torch.Tensor, i: torch.Tensor, shape: Shape, span: tuple[int, int], asked: int = 0) -> torch.Tensor:
    """The element of a vector, or the row of a matrix, of this shape, at an index; `asked`: what for, the attribute of the node."""
    index = _checked(i, shape, span, asked)
    batch = torch.broadcast_shapes(x.shape[: x.ndim - len(shape)], i.shape)
    x, index = x.expand(*batch, *shape), index.expand(batch)
    if len(shape) == 1:
        return x.take_along_dim(index[..., None], -1)[..., 0]
    return x.take_along_dim(index[..., None, None], -2)[..., 0, :]


@leaf
def placed_at(x: torch.Tensor, i: torch.Tensor, shape: Shape, span: tuple[int, int], asked: int = 0) -> torch.Tensor:
    """Zeros of this shape with an element or row at an index."""
    here = torch.arange(shape[0], device=x.device) == _checked(i, shape, span, asked)[..., None]
    return torch.where(here, x[..., None], 0.0) if len(shape) == 1 else torch.where(here[..., None], x[..., None, :], 0.0)


def _checked(i: torch.Tensor, shape: Shape, span: tuple[int, int], asked: int) -> torch.Tensor:
    """The index as whole numbers; outside the value, or not whole, it is an error."""
    i = i.detach()
    good = (i >= 0) & (i < shape[0]) & (i == torch.trunc(i))
    described = f"{'vector' if len(shape) == 1 else 'matrix'}({','.join(map(str, shape))})"
    if torch.compiler.is_compiling():
        # No exception can leave a compiled graph by a branch on data; an assertion can.
        message = f"index-out-of-range: an index is outside a {described}"
        if asked:
            message = "outside-grid: a place is outside of its grid" if asked == ON_GRID else "no-root: an equation has none"
        torch._assert_async(good.all(), message)
    elif not i.is_meta and not bool(good.all()):
        lane = None if i.ndim == 0 else int(torch.argmin(good.flatten().to(torch.uint8)))
        first = float(i if lane is None else i.flatten()[lane])
        if asked == ON_GRID:
            raise evaluation_error("outside-grid", _outside_grid(first), span, lane)
        if asked:
            raise evaluation_error("no-root", "there is no root in this interval, or none is found from this start", span, lane)
        raise evaluation_error("index-out-of-range", f"the index {first:g} is outside a {described}", span, lane)
    return i.long()


def _outside_grid(place: float) -> str:
    """Why a place, counted in steps from the first point of a grid, is not on it; the words are those of `ops/grid.rs`."""
    if not math.isfinite(place):
        return "the place is no number on the grid: it is not finite, or the ends of the grid are equal"
    return f"the place is outside of the grid, {'before its first' if place < 0 else 'behind its last'} point"
