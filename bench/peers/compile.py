"""torch.compile: the same formula through Inductor. Value and gradient are one compiled function (torch.func), which is several
times faster than compiling the formula and calling autograd on it."""

from __future__ import annotations

from typing import Any

import torch

from . import Case, NotSupported, Prepared, eager

LABEL = "torch.compile"
version = eager.version


def prepare(case: Case) -> Prepared:
    """Compiled for this very size of batch."""
    if case.program.name == "newton20":
        raise NotSupported("Inductor writes out a value wherever it is read: twice in each of 20 rounds, a million times in all")
    torch.set_num_threads(case.threads)
    torch._dynamo.reset()
    f = eager.formula(case)
    columns = eager.tensors(case)

    def summed(*columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value = f(*columns)
        return value.sum(), value

    def both(*columns: torch.Tensor) -> Any:
        partials, (_, value) = torch.func.grad_and_value(summed, argnums=tuple(range(len(columns))), has_aux=True)(*columns)
        return value, *partials

    compiled = torch.compile(both if case.gradient else f, dynamic=False)

    def run() -> Any:
        with torch.inference_mode():
            return compiled(*columns)

    run()
    return Prepared(run, lambda out: eager.results(case, out))
