"""Linear algebra as an `nn.Module` beside hand-written batched PyTorch, eager and through torch.compile.

In: a job, of this suite or of the suite `module`. Out: a record per operation and size, values and gradients. Every lane has operands of
its own unless a name says `shared`. Results are held to NumPy in f64 before anything is timed; gradients come from a cotangent drawn at
random.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from measure import FULL, QUICK, Contender, race
from neural_compiler import compile_scheme
from tqdm import tqdm

# A progress bar's watching thread would be one more Python thread, beside which modules copy their inputs before they let go of Python's
# lock.
tqdm.monitor_interval = 0

LABELS = {"module": "our nn.Module", "eager": "torch eager", "compile": "torch.compile"}


@dataclass(frozen=True)
class Linear:
    """An operation at one size."""

    name: str
    source: str
    lanes: int
    shapes: dict[str, tuple[int, ...]]
    """Of each operand, without the batch."""
    by_hand: Callable[..., torch.Tensor]
    formula: str
    """For `numpy.einsum`."""
    shared: tuple[str, ...] = ()
    """Operands all lanes share."""


def squares(n: int, lanes: int) -> Linear:
    """A product of two square matrices."""
    return Linear(f"matmul {n}x{n}", "(matmul a b)", lanes, {"a": (n, n), "b": (n, n)}, torch.bmm, "lij,ljk->lik")


def layers(n: int) -> Linear:
    """A layer of a network: one matrix for all lanes."""
    layer = lambda a, v: torch.nn.functional.linear(v, a)
    return Linear(f"shared {n}x{n} times vector", "(matvec a v)", 1000, {"a": (n, n), "v": (n,)}, layer, "ij,lj->li", ("a",))


def products(n: int) -> Linear:
    """A matrix times a vector."""
    by_hand = lambda a, v: torch.bmm(a, v.unsqueeze(2)).squeeze(2)
    return Linear(f"matvec {n}x{n}", "(matvec a v)", 1000, {"a": (n, n), "v": (n,)}, by_hand, "lij,lj->li")


CASES = (
    *(squares(n, 1000) for n in (8, 16, 32, 64)),
    squares(128, 200),
    squares(256, 40),
    squares(512, 8),
    *(products(n) for n in (8, 32, 128)),
    *(layers(n) for n in (8, 32, 128)),
    *(Linear(f"dot {n}", "(dot u v)", 1000, {"u": (n,), "v": (n,)}, lambda u, v: (u * v).sum(-1), "li,li->l") for n in (32, 1000)),
    Linear("outer 64x64", "(outer u v)", 1000, {"u": (64,), "v": (64,)}, lambda u, v: u.unsqueeze(2) * v.unsqueeze(1), "li,lj->lij"),
    Linear("vsum 1000", "(vsum v)", 1000, {"v": (1000,)}, lambda v: v.sum(-1), "li->l"),
)


def operands(case: Linear, kind: torch.dtype) -> list[torch.Tensor]:
    """The same for every contender."""
    generator = torch.Generator().manual_seed(20_260_101)
    batch = lambda name: () if name in case.shared else (case.lanes,)
    return [
        (torch.rand(*batch(name), *shape, generator=generator, dtype=torch.float64) - 0.5).to(kind) for name, shape in case.shapes.items()
    ]


def contender(case: Linear, name: str) -> Callable[..., torch.Tensor]:
    """The operation, as its users write it."""
    if name == "module":
        return compile_scheme(case.source, inputs=dict(case.shapes))
    torch._dynamo.reset()
    return case.by_hand if name == "eager" else torch.compile(case.by_hand, dynamic=False)


def ready(case: Linear, name: str, gradient: bool, kind: torch.dtype, threads: int) -> Contender | dict[str, str]:
    """Prepared and verified."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(gradient)
    inputs = [x.requires_grad_(gradient) for x in operands(case, kind)]
    exact = [x.detach().double().numpy() for x in inputs]
    right = np.einsum(case.formula, *exact, optimize=True)
    generator = torch.Generator().manual_seed(7)
    ahead = (torch.rand(right.shape, generator=generator, dtype=torch.float64) - 0.5).to(kind)
    try:
        f = contender(case, name)
        run = (lambda: torch.autograd.grad(f(*inputs), inputs, ahead)) if gradient else (lambda: f(*inputs))
        found = run()
    except Exception as error:  # whatever a library raises belongs in the table
        return {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"}
    if gradient:
        doubles = [x.detach().double().requires_grad_() for x in inputs]
        expected = [g.numpy() for g in torch.autograd.grad(case.by_hand(*doubles), doubles, ahead.double())]
    else:
        found, expected = [found], [right]
    tolerance = 2e-5 if kind == torch.float32 else 1e-12
    for got, want in zip(found, expected):
        off = np.abs(got.double().numpy() - want).max() / (np.abs(want).max() + 1e-300)
        if not off <= tolerance:
            return {"wrong": f"off by {off:.2g} of the largest number"}

    def repeat(times: int) -> None:
        for _ in range(times):
            run()

    return Contender(repeat, time.process_time if threads == 1 else time.perf_counter)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """This suite alone."""
    return {"versions": {"eager": torch.__version__}, "missing": {}, "labels": LABELS, "records": measured(job)}


def measured(job: dict[str, Any]) -> list[dict[str, Any]]:
    """A record per case."""
    effort = QUICK if job["quick"] else FULL
    records = []
    cases = [(c, g, d) for d in job["dtypes"] for c in CASES for g in job["gradients"]]
    for case, gradient, dtype in tqdm(cases, desc="linear algebra", unit="case"):
        kind = getattr(torch, dtype)
        found = {name: ready(case, name, gradient, kind, job["threads"]) for name in LABELS}
        record = {
            "program": case.name,
            "dtype": dtype,
            "gradient": gradient,
            "lanes": case.lanes,
            "threads": job["threads"],
            "linear": True,
        }
        records.append(record | {"contenders": race(found, effort)})
    return records
