"""Programs with more inputs than a machine word has bits: calls, gradients and types are those of a few inputs."""

from __future__ import annotations

import copy
import pickle

import neural_compiler as nc
import numpy as np
import pytest
import torch

COUNTS = (16, 17, 64, 65, 128, 129, 200)
"""On both sides of what a call keeps without memory of its own, and of one and two words of bits."""


def weighted(count: int) -> nc.CompiledModule:
    params = "".join(f"(param p{i} {(i + 1) / 8})" for i in range(count))
    return nc.compile_scheme(params + "(+ " + " ".join(f"(* p{i} (+ x {i}))" for i in range(count)) + ")")


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("batch", [(), (1,), (7,), (3, 5)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_parameter_has_its_gradient(count: int, batch: tuple[int, ...], dtype: torch.dtype) -> None:
    module = weighted(count)
    # Small whole numbers and eighths: every sum is exact.
    x = torch.arange(max(1, int(np.prod(batch))), dtype=dtype).reshape(batch)
    module(x=x).sum().backward()
    for i in range(count):
        found = getattr(module, f"p{i}").grad
        assert found.dtype == torch.float64 and found.shape == ()
        assert found.item() == (x.double() + i).sum().item()


@pytest.mark.parametrize("count", COUNTS)
def test_some_inputs_shared_some_not(count: int) -> None:
    """Every third input has the batch; those with gradients are every second one."""
    text = "(+ " + " ".join(f"(* {i + 1} (square x{i}))" for i in range(count)) + ")"
    module = nc.compile_scheme(text, inputs=[f"x{i}" for i in range(count)])
    values = [(torch.arange(4.0) + i % 5 if i % 3 == 0 else torch.tensor(float(i % 7))).requires_grad_(i % 2 == 0) for i in range(count)]
    found = module(*values)
    assert torch.equal(found, sum((i + 1) * v.detach() ** 2 for i, v in enumerate(values)))
    found.sum().backward()
    for i, v in enumerate(values):
        expected = 2 * (i + 1) * v.detach() * (1 if i % 3 == 0 else 4)
        assert v.grad is None if i % 2 else torch.equal(v.grad, expected)


@pytest.mark.parametrize("count", COUNTS)
def test_names_and_positions_and_the_longer_way_agree(count: int) -> None:
    names = [f"x{i}" for i in range(count)]
    text = "(+ " + " ".join(f"(sin (* {i + 1} {n}))" for i, n in enumerate(names)) + ")"
    module, program = nc.compile_scheme(text, inputs=names), nc.compile(text, inputs=names)
    values = [torch.linspace(0, 1, 5) + i for i in range(count)]
    by_name = module(**dict(zip(names, values)))
    assert torch.equal(module(*values), by_name)
    assert torch.equal(module.forward(*values), by_name)
    arrays = [v.numpy() for v in values]
    assert np.array_equal(program(*arrays), by_name.numpy())
    assert np.array_equal(program(**dict(zip(names, arrays))), by_name.numpy())
    assert np.array_equal(program(dict(zip(names, arrays))), by_name.numpy())


def test_copies_of_a_module_with_many_parameters() -> None:
    module = weighted(150)
    x = torch.arange(3.0)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x=x), module(x=x))
