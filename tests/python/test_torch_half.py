"""Training in half precision, as it is done: inputs or parameters of 16 bits, `torch.autocast` around a call or around its backward pass
too, compiled or not. Programs compute in float32 all the while: gradients are those of hand-written float32, rounded once to the type of
what they belong to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import neural_compiler as nc
import pytest
import torch
import torch_matrix

F64 = torch.float64
HALVES = [torch.bfloat16, torch.float16]
BACKENDS = pytest.mark.parametrize("backend", ["native", "torch"])


def _loop(x: torch.Tensor, k: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        x = x * torch.cos(k * w[1] * x)
    return x * w[0]


PROGRAMS: dict[str, tuple[str, Callable[..., torch.Tensor]]] = {
    "straight": ("(* (ref w 0) (exp (* k (ref w 1) x)))", lambda x, k, w: w[0] * torch.exp(k * w[1] * x)),
    "loop": ("(loop ((i 0) (a x)) (if (>= i 3) (* a (ref w 0)) (recur (+ i 1) (* a (cos (* k (ref w 1) a))))))", _loop),
}
HOWS = ["eager", "aot_eager", "inductor"]


def _same(found: torch.Tensor, single: torch.Tensor, dtype: torch.dtype) -> None:
    """Whether this is the number of single precision, rounded to the type; the last digit of single may be another."""
    assert found.dtype is dtype
    expected = single.to(dtype)
    assert torch.allclose(found.double(), expected.double(), rtol=max(1e-6, torch.finfo(dtype).eps) if dtype is not F64 else 1e-6, atol=0)


@contextlib.contextmanager
def _autocast(dtype: torch.dtype, where: str) -> Iterator[None]:
    with torch.autocast("cpu", dtype=dtype, enabled=where != "nowhere"):
        yield


@BACKENDS
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("where", ["nowhere", "call", "call and backward"])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("moved", [False, True])
def test_gradients_in_half_precision(dtype: torch.dtype, where: str, program: str, backend: str, moved: bool) -> None:
    """Inputs of 16 bits; parameters of float64, or moved to 16 bits by `module.to` and `.half()`."""
    text, hand = PROGRAMS[program]
    # Compilers are tried once for each program and backend.
    for how in HOWS if where == "call" and dtype is torch.bfloat16 else HOWS[:1]:
        m = nc.compile_scheme(f"(param k 2.1) (param w [0.55 0.3]) {text}", backend=backend)
        if moved:
            m = m.half() if dtype is torch.float16 else m.to(dtype)
        x = torch.tensor([0.5, 0.7, 1.5], dtype=dtype, requires_grad=True)
        single = [t.detach().float().requires_grad_() for t in (x, m.k, m.w)]
        value = hand(*single)
        expected = torch.autograd.grad(value.sum(), single)
        torch._dynamo.reset()

        def call(x: torch.Tensor, m: nc.CompiledModule = m) -> torch.Tensor:
            with _autocast(dtype, where):
                return m(x)

        found = (call if how == "eager" else torch.compile(call, backend=how, fullgraph=True))(x)
        with _autocast(dtype, where if where == "call and backward" else "nowhere"):
            slopes = torch.autograd.grad(found.sum(), (x, m.k, m.w))
        _same(found, value, dtype)
        for slope, e, t in zip(slopes, expected, (x, m.k, m.w)):
            _same(slope, e, t.dtype)


MATRICES: dict[str, Callable[..., torch.Tensor]] = {
    "(dot w (matvec a v))": lambda a, v, w: ((a @ v[..., None])[..., 0] * w).sum(-1),
    "(dot w (matvec (matmul a a) v))": lambda a, v, w: ((a @ a @ v[..., None])[..., 0] * w).sum(-1),
    "(dot w (solve a v))": lambda a, v, w: (torch.linalg.solve(a, v) * w).sum(-1),
    "(loop ((i 0) (u v)) (if (>= i 3) (dot u w) (recur (+ i 1) (matvec a u))))": lambda a, v, w: (
        (a @ a @ a @ v[..., None])[..., 0] * w
    ).sum(-1),
}


@BACKENDS
@pytest.mark.parametrize("how", HOWS[:2])
@pytest.mark.parametrize("where", ["call", "call and backward"])
@pytest.mark.parametrize("program", MATRICES)
def test_autocast_rounds_no_gradient_of_matrices(program: str, where: str, how: str, backend: str) -> None:
    made = torch.Generator().manual_seed(0)
    a = (torch.rand(4, 3, 3, generator=made) + torch.eye(3)).requires_grad_()
    v = torch.rand(4, 3, generator=made).requires_grad_()
    m = nc.compile_scheme(f"(param w [0.123 0.777 1.3]) {program}", inputs={"a": (3, 3), "v": 3}, backend=backend)
    double = [t.detach().double().requires_grad_() for t in (a, v, m.w)]
    expected = torch.autograd.grad(MATRICES[program](*double).square().sum(), double)
    torch._dynamo.reset()
    f = m if how == "eager" else torch.compile(m, backend=how, fullgraph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = f(a, v)
        if where != "call":
            slopes = torch.autograd.grad(found.square().sum(), (a, v, m.w))
    if where == "call":
        slopes = torch.autograd.grad(found.square().sum(), (a, v, m.w))
    for slope, e in zip(slopes, expected):
        assert torch.allclose(slope.double(), e, rtol=3e-6, atol=3e-6 * float(e.abs().max()))


@BACKENDS
@pytest.mark.parametrize("device", ["cuda", "xpu"])
def test_autocast_of_another_device_changes_nothing(device: str, backend: str) -> None:
    v = torch.tensor([0.123, 0.777, 1.3], requires_grad=True)
    a = torch.rand(3, 3, generator=torch.Generator().manual_seed(0))
    straight = nc.compile_scheme("(dot v (matvec a v))", inputs={"a": (3, 3), "v": 3}, backend=backend)
    rounds = nc.compile_scheme("(loop ((i 0) (s 0)) (if (>= i 3) s (recur (+ i 1) (+ s (dot v v)))))", inputs={"v": 3}, backend=backend)
    law = nc.compile_scheme("(param k 0.7) (state y 1) (derive y (* (- k) y))", backend=backend)

    def found() -> list[torch.Tensor]:
        value, end = straight(a, v), nc.odeint(law, None, [0.0, 1.0], method="rk4")["y"][-1]
        slopes = [torch.func.grad(m)(v.detach()) for m in (lambda v: straight(a, v), rounds)]
        return [value, rounds(v), *slopes, end, *torch.autograd.grad(value, v), *torch.autograd.grad(end, law.k)]

    wanted = found()
    torch.set_autocast_enabled(device, True)
    try:
        again = found()
    finally:
        torch.set_autocast_enabled(device, False)
    assert all(map(torch.equal, again, wanted))


@BACKENDS
def test_autocast_rounds_no_derivative_of_transforms(backend: str) -> None:
    m = nc.compile_scheme("(dot v (matvec a v))", inputs={"a": (3, 3), "v": 3}, backend=backend)
    a, v = torch.rand(3, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0.123, 0.777, 1.3])
    expected = (a + a.T).double()
    batch = torch.stack([v, 2 * v])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hessian = torch.func.hessian(m, 1)(a, v)
        pushed = torch.func.jvp(lambda v: m(a, v), (v,), (v,))[1]
        each = torch.func.vmap(torch.func.grad(m, 1), (None, 0))(a, batch)
        with torch_matrix._Mode():
            watched = torch.func.grad(m, 1)(a, v)
    assert torch.allclose(hessian.double(), expected, rtol=1e-6)
    assert pushed.item() == pytest.approx(float(v.double() @ expected @ v.double()), rel=1e-6)
    assert torch.allclose(each.double(), batch.double() @ expected, rtol=1e-6)
    assert torch.allclose(watched.double(), v.double() @ expected, rtol=1e-6)


@BACKENDS
@pytest.mark.parametrize("dtype", HALVES)
def test_parameters_of_half_precision_are_trained(dtype: torch.dtype, backend: str) -> None:
    m = nc.compile_scheme("(param k 2.0) (* k (exp (- x)))", backend=backend).to(dtype)
    optimiser = torch.optim.SGD(m.parameters(), lr=0.5)
    k = torch.tensor(2.0, dtype=dtype)
    x = torch.tensor([0.5, 1.0], dtype=dtype)
    for _ in range(3):
        optimiser.zero_grad()
        m(x).sum().backward()
        optimiser.step()
        k = k - 0.5 * torch.exp(-x.float()).sum().to(dtype)
    assert m.k.dtype is dtype and m.k.item() == k.item()
