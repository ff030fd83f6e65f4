"""Linear algebra that ONNX has not, by elimination written out, with the largest pivot of each column. In: matrices with any leading batch
sizes; out: what `torch.linalg` gives, of which the models of programs make use. The graph grows with the size of the matrix.
"""

from __future__ import annotations

import torch

Found = tuple[torch.Tensor, torch.Tensor]


def _eliminated(a: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The solutions of a x = right, the determinant of a, and whether it is regular; NaN where a holds one."""
    n = a.shape[-1]
    batch = torch.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    both = torch.cat([a.expand(*batch, -1, -1), right.expand(*batch, -1, -1)], -1)
    index = torch.arange(n, device=a.device)
    sound = torch.where(torch.isnan(both[..., :n]), torch.nan, 0.0).to(a.dtype).sum((-2, -1)) + 1.0
    determinant = sound
    regular = torch.ones_like(determinant, dtype=torch.bool)
    for k in range(n):
        here = index == k
        # Rows above are done: they are no pivots. Runtimes pass over NaN, which infinite numbers leave, when they look for the largest.
        size = torch.where(torch.isnan(both[..., k]), torch.inf, both[..., k].abs())
        pivot = torch.where(index < k, -1.0, size).argmax(-1, keepdim=True)
        order = torch.where(here, pivot, torch.where(index == pivot, k, index))
        both = torch.gather(both, -2, order[..., None].expand(both.shape))
        value = both[..., k, k]
        determinant = determinant * torch.where(pivot[..., 0] == k, value, -value)
        regular = regular & (value != 0)
        # Without a pivot there is nothing to eliminate: the determinant is 0, and no NaN.
        row = both[..., k, :] / torch.where(value == 0, 1.0, value)[..., None]
        others = torch.where(here, 0.0, both[..., k])
        both = torch.where(here[:, None], row[..., None, :], both - others[..., None] * row[..., None, :])
    # The 0 of a singular matrix has no sign, whatever the other pivots have.
    determinant = torch.where(regular, determinant, determinant.abs())
    return both[..., n:] * sound[..., None, None], determinant, regular


def inv_ex(a: torch.Tensor) -> Found:
    """The inverse, and 0 where there is one; elsewhere numbers without a meaning stand in its place."""
    found, _, regular = _eliminated(a, torch.eye(a.shape[-1], dtype=a.dtype, device=a.device))
    return found, torch.where(regular, 0, 1)


def det(a: torch.Tensor) -> torch.Tensor:
    """The determinant."""
    return _eliminated(a, a[..., :0])[1]


def solve_ex(a: torch.Tensor, b: torch.Tensor) -> Found:
    """The solutions of systems with matrices on the right, and 0 where there are any; elsewhere numbers without a meaning."""
    found, _, regular = _eliminated(a, b)
    return found, torch.where(regular, 0, 1)
