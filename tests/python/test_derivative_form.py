"""`(d expression name)` in PyTorch: what double backward and torch operations give, with gradients that train a net through it."""

import pytest
import torch
from neural_compiler import compile_scheme

ENERGY = "(net V (q) 8 1) (+ (* 0.5 (square p)) (V q))"
FORCE = "(net V (q) 8 1) (define H (+ (* 0.5 (square p)) (V q))) (- (d H q))"


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_force_of_a_net_is_that_of_double_backward(backend: str) -> None:
    torch.manual_seed(0)
    energy, force = compile_scheme(ENERGY).double(), compile_scheme(FORCE, backend=backend).double()
    force.load_state_dict(energy.state_dict())
    q = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(energy(q=q, p=torch.zeros_like(q)).sum(), q, create_graph=True)
    found = force(q=q, p=torch.zeros_like(q))
    torch.testing.assert_close(found, -slope, rtol=1e-13, atol=1e-13)
    slope.square().sum().backward()
    found.square().sum().backward()
    mine, theirs = dict(force.named_parameters()), dict(energy.named_parameters())
    moved = 0
    for name, parameter in theirs.items():
        if parameter.grad is None:
            continue
        other = mine[name].grad
        expected = torch.zeros_like(parameter) if other is None else other
        torch.testing.assert_close(expected, parameter.grad, rtol=1e-11, atol=1e-12)
        moved += int(parameter.grad.abs().max() > 0)
    assert moved >= 3


def test_known_energy_keeps_the_orbit() -> None:
    module = compile_scheme("(define H (+ (/ (square p) 2) (/ (square q) 2))) [(d H p) (- (d H q))]")
    q, p = torch.tensor(0.3, dtype=torch.float64), torch.tensor(-1.7, dtype=torch.float64)
    torch.testing.assert_close(module(q=q, p=p), torch.stack([p, -q]), rtol=0, atol=0)
