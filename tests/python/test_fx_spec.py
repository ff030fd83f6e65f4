"""The examples of the language reference, run by torch: values, gradients, second derivatives and run-time errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import neural_compiler as nc
import pytest
import torch
from fx_compare import gradient
from neural_compiler.fx import lower

SPEC = Path(__file__).parents[2] / "spec"

# Directives about something else than running a program.
OTHER = ("check ", "chain ", "feed ", "limits ", "inputs ", "input ", "trap:", "net ", "weights ", "model", "derive", "next")


@dataclass
class Example:
    place: str
    program: str
    lines: list[str] = field(default_factory=list)


def examples() -> list[Example]:
    found = []
    for page in sorted(SPEC.glob("*.md")):
        for block in re.finditer(r"```scheme\n(.*?)```", page.read_text(), re.DOTALL):
            text = block.group(1).splitlines()
            lines = [
                t[2:].strip()
                for t in text
                if re.match(r"; (with |=>|~>|grad |hessian |error:|dtype |trap:|check |chain |feed |limits |inputs? )", t)
            ]
            place = f"{page.stem}:{page.read_text()[: block.start()].count(chr(10)) + 1}"
            found.append(Example(place, "\n".join(t for t in text if t[2:].strip() not in lines), lines))
    return found


# Errors of lanes, which every backend gives.
OF_LANES = {"error: index-out-of-range", "error: outside-grid"}
RUN = [
    e
    for e in examples()
    if not any(line.startswith(OTHER) for line in e.lines) and any("=>" in x or "~>" in x or x in OF_LANES for x in e.lines)
]
LONG = "100000"
"""A hundred thousand rounds of a few torch operations each show nothing that a hundred do not."""
RUN = [e for e in RUN if LONG not in e.program]
# What torch's autograd says at points without a derivative; the reference fixes another value.
CONVENTION = {"(atan y x)", "(relu x)"}


def number(text: str) -> float:
    special = {"+inf.0": float("inf"), "-inf.0": float("-inf"), "+nan.0": float("nan"), "#t": 1.0, "#f": 0.0}
    if text in special:
        return special[text]
    above, _, below = text.partition("/")
    return float(above) / float(below) if below else float(text)


def value(text: str) -> Any:
    tokens = re.findall(r"[\[\]]|[^\s\[\]]+", text)

    def one(at: int) -> tuple[Any, int]:
        if tokens[at] != "[":
            return number(tokens[at]), at + 1
        items, at = [], at + 1
        while tokens[at] != "]":
            item, at = one(at)
            items.append(item)
        return items, at + 1

    return one(0)[0]


def same(found: torch.Tensor, wanted: Any, dtype: torch.dtype, what: str) -> None:
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    expected = torch.tensor(wanted, dtype=dtype)
    torch.testing.assert_close(found.detach(), expected, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m: f"{what}: {m}")


def test_there_are_many() -> None:
    assert len(RUN) > 250


@pytest.fixture
def plain_numbers() -> Iterator[None]:
    """A program without inputs has torch's default type."""
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("example", RUN, ids=lambda e: e.place)
def test_example(example: Example, plain_numbers: None) -> None:
    dtype = torch.float32 if "dtype f32" in example.lines else torch.float64
    torch.set_default_dtype(dtype)
    given: dict[str, Any] = {}
    for line in example.lines:
        if line.startswith("with "):
            given = {n.strip(): value(v) for n, v in (p.split(" = ", 1) for p in re.split(r", (?=[^\[\]]* = )", line[5:]))}
        elif line in OF_LANES:
            with pytest.raises((nc.CompileError, nc.EvaluationError), match=line.removeprefix("error: ")):
                run(example, given, dtype)
        elif line.startswith("error:"):
            continue
        elif not line.startswith("dtype"):
            check(example, line, given, dtype)


def run(example: Example, given: dict[str, Any], dtype: torch.dtype) -> tuple[list[str], list[torch.Tensor], torch.Tensor]:
    program = nc.compile(example.program)
    names = [i.name for i in program.inputs]
    values = [given[n] if n in given else program.params[n].tolist() for n in names]
    xs = [torch.tensor(v, dtype=dtype, requires_grad=True) for v in values]
    module = lower(program.graph_json(**{n: tuple(x.shape) for n, x in zip(names, xs)}))
    (found,) = module(*xs)
    assert found.dtype == dtype
    return names, xs, found


def check(example: Example, line: str, given: dict[str, Any], dtype: torch.dtype) -> None:
    if not given and any(i.kind in ("free", "declared", "state", "weight") for i in nc.compile(example.program).inputs):
        pytest.skip("no values for its inputs")
    names, xs, found = run(example, given, dtype)
    what, wanted = re.split(r"=>|~>", line, maxsplit=1)
    match what.split():
        case []:
            same(found, value(wanted.strip()), dtype, example.program)
        case ["grad", name]:
            if example.program.strip() in CONVENTION and "nan" in wanted:
                return
            same(gradient(found, xs)[names.index(name)], value(wanted.strip()), dtype, f"{what} of {example.program}")
        case ["hessian", first, second]:
            x, y = xs[names.index(first)], xs[names.index(second)]
            slope = torch.autograd.grad(found, x, create_graph=True, allow_unused=True)[0]
            rows = [gradient(s, [y])[0].flatten() for s in slope.flatten()] if slope is not None else [torch.zeros_like(y).flatten()]
            shape = [n for n in (x.numel() if x.ndim else 0, y.numel() if y.ndim else 0) if n]
            same(torch.stack(rows).reshape(shape), value(wanted.strip()), dtype, f"{what} of {example.program}")
        case other:
            raise AssertionError(f"unknown line: {other}")
