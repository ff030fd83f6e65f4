"""PyTorch as most people write it: one operation after the other, derivatives through autograd."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from . import Case, Namespace, Prepared

LABEL = "torch eager"


def version() -> str:
    """PyTorch's version."""
    return f"torch {torch.__version__}"


def namespace(dtype: np.dtype) -> Namespace:
    """Torch under the names of the catalogue."""
    kind = torch.from_numpy(np.zeros(0, dtype)).dtype
    return Namespace(torch, lambda value: torch.tensor(value, dtype=kind))


def tensors(case: Case) -> list[torch.Tensor]:
    """One tensor per input, or all as rows of one where the formula is written so."""
    return [torch.from_numpy(case.columns)] if case.program.stacked else by_column(case)


def formula(case: Case) -> Any:
    """The formula over such tensors."""
    m = namespace(case.dtype)
    by_hand = case.program.stacked or case.program.formula
    return lambda *columns: by_hand(m, *columns)


def results(case: Case, out: Any) -> list[np.ndarray]:
    """Tensors as columns."""
    if not case.gradient:
        return [out.numpy()]
    value, *partials = (t.detach().numpy() for t in out)
    stacked = case.program.stacked and len(partials) == 1
    return [value, *(partials[0] if stacked else partials)]


def by_column(case: Case) -> list[torch.Tensor]:
    """One tensor per input."""
    return list(torch.from_numpy(case.columns))


def prepare(case: Case) -> Prepared:
    """The formula by hand."""
    return prepared(case, formula(case), tensors(case))


def prepared(case: Case, f: Any, columns: list[torch.Tensor]) -> Prepared:
    """Forward, and backward from a column of ones."""
    torch.set_num_threads(case.threads)
    # Set once: entering `no_grad` costs as much as two operations.
    torch.set_grad_enabled(case.gradient)
    if not case.gradient:
        run = partial(f, *columns)
    else:
        columns = [c.requires_grad_() for c in columns]
        ones = torch.ones(case.lanes, dtype=columns[0].dtype)

        def run() -> Any:
            value = f(*columns)
            if not value.requires_grad:  # a program of comparisons alone
                return value, *(torch.zeros_like(c) for c in columns)
            return value, *torch.autograd.grad(value, columns, ones)

    return Prepared(run, lambda out: results(case, out))
