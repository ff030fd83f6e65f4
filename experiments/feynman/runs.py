"""The jobs of the Feynman experiment: one per equation, model, setting and seed."""

from __future__ import annotations

import time
from typing import Any

import neural_compiler
import torch
from torch import Tensor, nn

from ..common import native_fit
from ..common.cost import compare
from ..common.jobs import Record
from ..common.nets import compiled, count, learned, mlp, physics
from ..common.second_order import LeastSquares, Piece, global_fit, refine
from ..common.training import Loop, Settings, train
from .equations import Equation, find

KINDS = {"compiled": "torch", "compiled, native": "native", "hand-coded": "hand"}
LR = 3e-3


class Sampler:
    """Fresh samples of an equation: inputs uniform in their ranges, noise a share of the mean size of the values."""

    def __init__(self, equation: Equation, size: int, noise: float, seed: int, dtype: torch.dtype = torch.float32) -> None:
        self.equation, self.size, self.noise, self.dtype = equation, size, noise, dtype
        self.draw = torch.Generator().manual_seed(seed)
        self.true = {n: torch.tensor(v, dtype=dtype) for n, v in equation.true.items()}

    def inputs(self, widen: float = 1.0) -> dict[str, Tensor]:
        found = {}
        for name, (low, high) in widened(self.equation, widen).items():
            found[name] = low + (high - low) * torch.rand(self.size, generator=self.draw, dtype=self.dtype)
        return found

    def clean(self, widen: float = 1.0) -> Piece:
        inputs = self.inputs(widen)
        return inputs, self.equation.hand(**self.true, **inputs)

    def next(self) -> Piece:
        inputs, values = self.clean()
        if self.noise:
            values = values + self.noise * values.abs().mean() * torch.randn(self.size, generator=self.draw, dtype=self.dtype)
        return inputs, values


def widened(equation: Equation, factor: float) -> dict[str, tuple[float, float]]:
    """Ranges with the same middle and `factor` times the width."""
    found = {}
    for name, (low, high) in equation.ranges.items():
        middle, half = (low + high) / 2, factor * (high - low) / 2
        found[name] = (middle - half, middle + half)
    return found


def evaluate(predict: Any, equation: Equation, seed: int) -> dict[str, float]:
    """Errors on clean samples: in the ranges of training and, five times as wide, on the part where the equation has a value."""
    found: dict[str, float] = {}
    for label, factor in (("in", 1.0), ("out", 5.0)):
        inputs, values = Sampler(equation, 10_000, 0.0, 90_000 + seed).clean(factor)
        safe = torch.isfinite(values)
        with torch.no_grad():
            gap = (predict({n: x[safe] for n, x in inputs.items()}) - values[safe]).double()
        found[label] = gap.square().mean().item()
        found[f"{label}_median"] = gap.square().median().item()
        found[f"{label}_safe"] = safe.double().mean().item()
    return found


def worst(equation: Equation, values: dict[str, float]) -> float:
    return max(abs(values[n] - true) / abs(true) for n, true in equation.true.items())


def descend(name: str, kind: str, epochs: int, samples: int, noise: float, seed: int, printed: bool = False) -> Record:
    """Constants by Adam, all from 1."""
    equation = find(name, printed)
    model = physics(KINDS[kind], equation.source, equation.hand, dict.fromkeys(equation.true, 1.0), list(equation.ranges))
    data = Sampler(equation, samples, noise, seed)

    def loss() -> Tensor:
        inputs, values = data.next()
        return (model(**inputs) - values).square().mean()

    result = train(model, loss, Settings(epochs, LR), follow=lambda: learned(model))
    values = learned(model)
    return {
        **result.record(),
        "constants": values,
        "error": worst(equation, values),
        "parameters": count(model),
        **evaluate(lambda inputs: model(**inputs), equation, seed),
    }


class Network(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.net = mlp((inputs, 64, 64, 64, 64, 1), "relu")

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.net(torch.stack(list(inputs.values()), dim=-1))[..., 0]


def network(name: str, epochs: int, samples: int, noise: float, seed: int) -> Record:
    equation = find(name)
    model = Network(len(equation.ranges))
    data = Sampler(equation, samples, noise, seed)

    def loss() -> Tensor:
        inputs, values = data.next()
        return (model(inputs) - values).square().mean()

    result = train(model, loss, Settings(epochs, 1e-3))
    return {**result.record(), "parameters": count(model), **evaluate(model, equation, seed)}


def second_order(name: str, batches: int, samples: int, noise: float, seed: int) -> Record:
    """Ours: Levenberg-Marquardt on one batch from several starts, then Gauss-Newton on all batches, with exact derivatives."""
    equation = find(name)
    module = compiled(equation.source, dict.fromkeys(equation.true, 1.0), "native", list(equation.ranges), torch.float64)
    problem = LeastSquares(module)
    begun = time.perf_counter()
    first = Sampler(equation, samples, noise, seed, torch.float64).next()
    theta = global_fit(problem, first, 20.0, 400 if len(equation.true) > 1 else 40, 12, seed)

    def pieces() -> Any:
        data = Sampler(equation, samples, noise, seed, torch.float64)
        return (data.next() for _ in range(batches))

    theta = refine(problem, theta, pieces)
    values = _canonical(name, dict(zip(problem.names, theta.tolist())))
    problem.put(torch.tensor([values[n] for n in problem.names], dtype=torch.float64))
    seconds = time.perf_counter() - begun
    return {
        "constants": values,
        "error": worst(equation, values),
        "training_seconds": seconds,
        "parameters": count(module),
        **evaluate(lambda inputs: module(**inputs), equation, seed),
    }


def fitted(name: str, samples: int, noise: float, seed: int) -> Record:
    """Ours: the native fit on one table, with standard errors."""
    equation = find(name)
    inputs, values = Sampler(equation, samples, noise, seed, torch.float64).next()
    text = "\n".join(f"(param {n} 1.0)" for n in equation.true) + "\n" + equation.source
    begun = time.perf_counter()
    found = native_fit.fit(text, {**inputs, "target": values}, target="target")
    seconds = time.perf_counter() - begun
    constants = _canonical(name, found.values)
    module = neural_compiler.compile_scheme(equation.source, list(equation.ranges), constants)
    return {
        "constants": constants,
        "errors": found.errors,
        "error": worst(equation, constants),
        "training_seconds": seconds,
        "parameters": len(constants),
        **evaluate(lambda x: module(**x), equation, seed),
    }


def _canonical(name: str, values: dict[str, float]) -> dict[str, float]:
    """Of the values that are the same function, those next to the conventions: squares hide a sign, a sine its phase."""
    if name != "Oscillator":
        return {n: abs(v) if n in ("c", "sigma") else v for n, v in values.items()}
    a, omega, phi = values["A"], values["omega"], values["phi"]
    if omega < 0:
        a, omega, phi = -a, -omega, -phi
    if a < 0:
        a, phi = -a, phi + torch.pi
    return {"A": a, "omega": omega, "phi": (phi + torch.pi) % (2 * torch.pi) - torch.pi}


def efficiency(kind: str, samples: int, epochs: int, seed: int) -> Record:
    """Heat conduction from few noise-free samples, the same in every epoch."""
    equation = find("Heat")
    inputs, values = Sampler(equation, samples, 0.0, seed).clean()
    network_ = kind == "MLP"
    model: nn.Module = (
        Network(len(equation.ranges))
        if network_
        else physics(KINDS[kind], equation.source, equation.hand, {"kappa": 1.0}, list(equation.ranges))
    )
    predict = model if network_ else lambda x: model(**x)
    result = train(model, lambda: (predict(inputs) - values).square().mean(), Settings(epochs, 1e-3 if network_ else LR))
    return {**result.record(), "samples": samples, "parameters": count(model), **evaluate(predict, equation, seed)}


def domain(seed: int) -> Record:
    """Where ranges five times as wide leave the safe domain, as the compiler says it, and the share of samples that stay."""
    from .equations import EQUATIONS

    found = {}
    for equation in EQUATIONS:
        module = neural_compiler.compile_scheme(equation.source, list(equation.ranges), equation.true)
        said = {label: [d.message for d in module.explain_domain(widened(equation, f))] for label, f in (("in", 1.0), ("out", 5.0))}
        values = Sampler(equation, 10_000, 0.0, 90_000 + seed).clean(5.0)[1]
        found[equation.name] = {**said, "safe": torch.isfinite(values).double().mean().item()}
    return {"domains": found}


def cost(name: str, samples: int, rounds: int, steps: int, seed: int) -> Record:
    equation = find(name)
    loops = {}
    for kind in KINDS:
        model = physics(KINDS[kind], equation.source, equation.hand, dict.fromkeys(equation.true, 1.0), list(equation.ranges))
        data = Sampler(equation, samples, 0.02, seed)

        def loss(model: nn.Module = model, data: Sampler = data) -> Tensor:
            inputs, values = data.next()
            return (model(**inputs) - values).square().mean()

        loops[kind] = Loop(model, loss, Settings(1000, LR))
    return {"cost": compare(loops, "hand-coded", rounds, steps)}
