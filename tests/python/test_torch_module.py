"""The module itself: how it is made and called, parameters, modules made of modules, and what it says about mistakes."""

from __future__ import annotations

import copy
import math
import pickle

import neural_compiler as nc
import pytest
import torch
from neural_compiler.nn import Param
from torch import nn

F64 = torch.float64
SOURCE = "(+ (* 0.5 k x (sin (* x y))) y)"


def hand(x: torch.Tensor, y: torch.Tensor, k: float = 1.0) -> torch.Tensor:
    return 0.5 * k * x * torch.sin(x * y) + y


@pytest.fixture
def module() -> nc.CompiledModule:
    return nc.compile_scheme(SOURCE, params={"k": 2.0})


X, Y = torch.linspace(0.1, 2, 6, dtype=F64), torch.linspace(-1, 1, 6, dtype=F64)


def test_by_position_by_name_and_in_a_dict(module: nc.CompiledModule) -> None:
    expected = module(X, Y)
    assert torch.allclose(expected, hand(X, Y, 2.0), rtol=1e-15)
    assert torch.equal(module(y=Y, x=X), expected)
    assert torch.equal(module({"x": X, "y": Y}), expected)
    assert torch.equal(module(X, y=Y), expected)
    assert torch.equal(module(X, Y, k=torch.tensor(3.0)), nc.compile_scheme(SOURCE, params={"k": 3.0})(X, Y))


def test_inputs_may_be_named_in_another_order_and_be_unused() -> None:
    m = nc.compile_scheme("(- x y)", inputs=["y", "x", "z"])
    assert m(torch.tensor(1.0), torch.tensor(5.0), torch.tensor(0.0)).item() == 4.0


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (5,)), ((0,), (1,)), ((1,), ()), ((7,), (7,))])
def test_batches_broadcast(module: nc.CompiledModule, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (torch.rand(s, dtype=F64, requires_grad=True) for s in shapes)
    found, expected = module(x, y), hand(x, y, 2.0)
    assert found.shape == expected.shape and torch.allclose(found, expected)
    grads = torch.autograd.grad(found.sum(), (x, y, module.k))
    for g, e, like in zip(grads, torch.autograd.grad(expected.sum(), (x, y)), (x, y)):
        assert g.shape == like.shape and torch.allclose(g, e)


def test_strided_views_are_read_in_place(module: nc.CompiledModule) -> None:
    base = torch.rand(8, 6, 2, dtype=F64)
    for view in (base[::2, :, 0], base.transpose(0, 1)[..., 1], base[:, 2:3, 0], base.flip(0)[..., 0], base[..., 0].expand(8, 6)):
        assert torch.equal(module(view, view * 2), module(view.contiguous(), (view * 2).contiguous()))
    lazy = torch.complex(base, base).conj().imag
    assert lazy.is_neg() and torch.equal(module(lazy, lazy), module(-base, -base))


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (torch.ones(3), torch.ones(3), torch.float32),
        (torch.ones(3, dtype=F64), torch.ones(3), F64),
        (torch.ones(3), torch.ones((), dtype=F64), torch.float32),
        (torch.ones(()), torch.ones((), dtype=F64), F64),
        # No float32 holds every whole number of 64 bits, here unlike torch; those of 16 follow.
        (torch.arange(3), torch.arange(3), F64),
        (torch.arange(3, dtype=torch.int16), torch.arange(3, dtype=torch.int16), torch.float32),
        (torch.arange(3), torch.ones(3, dtype=F64), F64),
        (torch.ones(3), 2.5, torch.float32),
        (torch.ones(3, dtype=F64), 2, F64),
        (True, 2, torch.float32),
    ],
)
def test_types_follow_torch(module: nc.CompiledModule, x: object, y: object, expected: torch.dtype) -> None:
    # The parameter is kept in float64 and decides nothing.
    assert module.k.dtype == F64 and module(x, y).dtype == expected
    a, b = (torch.as_tensor(v) for v in (x, y))
    assert torch.allclose(module(x, y), hand(a.to(expected), b.to(expected), 2.0))


def test_vectors_and_matrices() -> None:
    m = nc.compile_scheme("(matvec a v)", {"a": (2, 3), "v": 3})
    a, v = torch.rand(4, 1, 2, 3, dtype=F64), torch.rand(5, 3, dtype=F64)
    assert torch.allclose(m(a, v), torch.einsum("bcij,cj->bci", a.expand(4, 5, 2, 3), v))
    open_shape = nc.compile_scheme("(dot u v)")
    for n in (2, 5):
        u = torch.rand(3, n, dtype=F64)
        assert torch.allclose(open_shape(u, u), (u * u).sum(-1))


def test_parameters_are_the_only_ones(module: nc.CompiledModule) -> None:
    assert [n for n, _ in module.named_parameters()] == ["k"] and not list(module.buffers())
    assert not list(nc.compile_scheme("(* 2 x)").parameters())
    module.freeze()
    assert not module.k.requires_grad and not module(X, Y).requires_grad
    module.requires_grad_(True)
    assert module(X, Y).requires_grad


def test_training_recovers_a_parameter() -> None:
    m = nc.compile_scheme("(param k 1.0 :min 0 :max 5) (* k x x)")
    assert m.bounds == {"k": (0.0, 5.0)}
    x = torch.linspace(0, 2, 50)
    optimiser = torch.optim.Adam(m.parameters(), lr=0.1)
    for _ in range(300):
        optimiser.zero_grad()
        ((m(x) - 3 * x * x) ** 2).mean().backward()
        optimiser.step()
        m.project_()
    assert abs(m.k.item() - 3) < 1e-4


def test_bounds_are_held() -> None:
    m = nc.compile_scheme("(* k x)", params={"k": Param(1.0, min=0.5, max=2.0)})
    with torch.no_grad():
        m.k.fill_(9.0)
    assert m.project_().k.item() == 2.0
    with pytest.raises(ValueError, match="`k` starts outside"):
        nc.compile_scheme("(* k x)", params={"k": Param(9.0, max=2.0)})


def test_vector_parameters_and_fixed_ones() -> None:
    m = nc.compile_scheme("(param c 2.0 :fixed) (* c (dot w x))", inputs={"x": 3}, params={"w": [1.0, 2.0, 3.0]})
    assert [n for n, _ in m.named_parameters()] == ["w"] and [n for n, _ in m.named_buffers()] == ["c"]
    x = torch.rand(7, 3, dtype=F64)
    m(x).sum().backward()
    assert torch.allclose(m.w.grad, 2 * x.sum(0))


def test_derivatives_are_modules() -> None:
    m = nc.compile_scheme("(* k (sin (* x y)))", params={"k": 2.0})
    g = m.grad("x")
    assert isinstance(g, nc.CompiledModule) and g.k is m.k
    assert torch.allclose(g(X, Y), 2 * Y * torch.cos(X * Y))
    gx, gy = m.grad()(X, Y)
    assert torch.allclose(gy, 2 * X * torch.cos(X * Y)) and torch.allclose(gx, g(X, Y))
    # A loss on the derivative needs one backward pass.
    (g(X, Y) ** 2).sum().backward()
    assert torch.allclose(m.k.grad, (2 * (Y * torch.cos(X * Y)) * g(X, Y)).sum().detach())
    assert torch.allclose(m.hessian("x")(X, Y), -2 * Y * Y * torch.sin(X * Y))
    assert torch.allclose(m.grad("x").grad("y")(X, Y), 2 * (torch.cos(X * Y) - X * Y * torch.sin(X * Y)))


def test_jacobians_and_hessians_have_the_axes_of_torch_s() -> None:
    m = nc.compile_scheme("(matmul a a)", {"a": (2, 2)})
    a = torch.rand(2, 2, dtype=F64)
    assert torch.allclose(m.jacobian("a")(a), torch.func.jacrev(lambda a: a @ a)(a))
    s = nc.compile_scheme("(det a)", {"a": (2, 2)})
    assert torch.allclose(s.hessian("a")(a), torch.func.hessian(torch.linalg.det)(a))
    with pytest.raises(nc.CompileError, match="a gradient is that of a scalar"):
        m.grad("a")


@pytest.mark.parametrize("what", ["grad", "jacobian", "hessian"])
def test_derivatives_of_loops_are_pulled_back_again(what: str) -> None:
    m = nc.compile_scheme("(loop ((i 0) (a (vsum (sin v)))) (if (>= i 3) a (recur (+ i 1) (* a (cos (ref v 0))))))", {"v": 3})
    v = torch.rand(2, 3, dtype=F64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(m, what)("v"), v)
    assert torch.autograd.gradgradcheck(getattr(m, what)("v"), v)


def test_composition_is_exact_at_any_depth() -> None:
    step = nc.compile_scheme("(* 1.1 (sin x))")
    chain, expected = step, step(X)
    for _ in range(20):
        chain, expected = chain >> step, step(expected)
    assert torch.equal(chain(X), expected)
    both = nc.compose({"r": nc.compile_scheme("(norm v)", {"v": 3}), "s": nc.compile_scheme("(* r r)"), "t": nc.compile_scheme("(+ r s)")})
    v = torch.rand(4, 3, dtype=F64)
    assert torch.allclose(both(v), v.norm(dim=-1) + (v * v).sum(-1))
    trained = nc.compile_scheme("(* a x)", params={"a": 2.0}) >> nc.compile_scheme("(+ b y)", params={"b": 1.0})
    assert sorted(n for n, _ in trained.named_parameters()) == ["a", "b"]
    with pytest.raises(ValueError, match="has 2: x, y"):
        step >> nc.compile_scheme("(+ x y)")
    with pytest.raises(ValueError, match="no stage after `q`"):
        nc.compose({"q": step, "r": step})


def test_what_it_is_can_be_read(module: nc.CompiledModule) -> None:
    assert module.source == SOURCE and "sin" in module.anf and "sin" in str(module.graph)
    assert SOURCE in repr(module) and "<svg" in module._repr_html_()
    assert [i["name"] for i in module.graph.to_dict()["inputs"]] == ["k", "x", "y"]
    assert ".grad(x)" in repr(module.grad("x"))


def test_safe_domain(module: nc.CompiledModule) -> None:
    m = nc.compile_scheme("(/ (sqrt (- x 1)) y)")
    assert {d.code for d in m.explain_domain({"x": (0, 10), "y": (1, 2)})} == {"domain-may-be-left"}
    assert m.explain_domain({"x": (1, 10), "y": (1, 2)}) == ()
    m(torch.tensor([1.0, 5.0]), torch.ones(2), check=True)
    with pytest.raises(nc.EvaluationError, match="lane 1") as caught:
        m(torch.tensor([1.0, 0.5]), torch.ones(2), check=True)
    assert caught.value.lane == 1 and "sqrt" in str(caught.value)


def test_mistakes_are_named(module: nc.CompiledModule) -> None:
    with pytest.raises(TypeError, match="`y` is missing"):
        module(X)
    with pytest.raises(TypeError, match="no input `z`"):
        module(X, Y, z=X)
    with pytest.raises(TypeError, match="by position"):
        module(X, Y, X)
    with pytest.raises(ValueError, match=r"`x` \[3\], `y` \[4\]"):
        module(torch.ones(3), torch.ones(4))
    with pytest.raises(TypeError, match="`x` has the type torch.float8_e5m2"):
        module(X.to(torch.float8_e5m2), Y)
    with pytest.raises(TypeError, match=r"`x` is complex \(torch.complex128\)"):
        module(X.to(torch.complex128), Y)
    with pytest.raises(TypeError, match="`x` is a tensor or a number"):
        module("text", Y)
    with pytest.raises(ValueError, match=r"`v` is a vector\(3\)"):
        nc.compile_scheme("(norm v)", {"v": 3})(torch.ones(2, dtype=F64))
    with pytest.raises(ValueError, match="backend"):
        nc.compile_scheme("x", backend="gpu")
    with pytest.raises(nc.CompileError, match="no name `q` to make a parameter of"):
        nc.compile_scheme("x", params={"q": 1.0})
    with pytest.raises(ValueError, match="no input `z`"):
        module.grad("z")


def test_compile_errors_show_the_place() -> None:
    with pytest.raises(nc.CompileError) as caught:
        nc.compile_scheme("(+ 1\n   (sine x))")
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("unknown-function", 2, 5)
    assert "(sine x)" in str(caught.value) and "^" in str(caught.value) and "did you mean `sin`" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).diagnostics == caught.value.diagnostics


def test_copies_are_apart_and_pickles_hold_the_text(module: nc.CompiledModule) -> None:
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(X, Y), module(X, Y)) and other.k is not module.k
        with torch.no_grad():
            other.k.fill_(5.0)
        assert module.k.item() == 2.0 and not torch.equal(other(X, Y), module(X, Y))
    assert SOURCE.encode() in pickle.dumps(module)


def test_inside_other_modules_with_hooks(module: nc.CompiledModule) -> None:
    seen: list[torch.Size] = []
    handle = module.register_forward_hook(lambda m, args, out: seen.append(out.shape))

    class Hybrid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.physics = nn.Linear(1, 1), module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.physics(x=x, y=self.net(x))

    hybrid = Hybrid()
    hybrid(torch.rand(5, 1)).sum().backward()
    handle.remove()
    assert seen == [torch.Size([5, 1])] and all(p.grad is not None for p in hybrid.parameters())
    # A parameter's gradient has the parameter's type, whatever the inputs'.
    assert module.k.grad.dtype == F64


def test_threads_do_not_change_a_bit(module: nc.CompiledModule) -> None:
    x = torch.rand(100_000, dtype=F64, requires_grad=True)
    before, found = torch.get_num_threads(), []
    try:
        for n in (1, 2, 4):
            torch.set_num_threads(n)
            y = module(x, x)
            found.append((y, *torch.autograd.grad(y.sum(), (x, module.k))))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other))


def test_a_branch_not_taken_does_not_exist() -> None:
    m = nc.compile_scheme("(if (> x 0) (log x) (* 2 x))")
    x = torch.tensor([-1.0, 0.0, 1.0], dtype=F64, requires_grad=True)
    m(x).sum().backward()
    assert torch.equal(x.grad, torch.tensor([2.0, 2.0, 1.0], dtype=F64))


def test_hooks_parametrizations_and_tracers_see_the_call(module: nc.CompiledModule) -> None:
    seen = []
    handle = module.register_forward_hook(lambda m, args, out: seen.append(len(args)))
    assert torch.equal(module(X, Y), module.forward(X, Y)) and seen == [2]
    handle.remove()
    traced = torch.jit.trace(module, (X, Y), check_trace=False)
    assert torch.equal(traced(Y, X), module(Y, X))
    flowing = torch.fx.experimental.proxy_tensor.make_fx(lambda x: module(x, Y))(X)
    assert torch.equal(flowing(2 * X), module(2 * X, Y))

    class Exponential(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.exp()

    expected = nc.compile_scheme(SOURCE, params={"k": torch.exp(torch.tensor(2.0, dtype=F64))})(X, Y)
    nn.utils.parametrize.register_parametrization(module, "k", Exponential(), unsafe=True)
    assert torch.equal(module(X, Y), expected)
    module(X, Y).sum().backward()
    assert module.parametrizations.k.original.grad is not None


def test_parameters_in_float64_follow_inputs_in_float32() -> None:
    module = nc.compile_scheme("(+ (* k x) (dot w [x x y]))", params={"k": 0.1, "w": [0.3, 0.7, 1.1]})
    single = nc.compile_scheme(module.source, inputs=["x", "y", "k", "w"])
    x, y = X.float().requires_grad_(), Y.float()
    rounded = [module.k.detach().float().requires_grad_(), module.w.detach().float().requires_grad_()]
    out, expected = module(x, y), single(x, y, *rounded)
    assert out.dtype == torch.float32 and torch.equal(out, expected)
    weights = torch.linspace(1, 2, 6)
    found = torch.autograd.grad((out * weights).sum(), [x, module.k, module.w])
    for f, e in zip(found, torch.autograd.grad((expected * weights).sum(), [x, *rounded])):
        assert torch.equal(f, e.to(f.dtype))
    assert [f.dtype for f in found] == [torch.float32, F64, F64]
    double = nc.compile_scheme("(* k x)", params={"k": torch.tensor(0.1)})
    assert double(X).dtype == F64 and torch.equal(double(X), torch.tensor(0.1).double() * X)


def test_a_graph_is_walked_twice_only_if_it_is_kept(module: nc.CompiledModule) -> None:
    x, y = torch.rand(5, requires_grad=True), torch.rand(5)
    value = module(x, y)
    first = torch.autograd.grad(value.sum(), x, retain_graph=True)[0]
    assert torch.equal(first, torch.autograd.grad(value.sum(), x)[0])
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(value.sum(), x)
    changed = torch.rand(5, requires_grad=True)
    held = changed * 1
    value = module(held, y)
    held.mul_(2)
    with pytest.raises(RuntimeError, match="inplace"):
        value.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_are_tensors_like_others(module: nc.CompiledModule, dtype: torch.dtype) -> None:
    for n in (0, 1, 3, 4097):
        x = torch.rand(n, dtype=dtype, requires_grad=True)
        value = module(x, torch.rand(n, dtype=dtype))
        gradient = torch.autograd.grad(value.sum(), x)[0]
        for found in (value, gradient):
            assert found.shape == (n,) and found.stride() == (1,) and found.dtype == dtype and (n == 0 or found.data_ptr() % 64 == 0)
    grid = module(torch.rand(2, 0, 3), torch.rand(3))
    assert grid.shape == (2, 0, 3) and grid.is_contiguous()


def test_the_gradient_of_one_lane_keeps_its_sign() -> None:
    module = nc.compile_scheme("(* a x)", params={"a": 1.0}).float()
    module(torch.tensor([-0.0])).backward(torch.ones(1))
    assert module.a.grad is not None and math.copysign(1.0, module.a.grad.item()) == -1.0


def test_a_module_called_while_a_hook_comes_and_goes(module: nc.CompiledModule) -> None:
    seen: list[int] = []
    x, y = torch.rand(3), torch.rand(3)
    plain = module(x, y)
    handle = module.register_forward_hook(lambda *_: seen.append(1))
    assert torch.equal(module(x, y), plain) and seen == [1]
    handle.remove()
    everywhere = torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: seen.append(2))
    assert torch.equal(module(x, y), plain) and seen == [1, 2]
    everywhere.remove()
    assert torch.equal(module(x, y), plain) and seen == [1, 2]


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_parameter_inside_vmap_is_summed_over_the_inner_batch_only(backend: str) -> None:
    """The sizes fit by accident when summed over the wrong axes: three samples of three numbers each."""
    module = nc.compile_scheme(SOURCE, params={"k": 2.0}, backend=backend)
    x, y = torch.rand(3, 2, 3, dtype=F64), torch.rand(3, dtype=F64)

    def loss(params: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, params, (x, y)).sum()

    params = {n: p.detach() for n, p in module.named_parameters()}
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)["k"]
    expected = (0.5 * x * torch.sin(x * y)).sum((1, 2))
    torch.testing.assert_close(each, expected)
    held = x[0].clone().requires_grad_()
    value = module(held, y)
    seeds = torch.eye(6, dtype=F64).reshape(6, 2, 3)[:3]
    batched = torch.autograd.grad(value, (held, module.k), seeds, is_grads_batched=True)
    torch.testing.assert_close(batched[1], (0.5 * x[0] * torch.sin(x[0] * y)).flatten()[:3])
    torch.testing.assert_close(batched[0], torch.stack([torch.autograd.grad(module(held, y), held, s)[0] for s in seeds]))
