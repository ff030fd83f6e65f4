"""Determinants, what their derivatives are made of, and inverses. In: square matrices with leading batch sizes; out: numbers and matrices.

Up to `MINORS` rows a determinant is the polynomial it is, expanded along its first row, so that its derivatives of all orders exist
at singular matrices too; torch's own derivative of a larger one needs the inverse.
"""

from __future__ import annotations

import math
from typing import Any

import torch

MINORS = 6
"""As in the native backend."""

Columns = tuple[int, ...]


def or_nan(regular: Any, x: Any) -> Any:
    """The matrices of the lanes that are regular, NaN elsewhere: a factor, so that what is no value has no derivative."""
    return x * torch.where(regular, 1.0, math.nan).to(x.dtype)[..., None, None]


def inverse(a: Any) -> Any:
    """The inverse matrix, NaN for a singular one."""
    found = torch.linalg.inv_ex(a)
    return or_nan(found[1] == 0, found[0])


def determinant(a: Any, n: int) -> Any:
    """The determinant of an n by n matrix."""
    if n > MINORS:
        return torch.linalg.det(a)
    return _expand(a, 0, tuple(range(n)), {})


def _expand(a: Any, row: int, columns: Columns, known: dict[Columns, Any]) -> Any:
    """The determinant of the rows from `row` on in these columns; each set of columns is expanded once."""
    if len(columns) == 1:
        return a[..., row, columns[0]]
    if columns not in known:
        found = None
        for k, column in enumerate(columns):
            term = a[..., row, column] * _expand(a, row + 1, columns[:k] + columns[k + 1 :], known)
            found = term if found is None else found - term if k % 2 else found + term
        known[columns] = found
    return known[columns]


def cofactors(a: Any, n: int) -> Any:
    """The matrix of cofactors: the derivative of the determinant."""
    if n > MINORS:
        return determinant(a, n)[..., None, None] * inverse(a).transpose(-2, -1)
    if n == 1:
        return torch.ones_like(a)
    rows = [[[[k] for k in _others(n, i)] for _ in range(n)] for i in range(n)]
    columns = [[[_others(n, j)] for j in range(n)] for _ in range(n)]
    signs = [[_sign(i + j) for j in range(n)] for i in range(n)]
    return a.new_tensor(signs) * determinant(a[..., rows, columns], n - 1)


def cofactors_along(a: Any, t: Any, n: int) -> Any:
    """The derivative of the cofactors of `a` along `t`."""
    if n > MINORS:
        y = inverse(a)
        d = determinant(a, n)[..., None, None]
        slope = (cofactors(a, n) * t).sum((-2, -1))[..., None, None]
        return slope * y.transpose(-2, -1) - d * torch.matmul(torch.matmul(y, t), y).transpose(-2, -1)
    if n == 1:
        return torch.zeros_like(a * t)
    # One term per element (k, m) of `t` outside row i and column j: the minor without rows i, k and columns j, m.
    each = [[[[(i, j, k, m) for m in _others(n, j)] for k in _others(n, i)] for j in range(n)] for i in range(n)]
    along = t[..., _map(each, lambda i, j, k, m: k), _map(each, lambda i, j, k, m: m)]
    # Rows and columns behind the deleted ones move up by one.
    signs = a.new_tensor(_map(each, lambda i, j, k, m: _sign(i + j + k - (k > i) + m - (m > j))))
    if n == 2:
        return (along * signs).sum((-2, -1)) + torch.zeros_like(a)  # For every element of the batch of `a`, too.
    rows = _map(each, lambda i, j, k, m: [[r] for r in range(n) if r not in (i, k)])
    columns = _map(each, lambda i, j, k, m: [[c for c in range(n) if c not in (j, m)]])
    return (along * signs * determinant(a[..., rows, columns], n - 2)).sum((-2, -1))


def _others(n: int, i: int) -> list[int]:
    return [k for k in range(n) if k != i]


def _sign(parity: int) -> float:
    return -1.0 if parity % 2 else 1.0


def _map(each: Any, value: Any) -> Any:
    """Nested lists of positions as nested lists of values."""
    return value(*each) if isinstance(each, tuple) else [_map(e, value) for e in each]
