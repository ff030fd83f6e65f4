"""A module that grows: its parts are frozen programs, and what is learned is which of them a task needs.

In: programs (texts, or modules of a `Library`), tasks (columns and a target); out: an `nn.Module` that computes each task by the program
its router chose. Invariants: a program never changes once it is there; learning a task trains a router of its own and nothing else, so
that what an earlier task gives stays the same to the bit; what a task does can be read.

>>> import torch, neural_compiler.grow as grow
>>> model = grow.Growing({"square": "(square x)", "double": "(* 2 x)"})
>>> u = torch.linspace(-2, 2, 50, dtype=torch.float64)
>>> model.learn("area", {"side": u}, u * u).program
'square'
>>> print(model.explain("area"))
area = square(x=side), exact: (square x)
>>> model("area", side=torch.tensor(3.0, dtype=torch.float64))
tensor(9., dtype=torch.float64)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .library import Library
from .nn import CompiledModule, compile_scheme

Propose = Callable[[str, Mapping[str, Tensor], Tensor], Mapping[str, str]]
"""Gives programs for a task that none of those there computes: name and text."""

MOST_CANDIDATES = 10_000
"""Ways to give columns to the inputs of programs that a router chooses from."""


@dataclass(frozen=True)
class Choice:
    """What a router chose."""

    task: str
    program: str
    columns: dict[str, str]
    """The column that is each input."""
    error: float
    """The largest error on the data of the task, in units of the spread of the target; 0 is exact."""
    entropy: float
    """How undecided the router was before it was made hard, in nats."""


class Router(nn.Module):
    """Weights over candidates: soft while it is trained, then hard."""

    def __init__(self, candidates: list[tuple[str, dict[str, str]]]) -> None:
        super().__init__()
        self.candidates = candidates
        self.logits = nn.Parameter(torch.zeros(len(candidates), dtype=torch.float64))

    def weights(self, temperature: float = 1.0) -> Tensor:
        """How much of each candidate there is."""
        return torch.softmax(self.logits / temperature, 0)

    def train_on(self, values: Tensor, target: Tensor, steps: int, rate: float) -> None:
        """Fits the soft mixture of `values` (a row a candidate) to the target, ever more decided."""
        optimiser = torch.optim.Adam([self.logits], lr=rate)
        for step in range(steps):
            optimiser.zero_grad()
            weights = self.weights(0.05 ** (step / max(steps - 1, 1)))
            loss = (weights @ values - target).square().mean() + (weights @ (values - target).square()).mean()
            loss.backward()
            optimiser.step()
        self.logits.requires_grad_(False)

    def decide(self, candidate: int) -> None:
        """Gives a candidate the largest weight."""
        with torch.no_grad():
            self.logits[candidate] = self.logits.max() + (candidate != self.chosen())

    def chosen(self) -> int:
        """The candidate with the largest weight."""
        return int(self.logits.argmax())


def _check(columns: Mapping[str, Tensor], target: Tensor, tolerance: float) -> None:
    """Refuses what nothing can be learned from: an error that is no number would be below every tolerance."""
    for name, column in [*columns.items(), ("the target", target)]:
        if not isinstance(column, Tensor):
            raise TypeError(f"`{name}` is a {type(column).__name__}: give a tensor, as torch.as_tensor makes one")
        if not bool(torch.isfinite(column).all()):
            raise ValueError(f"`{name}` holds a value that is no finite number")
    if target.numel() == 0:
        raise ValueError("the target has no rows")
    if not 0 <= tolerance < float("inf"):
        raise ValueError(f"a tolerance is a share of the spread, {tolerance} is none")


class Growing(nn.Module):
    """Frozen programs, and a router for each task that was learned."""

    def __init__(self, programs: Mapping[str, str] | None = None) -> None:
        super().__init__()
        # Lists: a program or a task may be called as no attribute of a module can.
        self.parts = nn.ModuleList()
        self.routers = nn.ModuleList()
        self._places: dict[str, int] = {}
        self._choices: dict[str, Choice] = {}
        for name, text in (programs or {}).items():
            self.add(name, text)

    @classmethod
    def from_library(cls, library: Library, names: Iterable[str] | None = None) -> Growing:
        """The modules of a library (all, unless some are named), each under its `name@version`."""
        modules = library.list() if names is None else [library[n] for n in names]
        return cls({m.id: library.export(m.id) for m in modules})

    def add(self, name: str, text: str) -> CompiledModule:
        """Compiles a program and freezes it; a name means one program for ever."""
        if name in self._places:
            raise ValueError(f"`{name}` is there, and a program never changes: give the new one a name of its own")
        made = compile_scheme(text).freeze()
        self._places[name] = len(self.parts)
        self.parts.append(made)
        return made

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of all programs, in the order in which they came."""
        return tuple(self._places)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of all tasks, in the order in which they were learned."""
        return tuple(self._choices)

    def compose(self, name: str, outer: str, inner: str) -> CompiledModule:
        """Adds the program that feeds `inner` into the only input of `outer`, compiled as one."""
        first, second = self._program(inner), self._program(outer)
        return self.add(name, (first >> second).source)

    def learn(
        self,
        task: str,
        columns: Mapping[str, Tensor],
        target: Tensor,
        *,
        tolerance: float = 1e-9,
        propose: Propose | None = None,
        steps: int = 300,
        rate: float = 0.2,
    ) -> Choice:
        """Learns which program, of which columns, computes the target. Where none does within `tolerance` (of the spread of the target),
        `propose` is asked for new programs, which are added. Nothing that was learned before changes."""
        if task in self._choices:
            raise ValueError(f"`{task}` was learned: what a task gives never changes")
        _check(columns, target, tolerance)
        router, choice = self._routed(task, columns, target, steps, rate)
        if choice is None or choice.error > tolerance:
            for name, text in (propose(task, columns, target) if propose else {}).items():
                self.add(name, text)
            router, choice = self._routed(task, columns, target, steps, rate)
        if choice is None or choice.error > tolerance:
            best = "none has values there" if choice is None else f"the best is `{choice.program}`, {choice.error:.2g} of the spread off"
            raise ValueError(f"no program computes `{task}`: {best}")
        self.routers.append(router)
        self._choices[task] = choice
        return choice

    def _routed(self, task: str, columns: Mapping[str, Tensor], target: Tensor, steps: int, rate: float) -> tuple[Router, Choice | None]:
        found = self._candidates(columns)
        with torch.no_grad():
            values = [(c, self._value(c, columns)) for c in found]
        values = [(c, v) for c, v in values if v.shape == target.shape and bool(torch.isfinite(v).all())]
        router = Router([c for c, _ in values])
        if not values:
            return router, None
        wanted = target.detach().to(torch.float64).flatten()
        all_values = torch.stack([v.to(torch.float64).flatten() for _, v in values])
        spread = float(wanted.max() - wanted.min()) or float(wanted.abs().max()) or 1.0
        # Programs of all sizes are compared on one scale, on which the far ones are not farther than they need to be.
        middle = wanted.mean()
        router.train_on(torch.asinh((all_values - middle) / spread), torch.asinh((wanted - middle) / spread), steps, rate)
        weights = router.weights().clamp_min(1e-300)
        errors = (all_values - wanted).abs().amax(1) / spread
        # A soft mixture may favour what is only near: taken hard, the one that is nearest counts.
        router.decide(int(errors.argmin()) if errors[router.chosen()] > errors.min() else router.chosen())
        program, wiring = router.candidates[router.chosen()]
        error = float(errors[router.chosen()])
        return router, Choice(task, program, wiring, error, float(-(weights * weights.log()).sum()))

    def _candidates(self, columns: Mapping[str, Tensor]) -> list[tuple[str, dict[str, str]]]:
        found: list[tuple[str, dict[str, str]]] = []
        for name in self.programs:
            inputs = self._inputs(name)
            for chosen in itertools.permutations(columns, len(inputs)):
                if len(found) == MOST_CANDIDATES:
                    raise ValueError(f"there are more than {MOST_CANDIDATES} ways to give the columns to the programs: give fewer columns")
                found.append((name, dict(zip(inputs, chosen, strict=True))))
        return found

    def _program(self, name: str) -> CompiledModule:
        if name not in self._places:
            raise KeyError(f"there is no program `{name}`; there are {', '.join(self._places) or 'none'}")
        found = self.parts[self._places[name]]
        assert isinstance(found, CompiledModule)
        return found

    def _inputs(self, name: str) -> list[str]:
        return [i.name for i in self._program(name).inputs if i.kind in ("free", "declared")]

    def _value(self, candidate: tuple[str, dict[str, str]], columns: Mapping[str, Tensor]) -> Tensor:
        name, wiring = candidate
        value = self._program(name)(**{i: columns[c] for i, c in wiring.items()})
        assert isinstance(value, Tensor)
        return value

    def forward(self, task: str, **columns: Tensor) -> Tensor:
        """What a task gives: the value of its program alone."""
        choice = self.choice(task)
        return self._value((choice.program, choice.columns), columns)

    def choice(self, task: str) -> Choice:
        """What was chosen for a task."""
        if task not in self._choices:
            raise KeyError(f"`{task}` was not learned; learned were {', '.join(self._choices) or 'none'}")
        return self._choices[task]

    def explain(self, task: str) -> str:
        """What a task does, as a line."""
        choice = self.choice(task)
        wiring = ", ".join(f"{i}={c}" for i, c in choice.columns.items())
        how = "exact" if choice.error == 0 else f"off by {choice.error:.1e} of the spread"
        return f"{task} = {choice.program}({wiring}), {how}: {self._program(choice.program).source.strip()}"
