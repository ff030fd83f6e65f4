"""`odeint` against closed forms, SciPy and torchdiffeq; its gradients against theirs and by differences."""

from __future__ import annotations

import math
import warnings

import neural_compiler as nc
import numpy as np
import pytest
import scipy.integrate
import torch
import torchdiffeq
from neural_compiler.nn.rosenbrock import Rosenbrock
from neural_compiler.nn.schemes import NAMES, SCHEMES
from neural_compiler.nn.steppers import Explicit

F64 = torch.float64
SPRING = "(param k 4.0) (state x 1.0) (state v 0.0) (derive x v) (derive v (* (- k) x))"
HUNT = """
(param a 1.1) (param b 0.4) (param c 0.4) (param d 0.1)
(state x 10) (state y 5)
(derive x (- (* a x) (* b x y)))
(derive y (- (* d x y) (* c y)))
"""
TIMES = torch.linspace(0, 8, 17, dtype=F64)
START = torch.tensor([10.0, 5.0], dtype=F64)


def hunt(t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    prey, predators = y.unbind(-1)
    return torch.stack([1.1 * prey - 0.4 * prey * predators, 0.1 * prey * predators - 0.4 * predators], -1)


def test_closed_form() -> None:
    times = torch.linspace(0, 3, 31, dtype=F64)
    for method, options, error in [("dopri5", {"rtol": 1e-10}, 1e-8), ("rk4", {"step": 0.01}, 1e-8), ("euler", {"step": 1e-3}, 2e-2)]:
        with torch.no_grad():
            path = nc.odeint(nc.compile_scheme(SPRING), {"x": torch.tensor(1.0, dtype=F64)}, times, method=method, **options)
        assert path["x"].dtype == F64 and path["x"].shape == (31,)
        assert float((path["x"] - torch.cos(2 * times)).abs().max()) < error
        assert float((path["v"] + 2 * torch.sin(2 * times)).abs().max()) < 2 * error


def test_against_scipy() -> None:
    expected = scipy.integrate.solve_ivp(
        lambda t, y: hunt(torch.tensor(t), torch.from_numpy(y)).numpy(),
        (0, 8),
        START.numpy(),
        "DOP853",
        TIMES.numpy(),
        rtol=1e-12,
        atol=1e-12,
    )
    found = nc.odeint(nc.compile_scheme(HUNT), START, TIMES, rtol=1e-10)
    np.testing.assert_allclose(found.detach().numpy(), expected.y.T, rtol=1e-7)


def test_rk4_is_that_of_torchdiffeq_with_the_classical_tableau() -> None:
    # Theirs is the 3/8 rule: both are of fourth order, so a step of h differs by h^5.
    ours = nc.odeint(nc.compile_scheme(HUNT), START, TIMES, method="rk4", step=0.01)
    theirs = torchdiffeq.odeint(hunt, START, TIMES, method="rk4", options={"step_size": 0.01})
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-7)


def exact(t: float) -> torch.Tensor:
    return torch.tensor([math.cos(2 * t), -2 * math.sin(2 * t)], dtype=F64)


def test_orders() -> None:
    spring = nc.compile_scheme(SPRING)
    y0 = torch.tensor([1.0, 0.0], dtype=F64)
    errors = [abs(float(nc.odeint(spring, y0, [0.0, 1.0], method="rk4", step=h)[-1, 0].detach()) - math.cos(2)) for h in (0.1, 0.05)]
    assert 3.8 < math.log2(errors[0] / errors[1]) < 4.3
    # One step of order p is wrong by the power p + 1 of its length.
    field = lambda t, y, pick=None: [torch.stack([y[0][1], -4 * y[0][0]])]
    for scheme in {s.name: s for s in SCHEMES.values()}.values():
        step = Explicit(scheme, field) if scheme.kind == "explicit" else Rosenbrock(scheme, field, [1])
        errors = []
        for h in (0.1, 0.05):
            after = step.with_errors(torch.tensor(0.0, dtype=F64), [y0], torch.tensor(h, dtype=F64))[0]
            errors.append(float((after[0] - exact(h)).norm()))
        # The leading errors of these are small for a linear law, and the steps long for them.
        most = {"tsit5": 1.7, "rodas5p": 2.0}.get(scheme.name, 1.3)
        assert scheme.order + 0.8 < math.log2(errors[0] / errors[1]) < scheme.order + most, scheme.name


@pytest.mark.parametrize("method", NAMES)
def test_every_scheme_is_the_same_in_fits_and_in_both_kinds_of_steps(method: str) -> None:
    """Rows of the table: natively by a compiled module, in torch operations by a function, and in a prediction."""
    times = [0.25 * k for k in range(9)]
    options: dict[str, float] = {"step": 0.01} if method in SCHEMES and not SCHEMES[method].adaptive else {"rtol": 1e-9}
    native = nc.odeint(nc.compile_scheme(HUNT), START, times, method=method, **options).detach()
    by_hand = nc.odeint(hunt, START, times, method=method, **options)
    torch.testing.assert_close(native, by_hand, rtol=1e-7, atol=1e-7)
    told = nc.predict(HUNT, {"t": np.array(times)}, method=method, **options)
    np.testing.assert_allclose(np.stack([told["x"], told["y"]], 1), native.numpy(), rtol=1e-6, atol=1e-7)
    exact = scipy.integrate.solve_ivp(
        lambda t, y: hunt(torch.tensor(t), torch.from_numpy(y)).numpy(), (0, 2), START.numpy(), "DOP853", times, rtol=1e-12, atol=1e-12
    ).y.T
    np.testing.assert_allclose(native.numpy(), exact, rtol=0.05 if method == "euler" else 1e-6)


@pytest.mark.parametrize("method", ["dopri5", "rk4"])
def test_gradients_are_those_of_torchdiffeq(method: str) -> None:
    module = nc.compile_scheme(HUNT)
    y0 = START.clone().requires_grad_()
    options = {"rtol": 1e-10} if method == "dopri5" else {"step": 0.02}
    loss = nc.odeint(module, y0, TIMES, method=method, **options).square().sum()
    found = torch.autograd.grad(loss, [y0, module.a, module.d])
    a, d = (torch.tensor(v, dtype=F64, requires_grad=True) for v in (1.1, 0.1))

    def field(t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        prey, predators = y.unbind(-1)
        return torch.stack([a * prey - 0.4 * prey * predators, d * prey * predators - 0.4 * predators], -1)

    theirs = torchdiffeq.odeint(field, y0, TIMES, rtol=1e-11, atol=1e-12).square().sum()
    for ours, expected in zip(found, torch.autograd.grad(theirs, [y0, a, d])):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


def test_gradcheck() -> None:
    module = nc.compile_scheme("[v (- (* (- k) x) (* c v) (* -1 f))]", inputs=["x", "v", "k", "c", "f"])

    def end(x: torch.Tensor, v: torch.Tensor, k: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        path = nc.odeint(module, {"x": x, "v": v}, t, method="rk4", step=0.2, inputs={"k": k, "c": 0.3, "f": lambda t: torch.sin(3 * t)})
        return path["x"]

    values = [torch.tensor(v, dtype=F64, requires_grad=True) for v in (1.0, 0.2, 2.5, [0.0, 0.5, 1.25])]
    assert torch.autograd.gradcheck(end, values) and torch.autograd.gradgradcheck(end, values)


def test_a_batch_and_a_network_inside() -> None:
    torch.manual_seed(0)
    physics = nc.compile_scheme("[v (- u (sin x))]", inputs=["x", "v", "u"])
    net = torch.nn.Linear(2, 1, dtype=F64)
    y0 = torch.randn(5, 2, dtype=F64)
    path = nc.odeint(lambda t, y: physics(x=y[:, 0], v=y[:, 1], u=net(y)[:, 0]), y0, torch.linspace(0, 1, 4, dtype=F64), method="rk4")
    assert path.shape == (4, 5, 2)
    path.square().sum().backward()
    assert net.weight.grad is not None and bool(torch.isfinite(net.weight.grad).all())
    one = nc.odeint(lambda t, y: physics(x=y[:, 0], v=y[:, 1], u=net(y)[:, 0]), y0[2:3], torch.linspace(0, 1, 4, dtype=F64), method="rk4")
    torch.testing.assert_close(path[:, 2:3], one, rtol=1e-14, atol=1e-14)


def test_vector_states_time_and_backward_in_time() -> None:
    decay = nc.compile_scheme("(param k 0.5) (state u [1 2 3]) (state w 1) (derive u (* (- k) u)) (derive w (* -2 t w))")
    path = nc.odeint(decay, {"u": torch.ones(4, 3, dtype=F64)}, [0.0, 2.0], rtol=1e-10)
    torch.testing.assert_close(path["u"][-1].detach(), torch.full((4, 3), math.exp(-1), dtype=F64), rtol=1e-8, atol=0)
    torch.testing.assert_close(path["w"][-1].detach(), torch.full((4,), math.exp(-4), dtype=F64), rtol=1e-7, atol=0)
    back = nc.odeint(decay, {"u": path["u"][-1], "w": path["w"][-1]}, [2.0, 0.0], rtol=1e-10)
    torch.testing.assert_close(back["u"][-1].detach(), torch.ones(4, 3, dtype=F64), rtol=1e-8, atol=0)


def test_types_follow_the_initial_values() -> None:
    for dtype in (torch.float32, F64):
        assert nc.odeint(nc.compile_scheme(SPRING), START.to(dtype), TIMES)[-1].dtype == dtype


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_derivatives_are_taken_in_the_type_of_the_state(dtype: torch.dtype, method: str) -> None:
    # Layers within autocast give shorter numbers than the state.
    torch.manual_seed(0)
    net, start = torch.nn.Linear(2, 2), torch.tensor([[1.0, 0.0], [0.5, -0.3], [2.0, 1.0]])
    options = {"step": 0.05} if method in ("rk4", "euler") else {"rtol": 1e-3}
    exact = nc.odeint(lambda t, y: net(y), start, [0.0, 1.0], method="dopri5")[-1].detach()
    with torch.autocast("cpu", dtype=dtype):
        assert net(start).dtype == dtype
        found = nc.odeint(lambda t, y: net(y), start, [0.0, 1.0], method=method, **options)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found[-1].detach(), exact, rtol=0.02, atol=0.02)
    found.sum().backward()
    assert net.weight.grad is not None and torch.isfinite(net.weight.grad).all()


def test_derivatives_of_real_states_are_real() -> None:
    with pytest.raises(TypeError, match="the derivative of a real state is real, not torch.complex64"):
        nc.odeint(lambda t, y: 1j * y, torch.ones(2), [0.0, 1.0])


def test_what_cannot_be_solved_says_so() -> None:
    burst = nc.compile_scheme("(state x 1) (derive x (* x x))")
    with pytest.raises(RuntimeError, match="at 1: it may be stiff .*, or its solution may not exist"):
        nc.odeint(burst, None, torch.tensor([0.0, 2.0], dtype=F64))
    stiff = nc.compile_scheme("(state x 0) (derive x (* 1e9 (- (cos t) x)))")
    with pytest.raises(RuntimeError, match="more than 1000 steps"):
        nc.odeint(stiff, None, [0.0, 1.0], max_steps=1000)


def test_mistakes() -> None:
    spring = nc.compile_scheme(SPRING)
    forced = nc.compile_scheme("(state x 1) (derive x (* f x))")
    mistakes = [
        (ValueError, "method is one of auto, dopri5", lambda: nc.odeint(spring, START, TIMES, method="rk5")),
        (ValueError, "no state `z`; there are x, v", lambda: nc.odeint(spring, {"z": 1.0}, TIMES)),
        (ValueError, "runs over the states x, v", lambda: nc.odeint(spring, torch.ones(3), TIMES)),
        (ValueError, "without repeating", lambda: nc.odeint(spring, START, [0.0, 1.0, 1.0])),
        (ValueError, "finite", lambda: nc.odeint(spring, START, [0.0, math.nan])),
        (TypeError, "the input `f` of the module must be given in `inputs`", lambda: nc.odeint(forced, None, TIMES)),
        (TypeError, "initial value is a tensor", lambda: nc.odeint(hunt, None, TIMES)),
        (ValueError, r"shape of the state, \[2\], not \[3\]", lambda: nc.odeint(lambda t, y: torch.ones(3), START, TIMES)),
        (ValueError, "vector of 2 derivatives", lambda: nc.odeint(nc.compile_scheme("[x v 1]"), {"x": 1.0, "v": 0.0}, TIMES)),
        (ValueError, "positive", lambda: nc.odeint(spring, START, TIMES, step=0.0)),
        (TypeError, "a dict from state to value, a tensor or None, not list", lambda: nc.odeint(spring, [1.0, 0.0], TIMES)),
    ]
    for kind, words, act in mistakes:
        with pytest.raises(kind, match=words):
            act()


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_whole_steps_as_one_operation_are_the_same_steps(method: str) -> None:
    # The torch backend takes its steps operation by operation.
    source = """(param k 1.5) (param w [0.3 0.7]) (state u [1 2]) (state m 0.5)
    (derive u (* m (- (* k (sin (* t u))) w))) (derive m (- (dot w u) (* f m)))"""
    times = torch.tensor([0.0, 0.4, 1.1], dtype=F64)
    found = []
    for backend in ("native", "torch"):
        module = nc.compile_scheme(source, backend=backend)
        u, f = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=F64, requires_grad=True), torch.tensor(0.3, dtype=F64, requires_grad=True)
        t = times.clone().requires_grad_(method == "rk4")
        path = nc.odeint(module, {"u": u}, t, method=method, step=0.1, inputs={"f": f})
        loss = path["u"].square().sum() + path["m"].sum()
        wrt = [u, f, module.k, module.w, *([t] if method == "rk4" else [])]
        found.append([path["u"].detach(), path["m"].detach(), *torch.autograd.grad(loss, wrt)])
    for native, plain in zip(*found):
        torch.testing.assert_close(native, plain, rtol=1e-11, atol=1e-11)


def test_transforms_go_through_whole_steps() -> None:
    spring = nc.compile_scheme(SPRING)
    times = torch.tensor([0.0, 0.5], dtype=F64)

    def end(y0: torch.Tensor) -> torch.Tensor:
        return nc.odeint(spring, y0, times, method="rk4", step=0.1)[-1]

    y0 = torch.tensor([1.0, 0.2], dtype=F64)
    expected = torch.autograd.functional.jacobian(end, y0)
    torch.testing.assert_close(torch.func.jacrev(end)(y0), expected)
    torch.testing.assert_close(torch.func.jacfwd(end)(y0), expected)
    torch.testing.assert_close(torch.func.vmap(end)(torch.stack([y0, 2 * y0])), torch.stack([end(y0), end(2 * y0)]))
    assert torch.autograd.gradgradcheck(end, y0.requires_grad_())


def test_twenty_states() -> None:
    names = [f"x{i}" for i in range(20)]
    source = "".join(f"(state {n} {i}) " for i, n in enumerate(names)) + "".join(
        f"(derive {n} (- {names[(i + 1) % 20]} {n}))" for i, n in enumerate(names)
    )
    y0 = torch.arange(20.0, dtype=F64, requires_grad=True)
    found = nc.odeint(nc.compile_scheme(source), y0, [0.0, 0.3], method="rk4", step=0.1)[-1]
    expected = nc.odeint(lambda t, y: y.roll(-1) - y, y0, torch.tensor([0.0, 0.3], dtype=F64), method="rk4", step=0.1)[-1]
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(*(torch.autograd.grad(v.square().sum(), y0)[0] for v in (found, expected)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "at", "by"),
    [
        ("(param T 1.0) (state x 1.0) (derive x (if (< t T) 2 (- x)))", "(< t T)", "T"),
        ("(state x 1.0) (derive x (- (floor (* 2 t)) x))", "(floor (* 2 t))", None),
        # Inside a function, a choice and a loop; the lag is an input.
        (
            "(param a 1.0) (define (dose u) (if (> u lag) a 0)) (state x [1 2]) (derive x (if (> a 0) (* x (dose t)) x))",
            "(> u lag)",
            "lag",
        ),
        (
            "(param T 1.0) (state x 1.0) (derive x (let loop ((k 0) (s x)) (if (< k 3) (loop (+ k 1) (if (< t T) 1 s)) (- s x))))",
            "(< t T)",
            "T",
        ),
        # Conditions on states, smooth laws, and laws without time.
        ("(state x 1.0) (derive x (if (< x t) 1 (- x)))", None, None),
        ("(param k 1.0) (state x 1.0) (derive x (* k (sin t)))", None, None),
        ("(param k 1.0) (state x 1.0) (derive x (if (< k 1) 1 (- x)))", None, None),
    ],
)
def test_conditions_on_time_are_warned_of(law: str, at: str | None, by: str | None) -> None:
    module = nc.compile_scheme(law)
    moves = "" if by is None else f"; gradients by `{by}` leave out that this time moves"
    said = f"the law changes its form at a time, `{at}`: odeint does not stop there, and a step may pass over it{moves}"
    for method in ("dopri5", "rk4"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            nc.odeint(module, None, [0.0, 0.5, 2.0], method=method, inputs={"lag": 0.5} if "lag" in law else None)
        assert [(str(w.message), w.filename) for w in caught] == ([] if at is None else [(said, __file__)])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"rtol": -1.0}, ValueError, "`rtol` is a positive number"),
        ({"rtol": float("inf")}, ValueError, "`rtol` is a positive number"),
        ({"rtol": float("nan")}, ValueError, "`rtol` is a positive number"),
        ({"atol": -1.0}, ValueError, "`atol` is a positive number"),
        ({"rtol": "1e-6"}, TypeError, "`rtol` is a number"),
        ({"atol": {"x": 1e-6}}, TypeError, "`atol` is a number"),
        ({"rtol": 1e-9, "method": "rk4"}, ValueError, "choose their steps"),
        ({"max_steps": -1}, ValueError, "`max_steps`"),
    ],
)
def test_tolerances_that_say_nothing_are_refused(options, error, said):
    decay = nc.compile_scheme("(param k 1) (state x 1) (derive x (- (* k x)))")
    with pytest.raises(error, match=said):
        nc.odeint(decay, None, [0.0, 1.0], **options)


def test_tensors_without_numbers_are_refused_where_numbers_are_needed():
    from torch._subclasses.fake_tensor import FakeTensorMode

    times = [0.0, 0.5, 1.0]
    start = torch.ones(2, dtype=torch.float64, device="meta")
    for method in ("dopri5", "rosenbrock", "auto"):
        with pytest.raises(ValueError, match="has a shape and no numbers"):
            nc.odeint(lambda t, y: -y, start, times, method=method)
    with pytest.raises(ValueError, match="give them as a list"):
        nc.odeint(lambda t, y: -y, start, torch.zeros(3, device="meta"), method="rk4")
    assert nc.odeint(lambda t, y: -y, start, times, method="rk4").shape == (3, 2)
    with FakeTensorMode():
        start = torch.ones(2, dtype=torch.float64)
        with pytest.raises(ValueError, match="has a shape and no numbers"):
            nc.odeint(lambda t, y: -y, start, times, method="dopri5")
        assert nc.odeint(lambda t, y: -y, start, times, method="rk4").shape == (3, 2)


@pytest.mark.parametrize("times", [[0.0, 1.0], torch.tensor([0.0, 1.0])], ids=["list", "tensor"])
@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_declared_starts_go_where_the_parameters_are(backend: str, times: list[float] | torch.Tensor) -> None:
    decay = nc.compile_scheme("(param k 1) (state x 1) (derive x (- (* k x)))", backend=backend).to("meta")
    for y0 in (None, {"x": 1.0}):
        found = nc.odeint(decay, y0, times, method="rk4")["x"]
        assert found.is_meta and found.shape == (2,) and found.requires_grad
        for method in ("dopri5", "rosenbrock", "auto"):
            with pytest.raises(ValueError, match="has a shape and no numbers"):
                nc.odeint(decay, y0, times, method=method)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_lists_of_tensors_are_differentiated(method: str) -> None:
    # x' = u has the solution x0 + u t.
    line = nc.compile_scheme("(state x [0 0]) (derive x u)", inputs={"u": 2})
    a, b = torch.tensor(3.0, dtype=F64), torch.tensor(4.0, dtype=F64)

    def pushed(a: torch.Tensor) -> torch.Tensor:
        return nc.odeint(line, None, [0.0, 2.0], inputs={"u": [a, b]}, method=method)["x"][-1]

    def begun(a: torch.Tensor) -> torch.Tensor:
        return nc.odeint(line, {"x": [a, b]}, [0.0, 2.0], inputs={"u": [1.0, 1.0]}, method=method)["x"][-1]

    def ended(a: torch.Tensor) -> torch.Tensor:
        times = [torch.tensor(0.0, dtype=F64), a]
        return nc.odeint(line, None, times, inputs={"u": [2.0, 5.0]}, method=method)["x"][-1]

    for act, slope in ((pushed, [2.0, 0.0]), (begun, [1.0, 0.0]), (ended, [2.0, 5.0])):
        x = a.clone().requires_grad_()
        found = act(x)
        found.sum().backward()
        assert x.grad is not None and x.grad.item() == pytest.approx(sum(slope))
        assert torch.func.jacrev(act)(a).tolist() == pytest.approx(slope)
    assert begun(a).dtype == ended(a).dtype == F64


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_list_of_times_is_one_graph_in_every_type(dtype: torch.dtype) -> None:
    decay = nc.compile_scheme("(state x 1) (derive x (- x))")
    torch._dynamo.reset()

    def run(x: torch.Tensor) -> torch.Tensor:
        return nc.odeint(decay, {"x": x}, [0.0, 1.0], method="rk4", step=0.1)["x"]

    x = torch.tensor(1.0, dtype=dtype)
    assert torch.equal(torch.compile(run, backend="aot_eager", fullgraph=True)(x), run(x))
    with pytest.raises(ValueError, match="lose their distance"):
        nc.odeint(decay, {"x": x.float()}, [1.7e9, 1.7e9 + 1])


def test_whole_numbers_count_as_in_calls() -> None:
    decay = nc.compile_scheme("(state x 1) (derive x (* u (- x)))")
    for times in (torch.arange(3), torch.arange(3, dtype=torch.int32), np.arange(3), [torch.tensor(0), torch.tensor(1)]):
        assert nc.odeint(decay, None, times, inputs={"u": 1.0})["x"].dtype == F64
    assert nc.odeint(decay, None, torch.arange(3, dtype=torch.uint8), inputs={"u": 1.0})["x"].dtype == torch.float32
    assert nc.odeint(decay, None, [0, 1, 2], inputs={"u": 1.0})["x"].dtype == torch.float32
    assert nc.odeint(decay, {"x": torch.tensor(1)}, [0, 1], inputs={"u": 1.0})["x"].dtype == F64
    late = 1_700_000_000_123_456_789
    for whole in (late, [late], np.array([late]), np.int64(late), np.uint64(late), torch.tensor([late])):
        for act in (
            lambda: nc.odeint(decay, None, [0.0, 1.0], inputs={"u": whole}),
            lambda: nc.odeint(decay, {"x": whole}, [0.0, 1.0], inputs={"u": 1.0}),
        ):
            with pytest.raises(TypeError, match="float64"):
                act()
    for times in ([late, late + 10**9], np.array([late, late + 10**9]), torch.tensor([late, late + 10**9])):
        with pytest.raises(TypeError, match="float64"):
            nc.odeint(decay, None, times, inputs={"u": 1.0})
