"""Appendix D: gradients of deep compiled chains, and what residual connections do for them.

First the proposition: through k squarings the derivative is 2^k times the product of the values on the way, to the last bit of what
floating-point numbers allow. Then training: frozen compiled stages with learned layers between them, with and without a way around each
stage, over several seeds."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import reduce
from pathlib import Path

import torch
from neural_compiler import compile_scheme
from torch import Tensor, nn

from .common.cli import Experiment, main
from .common.figures import panels, save
from .common.jobs import Job, Record
from .common.report import Records, Report
from .common.tables import Table, cell, sci
from .common.training import Settings, train

DEPTHS = (1, 2, 4, 6, 8, 10)
STAGES = ("(sin x)", "(* x x)", "(exp (- (* x x)))", "(/ x (+ 1 (* x x)))")
WIDTH = 8
CONVERGED = 1e-2


def scaling(backend: str, seed: int) -> Record:
    """The derivative of k squarings against the proposition's product, in exact arithmetic."""
    stage = compile_scheme("(* x x)", backend=backend)
    found = {}
    for depth in DEPTHS:
        chain = reduce(lambda a, b: a >> b, [stage] * depth)
        worst = Fraction(0)
        sizes = []
        for at in (0.5, 0.9, 1.0, 1.1, 1.5):
            x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
            (slope,) = torch.autograd.grad(chain(x), x)
            value, product = Fraction(at), Fraction(1)
            for _ in range(depth):
                product *= 2 * value
                value *= value
            worst = max(worst, abs(Fraction(slope.item()) / product - 1))
            sizes.append(float(product))
        found[depth] = {"relative": float(worst), "at": sizes}
    return {"depths": found}


class Chain(nn.Module):
    """Frozen stages with learned layers before each and at the end; `residual` adds what enters a stage to what leaves it."""

    def __init__(self, depth: int, residual: bool) -> None:
        super().__init__()
        self.first = nn.Linear(1, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(depth))
        self.last = nn.Linear(WIDTH, 1)
        self.stages = [compile_scheme(STAGES[i % len(STAGES)]).freeze() for i in range(depth)]
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        z = self.first(x)
        for layer, stage in zip(self.layers, self.stages):
            out = stage(x=layer(z))
            z = z + out if self.residual else out
        return self.last(z)


def converge(depth: int, residual: bool, epochs: int, seed: int) -> Record:
    """Learns sin(3x) on [-2, 2]; converged is an error below 1 % of the variance of the target, or nearly so."""
    x = torch.linspace(-2, 2, 256)[:, None]
    target = torch.sin(3 * x)
    model = Chain(depth, residual)
    first = model(x).sub(target).square().mean()
    first.backward()
    gradient = model.first.weight.grad
    result = train(model, lambda: (model(x) - target).square().mean(), Settings(epochs, 3e-3))
    with torch.no_grad():
        loss = (model(x) - target).square().mean().item()
    return {
        **result.record(),
        "loss": loss,
        "converged": loss < CONVERGED,
        "first_gradient": gradient.norm().item() if gradient is not None else None,
    }


def jobs(quick: bool, seeds: range) -> list[Job]:
    found = [Job("scaling", backend, scaling, {"backend": backend}) for backend in ("native", "torch")]
    for depth in (8,) if quick else (4, 8, 16):
        for residual in (False, True):
            for seed in seeds:
                arguments = {"depth": depth, "residual": residual, "epochs": 300 if quick else 3_000}
                found.append(Job("training", f"{'residual' if residual else 'plain'}, depth {depth}", converge, arguments, seed))
    return found


def report(records: Records, quick: bool) -> Report:
    result = Report()
    table = Table(
        "The derivative of k squarings against 2^k times the product of the values",
        ("depth", "derivative at 0.5", "at 1.0", "at 1.5", "largest relative difference, native", "torch"),
    )
    native, torch_ = records.first("scaling", "native"), records.first("scaling", "torch")
    if native and torch_:
        for depth in map(str, DEPTHS):
            sizes = native["depths"][depth]["at"]
            table.add(
                depth,
                sci(sizes[0]),
                sci(sizes[2]),
                sci(sizes[4]),
                sci(native["depths"][depth]["relative"]),
                sci(torch_["depths"][depth]["relative"]),
            )
        worst = max(d["relative"] for r in (native, torch_) for d in r["depths"].values())
        result.numbers["relative"] = worst
        result.tables.append(table)
        result.claim(
            "The derivative of k squarings is 2^k times the product of the values.",
            worst < 1e-12,
            f"to {sci(worst)} of the exact value; rounding grows with each squaring",
        )
    trained = Table(
        "Frozen stages with learned layers between them",
        ("chain", "converged", "final loss", "size of the first gradient", "seeds"),
        text=f"Target sin(3x) on [-2, 2]; converged is a mean squared error below {CONVERGED}.",
    )
    for row in records.rows("training"):
        found = records.of("training", row)
        done = sum(r["converged"] for r in found)
        trained.add(
            row,
            f"{done} of {len(found)}" + (" / all" if "residual" in row else ""),
            cell([r["loss"] for r in found]),
            cell([r["first_gradient"] for r in found]),
            str(len(found)),
        )
        result.numbers[f"converged.{row}"] = done / len(found)
    result.tables.append(trained)
    rows = [row for row in records.rows("training") if "residual" in row]
    if rows and not quick:
        shares = {row: result.numbers[f"converged.{row}"] for row in rows}
        result.claim(
            "Residual connections achieve 100 % convergence across seeds.",
            all(v == 1 for v in shares.values()),
            ", ".join(f"{row}: {100 * v:.0f} %" for row, v in shares.items()),
        )
    return result


def draw(records: Records, out: Path) -> None:
    figure, axes = panels(1, 2, "Gradients of deep compiled chains")
    native = records.first("scaling", "native")
    if native:
        lines = [(f"at {at}", [(d, native["depths"][str(d)]["at"][i]) for d in DEPTHS]) for i, at in enumerate((0.5, 0.9, 1.0, 1.1, 1.5))]
        for name, points in lines:
            axes[0, 0].plot([d for d, _ in points], [v for _, v in points], marker="o", label=name)
        axes[0, 0].set(yscale="log", xlabel="squarings", title="derivative")
        axes[0, 0].legend(fontsize=6)
    for row in records.rows("training"):
        for i, r in enumerate(records.of("training", row)):
            dash = "-" if row.endswith(" 4") else "--" if row.endswith(" 8") else ":"
            style = {"color": "#2166ac" if "residual" in row else "#d6604d", "lw": 0.6, "ls": dash, "label": row if i == 0 else None}
            axes[0, 1].plot([e for e, _ in r["losses"]], [v for _, v in r["losses"]], **style)
    axes[0, 1].set(yscale="log", xlabel="epoch", title="training loss, every seed")
    save(figure, out, "gradient_scaling")


EXPERIMENT = Experiment("gradient_scaling", "Appendix D: gradients of deep chains", jobs, report, draw)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
