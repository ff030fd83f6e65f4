"""Every operation of the table, and programs with every kind of control flow and shape, under torch's own checks."""

from __future__ import annotations

import neural_compiler as nc
import pytest
import torch
from neural_compiler.nn.library import operation
from torch.autograd import gradcheck, gradgradcheck
from torch_samples import OPERATIONS, PROGRAMS, Sample

ALL = {**OPERATIONS, **PROGRAMS}


def test_every_operation_has_a_sample() -> None:
    assert set(OPERATIONS) == {o.op for o in nc.operations() if o.surface}


@pytest.mark.parametrize("name", ALL)
def test_first_and_second_derivatives(name: str) -> None:
    sample = ALL[name]
    module = nc.compile_scheme(sample.source, sample.inputs)
    tensors = sample.tensors()
    assert gradcheck(module, tensors, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert gradgradcheck(module, tensors, check_fwd_over_rev=True, check_rev_over_rev=True, check_batched_grad=True)


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("name", ALL)
def test_vmap(name: str, backend: str) -> None:
    sample = ALL[name]
    module = nc.compile_scheme(sample.source, sample.inputs, backend=backend)
    tensors = sample.tensors(3, requires_grad=False)
    expected = module(*tensors)
    torch.testing.assert_close(torch.func.vmap(module)(*tensors), expected, rtol=0, atol=0)
    first, *rest = tensors
    one = [t[0] for t in rest]
    expected = torch.stack([module(row, *one) for row in first], -1)
    torch.testing.assert_close(torch.func.vmap(module, (0, *[None] * len(one)), -1)(first, *one), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("name", ALL)
def test_opcheck(name: str) -> None:
    sample = ALL[name]
    module = nc.compile_scheme(sample.source, sample.inputs)
    _opcheck(module, "[]", sample.tensors())


@pytest.mark.parametrize("name", ["loop", "recursion", "matrices"])
def test_opcheck_of_a_derivative(name: str) -> None:
    sample = ALL[name]
    module = nc.compile_scheme(sample.source, sample.inputs)
    tensors = sample.tensors()
    cotangent = torch.ones_like(module(*tensors)).detach().requires_grad_()
    _opcheck(module, '[["vjp", [0, 1], [0]]]', [*tensors, cotangent])


def _opcheck(module: nc.CompiledModule, chain: str, tensors: list[torch.Tensor]) -> None:
    found = torch.library.opcheck(operation, (module._spec, chain, tensors))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_third_derivative_by_differences(name: str) -> None:
    sample: Sample = PROGRAMS[name]
    module = nc.compile_scheme(sample.source, sample.inputs)
    tensors = [t.detach()[0] for t in sample.tensors(1)]
    direction = [torch.linspace(0.3, 1.0, t.numel(), dtype=t.dtype).reshape(t.shape) for t in tensors]

    def second(step: float) -> torch.Tensor:
        moved = [t + step * d for t, d in zip(tensors, direction)]

        def along(s: torch.Tensor) -> torch.Tensor:
            return module(*[t + s * d for t, d in zip(moved, direction)]).sum()

        return torch.func.grad(torch.func.grad(along))(torch.zeros((), dtype=torch.float64))

    h = 1e-4
    expected = (second(h) - second(-h)) / (2 * h)
    s = torch.zeros((), dtype=torch.float64)
    third = torch.func.grad(torch.func.grad(torch.func.grad(lambda s: module(*[t + s * d for t, d in zip(tensors, direction)]).sum())))(s)
    assert torch.allclose(third, expected, rtol=1e-5, atol=1e-5)
