"""Stiff equations by `odeint`: values and gradients against SciPy's Radau at tolerances far below; steps of each lane by itself; whole
solutions in one compiled graph."""

from __future__ import annotations

import math

import neural_compiler as nc
import numpy as np
import pytest
import scipy.integrate
import torch
from neural_compiler.nn.fused import FusedStep
from neural_compiler.nn.rosenbrock import Rosenbrock
from neural_compiler.nn.schemes import SCHEMES

F64 = torch.float64
ROBERTSON = """
(param a 0.04) (param b 3e7) (param c 1e4) (state x 1) (state y 0) (state z 0)
(derive x (+ (* (- a) x) (* c y z)))
(derive y (- (* a x) (* c y z) (* b y y)))
(derive z (* b y y))
"""
POL = "(param mu 1000.0) (state x 2) (state v 0) (derive x v) (derive v (- (* mu (- 1 (* x x)) v) x))"
TIMES = np.array([0.0, 0.4, 40.0, 4000.0])


def robertson(values: tuple[float, ...], start: tuple[float, ...] = (1.0, 0.0, 0.0)) -> np.ndarray:
    """The solution at `TIMES`, and behind it its derivatives by a, b, c and the start of x, by the equations of the sensitivities."""
    a, b, c = values

    def field(t: float, w: np.ndarray) -> np.ndarray:
        x, y, z = w[:3]
        rates = np.array([-a * x + c * y * z, a * x - c * y * z - b * y * y, b * y * y])
        jacobian = np.array([[-a, c * z, c * y], [a, -c * z - 2 * b * y, -c * y], [0, 2 * b * y, 0]])
        by = np.array([[-x, 0, y * z, 0], [x, -y * y, -y * z, 0], [0, y * y, 0, 0]])
        return np.concatenate([rates, (jacobian @ w[3:].reshape(3, 4) + by).ravel()])

    begin = np.concatenate([start, [0, 0, 0, 1], np.zeros(8)])
    scale = np.concatenate([np.full(3, 1e-15), np.tile([1e-13, 1e-22, 1e-18, 1e-13], 3)])
    found = scipy.integrate.solve_ivp(field, (0, TIMES[-1]), begin, "Radau", TIMES, rtol=1e-9, atol=scale)
    return found.y.T


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    return robertson((0.04, 3e7, 1e4))


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("method", ["rosenbrock", "auto"])
def test_robertson_and_its_derivatives(method: str, backend: str, reference: np.ndarray) -> None:
    module = nc.compile_scheme(ROBERTSON, backend=backend)
    y0 = torch.tensor([1.0, 0.0, 0.0], dtype=F64, requires_grad=True)
    path = nc.odeint(module, y0, torch.from_numpy(TIMES), method=method, rtol=1e-7, atol=1e-11, max_steps=500)
    np.testing.assert_allclose(path.detach().numpy()[1:], reference[1:, :3], rtol=1e-6)
    for state in (0, 1):
        found = torch.autograd.grad(path[-1, state], [module.a, module.b, module.c, y0], retain_graph=True)
        slopes = [float(found[0]), float(found[1]), float(found[2]), float(found[3][0])]
        np.testing.assert_allclose(slopes, reference[-1, 3 + 4 * state : 7 + 4 * state], rtol=1e-5)


def test_explicit_steps_do_not_get_there() -> None:
    with pytest.raises(RuntimeError, match="more than 2000 steps.*rosenbrock"):
        nc.odeint(nc.compile_scheme(ROBERTSON), None, torch.from_numpy(TIMES), max_steps=2000)


def test_a_relaxation_oscillation_and_its_derivative() -> None:
    def pol(mu: float) -> np.ndarray:
        field = lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]
        jacobian = lambda t, y: [[0, 1], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]]
        return scipy.integrate.solve_ivp(field, (0, 1200), [2, 0], "Radau", [600, 1200], jac=jacobian, rtol=1e-11, atol=1e-13).y[0]

    module = nc.compile_scheme(POL)
    path = nc.odeint(module, None, torch.tensor([0.0, 600.0, 1200.0], dtype=F64), method="auto", rtol=1e-8, atol=1e-10, max_steps=3000)
    np.testing.assert_allclose(path["x"].detach()[1:], pol(1000.0), rtol=1e-6)
    slope = (pol(1000.1) - pol(999.9)) / 0.2
    for k in range(2):
        (found,) = torch.autograd.grad(path["x"][1 + k], module.mu, retain_graph=True)
        # Behind the jump, at 807, the derivative is less exact than the state.
        assert abs(float(found) - slope[k]) < (1e-5, 2e-3)[k] * abs(slope[k])


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_gradients_of_a_step_by_differences(backend: str) -> None:
    module = nc.compile_scheme("[(- (* k (- (cos t) x)) (* x v)) (- x (* 0.4 v v))]", inputs=["x", "v", "k", "t"], backend=backend)

    def both(x: torch.Tensor, v: torch.Tensor, k: torch.Tensor, t: torch.Tensor, h: torch.Tensor) -> list[torch.Tensor]:
        """As one operation of a program, and in torch operations."""
        whole = FusedStep(module, "rosenbrock", ["x", "v"], "t", {"k": k}).with_errors(t, [x, v], h, None)
        law = lambda t, y, pick=None: [k * (torch.cos(t) - y[0]) - y[0] * y[1], y[0] - 0.4 * y[1] ** 2]
        by_hand = Rosenbrock(SCHEMES["rosenbrock"], law, [0, 0]).with_errors(t, [x, v], h)
        for a, b in zip(whole[0] + whole[1], by_hand[0] + by_hand[1]):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)
        return [*whole[0], *by_hand[0]]

    values = [torch.tensor(v, dtype=F64, requires_grad=True) for v in ([1.0, 0.5], [0.3, 0.2], 30.0, 0.1, [0.4, 0.3])]
    assert torch.autograd.gradcheck(both, values) and torch.autograd.gradgradcheck(both, values)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_function_takes_the_steps_of_a_program(backend: str) -> None:
    module = nc.compile_scheme("[(- (* k (- (cos t) x)) (* x v)) (- x (* 0.4 v v))]", inputs=["x", "v", "k", "t"], backend=backend)
    k = torch.tensor(1000.0, dtype=F64, requires_grad=True)
    y0 = torch.tensor([[0.0, 1.0], [2.0, -0.5]], dtype=F64, requires_grad=True)
    times = torch.tensor([0.0, 0.05, 0.3], dtype=F64, requires_grad=True)

    def by_hand(t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, v = y.unbind(-1)
        return torch.stack([k * (torch.cos(t.reshape(-1)) - x) - x * v, x - 0.4 * v * v], -1)

    found = []
    for act in (
        lambda: nc.odeint(module, y0, times, method="rosenbrock", inputs={"k": k}, per_lane=False),
        lambda: nc.odeint(by_hand, y0, times, method="rosenbrock"),
        lambda: nc.odeint(module, y0, times, method="rosenbrock", inputs={"k": lambda t: k + 0 * t}),
    ):
        path = act()
        found.append([path, *torch.autograd.grad(path.square().sum(), [k, y0, times])])
    for others in found[1:]:
        for a, b in zip(found[0], others):
            torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)
    apart = nc.odeint(by_hand, y0, times, method="rosenbrock", per_lane=True)
    torch.testing.assert_close(apart, nc.odeint(module, y0, times, method="rosenbrock", inputs={"k": k}), rtol=1e-9, atol=1e-10)


def test_a_stiff_law_with_a_network_inside() -> None:
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    law = lambda t, y: torch.stack([y[..., 1], 500 * (net(y)[..., 0] - y[..., 1])], -1)
    y0 = torch.tensor([[1.0, 0.0], [0.2, -1.0]], dtype=F64)

    def loss(rtol: float) -> torch.Tensor:
        return nc.odeint(law, y0, [0.0, 0.5], method="rosenbrock", rtol=rtol).square().sum()

    weights = list(net.parameters())
    found, tight = torch.autograd.grad(loss(1e-5), weights), torch.autograd.grad(loss(1e-8), weights)
    for a, b in zip(found, tight):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)
    with torch.no_grad():
        weight, step = weights[0], 1e-3
        weight[1, 1] += step
        above = loss(1e-8)
        weight[1, 1] -= 2 * step
        below = loss(1e-8)
        weight[1, 1] += step
    assert math.isclose(float((above - below) / (2 * step)), float(tight[0][1, 1]), rel_tol=1e-5)


def test_elements_of_a_batch_that_depend_on_each_other_are_refused() -> None:
    coupled = lambda t, y: y.roll(1, 0) - y
    with pytest.raises(ValueError, match="depends on another"):
        nc.odeint(coupled, torch.rand(3, 2, dtype=F64), [0.0, 1.0], method="rosenbrock")
    for one, other in [(0, 8), (1, 65), (64, 0), (70, 71)]:
        # A single element that depends on another, which lies before or behind it.
        at = torch.arange(80)[:, None] == one
        pair = lambda t, y: torch.where(at, y[other], -y)
        with pytest.raises(ValueError, match="depends on another"):
            nc.odeint(pair, torch.rand(80, 2, dtype=F64), [0.0, 1.0], method="rosenbrock")


@pytest.mark.parametrize("method", ["dopri5", "rosenbrock", "auto"])
def test_lanes_do_not_see_each_other(method: str) -> None:
    mu = torch.tensor([[1.0, 5.0, 40.0], [2.0, 0.1, 100.0]], dtype=F64)
    free = nc.compile_scheme(POL.replace("(param mu 1000.0)", ""))
    y0 = torch.tensor([[2.0, 0.0], [1.0, 0.5], [0.1, -1.0]], dtype=F64).expand(2, 3, 2).clone().requires_grad_()
    mu.requires_grad_()
    whole = nc.odeint(free, y0, [0.0, 1.0, 2.5], method=method, inputs={"mu": mu})
    weights = torch.linspace(0.5, 2, whole.numel(), dtype=F64).reshape(whole.shape)
    slopes = torch.autograd.grad((whole * weights).sum(), [y0, mu])
    assert whole.shape == (3, 2, 3, 2)
    for i in range(2):
        for j in range(3):
            start, m = y0[i, j].detach().requires_grad_(), mu[i, j].detach().requires_grad_()
            one = nc.odeint(free, start, [0.0, 1.0, 2.5], method=method, inputs={"mu": m})
            assert torch.equal(one, whole[:, i, j])
            alone = torch.autograd.grad((one * weights[:, i, j]).sum(), [start, m])
            torch.testing.assert_close(slopes[0][i, j], alone[0], rtol=1e-12, atol=1e-14)
            torch.testing.assert_close(slopes[1][i, j], alone[1], rtol=1e-12, atol=1e-14)


def test_a_step_that_leaves_the_domain_leaves_no_trace_in_gradients() -> None:
    # The first trial step of the fast lane crosses 0, where log has no value; the slow lane takes its steps meanwhile.
    module = nc.compile_scheme("(state x 1) (derive x (* r (+ 1 (log x))))")
    r = torch.tensor([-0.1, -60.0], dtype=F64, requires_grad=True)
    path = nc.odeint(module, None, [0.0, 0.05], inputs={"r": r}, rtol=1e-9, step=0.05)["x"][-1]
    # With u = 1 + log x: u' = r u / x; the reference is SciPy's.
    end = lambda k: scipy.integrate.solve_ivp(lambda t, x: k * (1 + np.log(x)), (0, 0.05), [1.0], "Radau", rtol=1e-12, atol=1e-14).y[0, -1]
    expected = [(end(k + 1e-3) - end(k - 1e-3)) / 2e-3 for k in (-0.1, -60.0)]
    (found,) = torch.autograd.grad(path.sum(), r)
    np.testing.assert_allclose(path.detach(), [end(-0.1), end(-60.0)], rtol=1e-7)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


SPRING = "(param k 4.0) (state x 1.0) (state v 0.0) (derive x v) (derive v (* (- k) x))"


@pytest.mark.parametrize(("method", "backend"), [("rk4", "native"), ("rk4", "torch"), ("euler", "native")])
def test_fixed_steps_are_one_compiled_graph(method: str, backend: str) -> None:
    module = nc.compile_scheme(SPRING, backend=backend)
    y0 = torch.tensor([[1.0, 0.2], [0.5, 0.1]], dtype=F64, requires_grad=True)

    def loss(y0: torch.Tensor) -> torch.Tensor:
        return nc.odeint(module, y0, [0.0, 0.2, 0.5], method=method, step=0.1).square().sum()

    torch._dynamo.reset()
    expected = loss(y0)
    found = torch.compile(loss, backend="aot_eager", fullgraph=True)(y0)
    assert torch.equal(found, expected)
    for a, b in zip(torch.autograd.grad(found, [y0, module.k]), torch.autograd.grad(expected, [y0, module.k])):
        torch.testing.assert_close(a, b, rtol=1e-14, atol=0)


def test_what_one_graph_cannot_hold_says_so() -> None:
    module = nc.compile_scheme(SPRING)
    y0, times = torch.tensor([1.0, 0.2], dtype=F64), torch.tensor([0.0, 0.5], dtype=F64)
    whole = lambda **options: torch.compile(lambda y: nc.odeint(module, y, times, **options), backend="eager", fullgraph=True)
    torch.testing.assert_close(whole(method="rk4")(y0), nc.odeint(module, y0, times, method="rk4"))
    with pytest.raises(Exception, match="give them as a list of numbers"):
        whole(method="rk4", step=0.1)(y0)
    with pytest.raises(Exception, match="rk4 and euler are one graph"):
        whole(method="dopri5")(y0)
    loose = torch.compile(lambda y: nc.odeint(module, y, times), backend="eager")
    torch.testing.assert_close(loose(y0), nc.odeint(module, y0, times))


def _time_and_derivative(power: float, end: float) -> tuple[float, float]:
    """When x' = k - x^power is at `end`, from 0 and with k of 1, and how it moves with k there. The time is the integral of
    1/(1 - u^power), here with u^power as variable."""
    n, last = 1 / power, end**power
    times, slope = (scipy.integrate.quad(lambda s, m=m: n * s ** (n - 1) / (1 - s) ** m, 0, last, epsabs=1e-13)[0] for m in (1, 2))
    return times, (1 - last) * slope


@pytest.mark.parametrize("method", ["rosenbrock", "rodas5p", "auto"])
@pytest.mark.parametrize("start", [1e-300, 1e-100, 1e-30, 1e-12])
@pytest.mark.parametrize("power", [0.5, 0.1])
def test_a_tiny_start_beside_an_endless_slope_is_left(power: float, start: float, method: str) -> None:
    text = f"(param k 1) (state x {start}) (derive x (- k (pow x {power})))"
    found = []
    for backend in ("native", "torch"):
        module = nc.compile_scheme(text, backend=backend)
        end = nc.odeint(module, None, torch.tensor([0.0, 1.0], dtype=F64), method=method, rtol=1e-8)["x"][-1]
        time, slope = _time_and_derivative(power, end.item())
        assert math.isclose(time, 1, rel_tol=1e-6)
        if (start, power) != (1e-300, 0.1):
            # There the law's second derivative is larger than any number.
            assert math.isclose(float(torch.autograd.grad(end, module.k)[0]), slope, rel_tol=1e-6)
        found.append(end.detach())
    by_hand = nc.odeint(lambda t, y: 1 - y**power, torch.tensor([start], dtype=F64), [0.0, 1.0], method=method, rtol=1e-8)
    for other in (found[1], by_hand[-1, 0]):
        torch.testing.assert_close(other, found[0], rtol=1e-7, atol=0)


@pytest.mark.parametrize("method", ["rosenbrock", "auto"])
def test_lanes_that_leave_a_tiny_start_do_not_disturb_others(method: str) -> None:
    law = nc.compile_scheme("(state x 1) (state y 1) (derive x (- k (pow x 0.1))) (derive y (* 1000 (- x y)))", inputs=["k"])
    k = torch.tensor([1.0, 2.0, 0.5, 1.0], dtype=F64, requires_grad=True)
    start = torch.tensor([[1e-100, 0.0], [0.5, 1.0], [1e-30, 1e-12], [2.0, 2.0]], dtype=F64)
    times = [0.0, 1e-9, 0.3, 1.0]
    whole = nc.odeint(law, start, times, method=method, inputs={"k": k})
    (slope,) = torch.autograd.grad(whole[-1].sum(), k)
    _, pushed = torch.func.jvp(
        lambda k: nc.odeint(law, start, times, method=method, inputs={"k": k})[-1].sum(), (k,), (torch.ones_like(k),)
    )
    torch.testing.assert_close(pushed, slope.sum(), rtol=1e-10, atol=0)
    for i in range(4):
        alone = nc.odeint(law, start[i], times, method=method, inputs={"k": k[i]})
        assert torch.equal(alone, whole[:, i])


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("method", ["rosenbrock", "rodas5p", "auto"])
def test_a_look_at_what_errors_do_not_show_changes_no_usual_step(method: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def solved(text: str) -> list[torch.Tensor]:
        module = nc.compile_scheme(text, backend=backend)
        return list(nc.odeint(module, None, torch.tensor([0.0, 1.0, 100.0], dtype=F64), method=method).values())

    looked = [v for text in (ROBERTSON, POL) for v in solved(text)]
    monkeypatch.setattr(nc.nn.march, "overlooked", lambda *_: np.False_)
    for a, b in zip(looked, [v for text in (ROBERTSON, POL) for v in solved(text)], strict=True):
        assert torch.equal(a, b)
