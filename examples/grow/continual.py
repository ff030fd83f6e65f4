"""Ten tasks, one after another: what is left of the first ones? Frozen programs with a router for each task, beside one network.

    python examples/grow/continual.py [--steps N]

Programs come from an author as tasks come (here a table; `neuralc ask`, `refine` or a person could be one), two of them as compositions of
earlier ones. The network is a multilayer perceptron that is told the task and trained on one task after another. Prints a table: the
error of every task when it was learned and after the last one, and forgetting, the change of the outputs in between.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import neural_compiler.grow as grow
import torch
from torch import Tensor, nn

TASKS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "square": ("(square x)", lambda x: x * x),
    "cube": ("(* x x x)", lambda x: x * x * x),
    "sine": ("(sin x)", torch.sin),
    "exponential": ("(exp x)", torch.exp),
    "successor": ("(+ x 1)", lambda x: x + 1),
    "negation": ("(- x)", lambda x: -x),
    "double": ("(* 2 x)", lambda x: 2 * x),
    "root": ("(sqrt (abs x))", lambda x: x.abs().sqrt()),
    "sine-of-square": ("", lambda x: torch.sin(x * x)),
    "root-of-double": ("", lambda x: (2 * x).abs().sqrt()),
}
COMPOSED = {"sine-of-square": ("sine", "square"), "root-of-double": ("root", "double")}


def points(count: int = 200) -> Tensor:
    return torch.linspace(-2, 2, count, dtype=torch.float64)


def grown() -> tuple[grow.Growing, dict[str, Tensor]]:
    """The model after all tasks, and what each gave when it was learned."""
    model, then = grow.Growing(), {}
    x = points()

    def propose(task: str, columns: Mapping[str, Tensor], target: Tensor) -> Mapping[str, str]:
        return {task: TASKS[task][0]}

    for task, (_, law) in TASKS.items():
        if task in COMPOSED:
            model.compose(task, *COMPOSED[task])
        model.learn(task, {"u": x}, law(x), propose=propose)
        then[task] = model(task, u=x)
    return model, then


class Network(nn.Module):
    """One perceptron for all tasks, told which is meant."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1 + len(TASKS), 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)).double()

    def forward(self, task: int, x: Tensor) -> Tensor:
        told = torch.zeros(len(x), len(TASKS), dtype=torch.float64)
        told[:, task] = 1
        result: Tensor = self.layers(torch.cat([x[:, None], told], 1)).flatten()
        return result


def trained(steps: int) -> tuple[Network, dict[str, Tensor]]:
    """The network after all tasks, and what each gave when it was learned."""
    torch.manual_seed(0)
    model, then = Network(), {}
    x = points()
    for number, (task, (_, law)) in enumerate(TASKS.items()):
        optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
        for _ in range(steps):
            optimiser.zero_grad()
            (model(number, x) - law(x)).square().mean().backward()
            optimiser.step()
        then[task] = model(number, x).detach()
    return model, then


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500, help="steps of the network for each task")
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    x = points()
    model, ours = grown()
    network, theirs = trained(steps)
    print(f"{'task':16} {'frozen: mse':>12} {'forgotten':>10}   {'network: mse':>12} {'at the end':>11} {'forgotten':>10}")
    change: list[tuple[float, float]] = []
    for number, (task, (_, law)) in enumerate(TASKS.items()):
        now, then = model(task, u=x), ours[task]
        after, before = network(number, x).detach(), theirs[task]
        lost = float((now - then).abs().max()), float((after - before).square().mean().sqrt())
        change.append(lost)
        errors = [float((v - law(x)).square().mean()) for v in (now, before, after)]
        print(f"{task:16} {errors[0]:12.1e} {lost[0]:10g}   {errors[1]:12.1e} {errors[2]:11.1e} {lost[1]:10.2g}")
    earlier = change[:-1]
    most, mean = max(c[0] for c in earlier), sum(c[1] for c in earlier) / len(earlier)
    print(f"forgotten of the first nine: frozen {most:g}, network {mean:.2g} (rms, mean)")


if __name__ == "__main__":
    main()
