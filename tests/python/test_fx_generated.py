"""Generated programs: branches with poles on the sides not taken, loops of uneven length and recursion, nested in one another; the
native backend and torch agree on value and gradient of every lane."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
import torch
from fx_compare import gradient, listed
from neural_compiler.fx import lower

COUNT = 400
INPUTS = ("x", "y", "n")


class Writer:
    """Writes one program. Loops and recursion run over at most a few rounds, set by `n`; values stay moderate, so that rounding does
    not grow until it decides a branch."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[str] = []
        self.count = 0

    def program(self) -> str:
        body = self.value(4, ["x", "y"])
        return "".join(self.functions) + body

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def value(self, depth: int, names: list[str]) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick([*names, *names, "0.5", "-1.25", "2"])
        one, two = (lambda: self.value(depth - 1, names)), (lambda: self.value(depth - 1, names))
        kinds = ["arithmetic", "arithmetic", "function", "branch", "branch", "let", "loop", "recursion", "vector", "choice"]
        match pick(kinds if depth > 1 else kinds[:4]):
            case "arithmetic":
                return f"({pick(['+', '-', '*', 'min', 'max'])} {one()} {two()})"
            case "function":
                return f"({pick(['sin', 'cos', 'tanh', 'atan', 'sigmoid', 'erf', 'abs'])} {one()})"
            case "branch":
                return self.branch(depth, names)
            case "let":
                name = self.fresh("v")
                return f"(let (({name} {one()})) {self.value(depth - 1, [*names, name])})"
            case "loop":
                i, s = self.fresh("i"), self.fresh("s")
                step = self.value(depth - 1, [*names, s])
                return f"(loop (({i} 0) ({s} {one()})) (if (>= {i} {self.rounds()}) {s} (recur (+ {i} 1) (tanh {step}))))"
            case "recursion":
                f, k = self.fresh("f"), self.fresh("k")
                inner = self.value(depth - 1, ["a", "b"])
                again = pick([f"(+ ({f} (- {k} 1) b a) (* 0.5 ({f} (- {k} 2) a b)))", f"(* 0.7 ({f} (- {k} 1) (sin b) a))"])
                self.functions.append(f"(define ({f} {k} a b) (if (<= {k} 0) {inner} (tanh (+ (* 0.5 a) {again}))))")
                return f"({f} {self.rounds()} {one()} {two()})"
            case "vector":
                v = self.fresh("w")
                bound = f"[{one()} {two()} 1]"
                below = f"(+ 1 (norm {v}) (ref {v} {self.random.randrange(3)}) (vsum (abs {v})))"
                return f"(let (({v} {bound})) (/ (dot {v} (* 0.5 {v})) {below}))"
            case _:
                return f"(select (> {one()} {two()}) {one()} {two()})"

    def rounds(self) -> str:
        return self.random.choice(["n", "n", "(- n 1)", "2", "(- 4 n)"])

    def branch(self, depth: int, names: list[str]) -> str:
        """A guard, and behind it what only the guard makes safe."""
        t = self.fresh("t")
        one, other = self.value(depth - 1, names), self.value(depth - 1, names)
        safe = self.random.choice(
            [f"(sqrt {t})", f"(log {t})", f"(/ (sin {t}) {t})", f"(pow {t} 1.5)", f"(/ 1 (+ {t} {t}))", f"(* {t} (log {t}))"]
        )
        return f"(let (({t} {one})) (if (> {t} 0.25) {safe} {other}))"


def same(found: torch.Tensor, expected: torch.Tensor, tolerance: float, what: str) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m: f"{what}\n{m}")


@pytest.mark.parametrize("seed", range(0, COUNT, 20))
def test_both_backends_agree(seed: int) -> None:
    for one in range(seed, seed + 20):
        source = Writer(one).program()
        program = nc.compile(source, inputs=list(INPUTS))
        generator = torch.Generator().manual_seed(one)
        x, y = (torch.rand(7, dtype=torch.float64, generator=generator) * 4 - 2 for _ in range(2))
        n = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 2.0, 1.0], dtype=torch.float64)
        xs = [v.clone().requires_grad_() for v in (x, y, n)]
        (value,) = lower(program.graph_json())(*xs)
        arrays = [v.detach().numpy() for v in xs]
        expected = torch.from_numpy(np.asarray(program(*arrays)))
        same(value.detach(), expected, 1e-11, f"seed {one}: {source}")
        for name, found, want in zip(INPUTS, gradient(value, xs), program.grad(*INPUTS)(*arrays)):
            same(found, torch.from_numpy(np.asarray(want)), 1e-9, f"d/d{name}, seed {one}: {source}")


@pytest.mark.parametrize("seed", range(1000, 1060, 20))
def test_derivative_programs_agree(seed: int) -> None:
    """The program of the derivative, tape and all, runs on torch and gives what it gives natively."""
    for one in range(seed, seed + 20):
        source = Writer(one).program()
        program = nc.compile(source, inputs=list(INPUTS))
        generator = torch.Generator().manual_seed(one)
        given = [torch.rand(5, dtype=torch.float64, generator=generator) * 4 - 2 for _ in range(2)] + [
            torch.tensor([0.0, 3.0, 1.0, 4.0, 2.0]).double()
        ]
        seed_of_walk = torch.ones(5, dtype=torch.float64)
        back = lower(program.graph_json(chain=(("vjp", (0, 1), (0,)),)))(*given, seed_of_walk)
        native = program.grad("x", "y")(*(g.numpy() for g in given))
        for found, want in zip(back, native):
            same(found, torch.from_numpy(np.asarray(want)), 1e-10, f"seed {one}: {source}")


PROGRAMS = json.loads((Path(__file__).parent / "data" / "generated.json").read_text())


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: str(case["seed"]))
def test_programs_of_the_rust_suite_agree(case: dict[str, Any]) -> None:
    """The programs every other executor is held to, as `crates/neural-compiler-testing` writes them: value and gradient."""
    names = [i["name"] for i in case["inputs"]]
    sizes = {i["name"]: tuple(i["shape"]) or None for i in case["inputs"]}
    program = nc.compile(case["source"], inputs={n: s[0] if s and len(s) == 1 else s for n, s in sizes.items()})
    xs = [torch.tensor(i["data"], dtype=torch.float64).reshape(i["shape"]).requires_grad_() for i in case["inputs"]]
    (value,) = lower(program.graph_json())(*xs)
    arrays = [x.detach().numpy() for x in xs]
    same(value.detach(), torch.from_numpy(np.asarray(program(*arrays))), 1e-9, case["source"])
    expected = listed(program.grad(*names)(*arrays), len(names)) if names else []
    for name, found, want in zip(names, gradient(value, xs), expected):
        same(found, torch.from_numpy(np.asarray(want)), 1e-8, f"d/d{name} of {case['source']}")
