"""The paper's statements about whole models, checked; docs/claims.md says which test stands for which."""

from __future__ import annotations

import pytest
import torch

from experiments.common.nets import compiled, count, mlp
from experiments.feynman.equations import EQUATIONS
from experiments.feynman.runs import Sampler


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.name)
def test_true_constants_leave_no_error_anywhere(equation) -> None:  # type: ignore[no-untyped-def]
    """Theorem 4: on ranges five times as wide, the very bits of the equation; and it has no value where the equation has none."""
    inputs, values = Sampler(equation, 10_000, 0.0, 11).clean(5.0)
    with torch.no_grad():
        found = compiled(equation.source, equation.true, "torch", list(equation.ranges))(**inputs)
        native = compiled(equation.source, equation.true, "native", list(equation.ranges), torch.float64)(
            **{n: x.double() for n, x in inputs.items()}
        )
    assert torch.equal(torch.isnan(found), torch.isnan(values))
    safe = ~torch.isnan(values)
    assert torch.equal(found[safe], values[safe])
    # Native functions in float64 differ from torch's by their last bits only.
    wide = torch.isfinite(values) & torch.isfinite(native)
    true = {n: torch.tensor(v, dtype=torch.float64) for n, v in equation.true.items()}
    reference = equation.hand(**true, **{n: x.double() for n, x in inputs.items()})
    assert torch.allclose(native[wide], reference[wide], rtol=1e-12, atol=0)


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.name)
def test_a_compiled_equation_trains_its_constants_and_nothing_else(equation) -> None:  # type: ignore[no-untyped-def]
    """Proposition 6."""
    assert count(compiled(equation.source, equation.true, "native", list(equation.ranges))) == len(equation.true)
    assert count(mlp((len(equation.ranges), 64, 64, 64, 64, 1), "relu")) >= 12_673


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_gradients_flow_through_frozen_modules(backend: str) -> None:
    """Corollary 3: the gradient of the network is the derivative of the module times that of the network, to rounding in float64."""
    torch.manual_seed(4)
    net = mlp((2, 8, 1), "tanh").double()
    frozen = compiled("(/ (sin z) (+ 1 (* z z)))", {}, backend, ["z"], torch.float64).freeze()
    assert count(frozen) == 0
    x = torch.randn(50, 2, dtype=torch.float64)
    frozen(z=net(x)[:, 0]).sum().backward()
    through = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    net.zero_grad()
    z = net(x)[:, 0]
    at = z.detach()
    slope = (torch.cos(at) * (1 + at * at) - 2 * at * torch.sin(at)) / (1 + at * at) ** 2
    z.backward(slope)
    for a, p in zip(through, net.parameters()):
        assert p.grad is not None
        assert torch.allclose(a, p.grad, rtol=1e-12, atol=1e-14)
