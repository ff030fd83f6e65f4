"""What a module makes of its arguments: types, names, things that are no plain tensors; and copies of what holds a program."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import pydoc
import weakref
from collections.abc import Callable
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
import torch
import torch_matrix
from neural_compiler.nn import Param
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_map_only

BACKENDS = pytest.mark.parametrize("backend", ["native", "torch"])
F64 = torch.float64


@BACKENDS
def test_no_whole_number_is_rounded(backend: str) -> None:
    m = nc.compile_scheme("(- x y)", backend=backend)
    whole = torch.tensor([1_700_000_001])
    for other in (torch.tensor([1_700_000_000]), torch.tensor([1_700_000_000], dtype=torch.int32), 1_700_000_000):
        assert m(whole, other).item() == 1.0
    # Without axes, beside single floats with some.
    less = nc.compile_scheme("(+ (- x y) z)", backend=backend)
    assert less(torch.tensor(1_700_000_001), torch.tensor(1_700_000_000), torch.zeros(1)).item() == 1.0
    # The float32 nearest to 1.7e9 is itself.
    assert m(whole, torch.tensor([1.7e9])).item() == 1.0
    assert m(1_700_000_001, 1_700_000_000).item() == 1.0
    short = m(torch.tensor([3], dtype=torch.int16), torch.tensor([True]))
    assert short.item() == 2.0 and short.dtype == torch.float32
    with pytest.raises(TypeError, match="the input `x` has whole numbers beyond 2\\^53"):
        m(torch.tensor([2**53 + 1]), 0.0)
    with pytest.raises(TypeError, match="the input `y` is 9007199254740993, a whole number that float64 does not hold"):
        m(torch.tensor([1.0]), 2**53 + 1)


@BACKENDS
def test_numbers_are_not_rounded_on_their_way(backend: str) -> None:
    m = nc.compile_scheme("(- x y)", backend=backend)
    assert m(torch.tensor([0.1], dtype=F64), 0.1).item() == 0.0
    assert m(torch.tensor([0.1], dtype=F64), [0.1]).item() == 0.0


def test_whole_numbers_of_numpy() -> None:
    p = nc.compile("(- x y)")
    found = p(x=np.array([1_700_000_001]), y=np.array([1_700_000_000], dtype=np.float32))
    assert found.tolist() == [1.0] and found.dtype == np.float64


def test_declared_starts_are_exact() -> None:
    decay = nc.compile_scheme("(state x 0.1) (param k 1.0) (derive x (* (- k) x))")
    for method in ("dopri5", "rk4"):
        assert nc.odeint(decay, None, torch.linspace(0, 1, 3, dtype=F64), method=method)["x"][0].item() == 0.1
    with pytest.raises(TypeError, match="initial values are float32 or float64, not torch.bfloat16"):
        nc.odeint(decay, {"x": torch.ones((), dtype=torch.bfloat16)}, [0.0, 1.0])


@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(dtype: torch.dtype, backend: str) -> None:
    m = nc.compile_scheme("(param k 3.0) (- (* k (exp x)) (* k (exp y)))", backend=backend)
    x = torch.tensor([1.0, 2.0, 0.5], dtype=dtype, requires_grad=True)
    y = torch.tensor([1.01, 1.98, 0.51], dtype=dtype)
    single = m(x.detach().float(), y.float())
    found = m(x, y)
    assert found.dtype == dtype and torch.equal(found.detach(), single.detach().to(dtype))
    (slope,) = torch.autograd.grad(found.sum(), x)
    assert slope.dtype == dtype and torch.equal(slope, (3 * torch.exp(x.detach().float())).to(dtype))
    assert m(x, y.float()).dtype == torch.float32
    torch._dynamo.reset()
    assert torch.equal(torch.compile(m, backend="aot_eager", fullgraph=True)(x, y), found)
    assert torch.func.jvp(m, (x.detach(), y), (torch.ones_like(x), torch.zeros_like(y)))[1].dtype == dtype


@BACKENDS
def test_autocast_leaves_programs_alone(backend: str) -> None:
    m = nc.compile_scheme("(dot v w)", inputs={"v": 3, "w": 3}, backend=backend)
    v = torch.full((2, 3), 1.001)
    plain = m(v, v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(m(v, v), plain)
        assert m(torch.nn.Linear(3, 3)(v), v[0]).dtype == torch.float32


@BACKENDS
def test_a_default_type_of_half_precision(backend: str) -> None:
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = nc.compile_scheme("(* x y)", backend=backend)(1.5, 0.25)
        alone = nc.compile_scheme("(+ 1 2)", backend=backend)()
    finally:
        torch.set_default_dtype(torch.float32)
    assert (found.item(), found.dtype, alone.item(), alone.dtype) == (0.375, torch.bfloat16, 3.0, torch.bfloat16)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "sparse": (lambda: torch.eye(2).to_sparse(), r"the input `x` is a sparse tensor .*give `x.to_dense\(\)`"),
    "compressed": (lambda: torch.eye(2).to_sparse_csr(), "the input `x` is a sparse tensor"),
    "nested": (
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        "the input `x` is a nested tensor: pad it",
    ),
    "ragged": (lambda: [[1.0], [1.0, 2.0]], "the input `x` is a list .* pad its rows"),
    "complex": (lambda: torch.ones(2, dtype=torch.complex64), "the input `x` is complex .* real and imaginary part"),
    "complex number": (lambda: 1j, "the input `x` is complex"),
    "text": (lambda: "1", "the input `x` is a tensor or a number, not str"),
    "nothing": (lambda: None, "the input `x` is a tensor or a number, not NoneType"),
}


@BACKENDS
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_plain_array_is_named(kind: str, backend: str) -> None:
    make, words = REFUSED[kind]
    with pytest.raises(TypeError, match=words):
        nc.compile_scheme("(* 2 x)", backend=backend)(make())


@BACKENDS
def test_inputs_of_any_name(backend: str) -> None:
    m = nc.compile_scheme("(/ check self)", inputs=["check", "self"], backend=backend)
    six, two = torch.tensor(6.0), torch.tensor(2.0)
    for found in (m(check=six, self=two), m(6.0, self=two), m(check=6, self=2), m({"check": six, "self": two})):
        assert found.item() == 3.0
    with pytest.raises(nc.EvaluationError):
        m({"check": 1.0, "self": 0.0}, check=True)
    with pytest.raises(TypeError, match="the input `check` was given twice"):
        m(1.0, 2.0, check=3.0, self=1.0)
    flow = nc.compile_scheme("(* check self)", inputs=["check", "self"], backend=backend)
    path = nc.odeint(flow, {"self": torch.tensor(1.0, dtype=F64)}, [0.0, 1.0], method="rk4", step=0.01, inputs={"check": -1.0})
    assert path["self"][-1].item() == pytest.approx(np.exp(-1), rel=1e-9)
    assert nc.compile("(* x self)")(self=2.0, x=3.0) == 6.0


def test_renamed_modules_share_their_parameters() -> None:
    m = nc.compile_scheme("(param k 2.0 :min 0) (* k x (dot v v))")
    other = m.renamed({"k": "x", "x": "k", "v": "w"})
    assert other(k=torch.tensor(3.0), w=torch.ones(2)).item() == 12.0
    assert other.x is m.k and other.bounds == {"x": (0.0, None)}
    assert m.renamed({"v": "q"})(torch.tensor(3.0), torch.ones(2)).item() == 12.0, "inputs keep their places"
    with pytest.raises(ValueError, match="two inputs would have the name `v`"):
        m.renamed({"k": "v"})
    with pytest.raises(ValueError, match="the program has no input `z`"):
        m.renamed({"z": "y"})


def test_stages_with_parameters_of_one_name() -> None:
    a = nc.compile_scheme("(* k x)", params={"k": 2.0})
    b = nc.compile_scheme("(+ y k)", params={"k": 5.0})
    with pytest.raises(ValueError, match=r"both modules have a parameter `k`.*renamed\({'k': …}\).*prefix=True"):
        nc.compose({"y": a, "z": b})
    both = nc.compose({"y": a, "z": b}, prefix=True)
    assert both(x=torch.tensor(1.0)).item() == 7.0
    assert dict(both.named_parameters()).keys() == {"y_k", "z_k"} and both.y_k is a.k


class Positive(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.exp()


@BACKENDS
def test_a_parametrized_module_is_copied_and_averaged(backend: str) -> None:
    m = nc.compile_scheme("(* k x)", params={"k": Param(2.0, min=0)}, backend=backend)
    torch.nn.utils.parametrize.register_parametrization(m, "k", Positive(), unsafe=True)
    expected = torch.tensor(2.0, dtype=F64).exp().item()
    x = torch.ones((), dtype=F64)
    twin = copy.deepcopy(m)
    averaged = torch.optim.swa_utils.AveragedModel(m)
    with torch.no_grad():
        m.parametrizations.k.original.fill_(0.0)
    assert m(x).item() == 1.0 and twin(x).item() == averaged(x).item() == pytest.approx(expected)
    averaged.update_parameters(m)
    assert twin.to(torch.float32)(x.float()).dtype == torch.float32


def test_signatures_have_names_and_defaults() -> None:
    m = nc.compile_scheme("(param k 2.0) (* k x (dot v v))", inputs={"x": None, "v": 3})
    assert str(inspect.signature(m)) == "(x: 'scalar', v: 'vector(3)', *, k: 'scalar' = 2.0, check=False)"
    p = nc.compile("(param k 2.0) (* k x)")
    assert str(inspect.signature(p)) == "(x: 'scalar', *, k: 'scalar' = 2.0, out=None, check=False)"
    assert "k" in dir(m)
    assert "(* k x (dot v v))" in m._repr_html_() and "<svg" in m._repr_html_() and "(* k x)" in p._repr_html_()
    assert "(* 2 v)" in nc.compile_scheme("(* 2 v)", inputs=["v"])._repr_html_()


def test_inputs_are_completed() -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    from IPython.core.completer import provisionalcompleter

    module = nc.compile_scheme("(param k 2.0) (* k temperature (dot v v))", inputs={"temperature": None, "v": 3})
    shell.user_ns.update(module=module, program=nc.compile("(param k 2.0) (* k temperature)"))
    for text in ("module(temp", "program(temp"):
        with provisionalcompleter():
            assert [c.text for c in shell.Completer.completions(text, len(text))][:1] == ["temperature="], text


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_whole_numbers_beyond_float64_are_refused_in_compiled_and_exported_graphs(backend: str) -> None:
    module = nc.compile_scheme("(- x y)", backend=backend)
    good, bad = torch.tensor([2**53, 3]), torch.tensor([2**53 + 1, 3])
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    exported = torch.export.export(module, (good, good - 1)).module()
    for way in (compiled, exported):
        assert way(good, good - 1).tolist() == [1.0, 1.0]
        with pytest.raises((RuntimeError, TypeError), match="beyond 2\\^53"):
            way(bad, good)


class Named(torch.Tensor):
    """A class that changes nothing."""


def _by_duals(f: Callable[..., torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    with torch.autograd.forward_ad.dual_level():
        return f(torch.autograd.forward_ad.make_dual(x, x), y)


def _watched(f: Callable[..., torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    with torch_matrix._Mode():
        return f(x, y)


def _traced(of: Callable[..., Any], how: str) -> Callable[..., Any]:
    """A trace made with numbers that float64 holds."""
    return lambda f, x, y: make_fx(of(f), tracing_mode=how)(x, torch.zeros_like(y))(x, y)


LOOKED_ON: dict[str, Callable[..., Any]] = {
    "grad": lambda f, x, y: torch.func.grad(lambda x: f(x, y).sum())(x),
    "grad of all": lambda f, x, y: torch.func.grad(lambda x, y: f(x, y).sum())(x, y),
    "list": lambda f, x, y: torch.func.grad(lambda x: f(x, [y[0], y[1]]).sum())(x),
    "jvp": lambda f, x, y: torch.func.jvp(lambda x: f(x, y), (x,), (x,)),
    "hessian": lambda f, x, y: torch.func.hessian(lambda x: f(x, y).sum())(x),
    "vmap": lambda f, x, y: torch.func.vmap(f)(x, y),
    "vmap of grad": lambda f, x, y: torch.func.vmap(torch.func.grad(f), (0, None))(x, y[0]),
    "functionalize": lambda f, x, y: torch.func.functionalize(f)(x, y),
    "duals": _by_duals,
    "dispatch mode": _watched,
    "plain subclass": lambda f, x, y: f(x, y.as_subclass(Named)),
    "subclass": lambda f, x, y: f(torch_matrix.Wrapped(x), torch_matrix.Wrapped(y)),
    **{f"make_fx, {how}": _traced(lambda f: f, how) for how in ("real", "fake", "symbolic")},
    "make_fx of vmap": _traced(torch.func.vmap, "real"),
}


@BACKENDS
@pytest.mark.parametrize("way", LOOKED_ON)
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64])
def test_whole_numbers_beyond_float64_are_refused_whoever_looks_on(way: str, dtype: torch.dtype, backend: str) -> None:
    module = nc.compile_scheme("(* x (- y 9007199254740992))", inputs=["x", "y"], backend=backend)
    x = torch.tensor([1.0, 2.0], dtype=F64)
    LOOKED_ON[way](module, x, torch.tensor([2**53, 3], dtype=dtype))
    for beyond in [2**53 + 1, -(2**53) - 1 if dtype is torch.int64 else 2**64 - 1]:
        with pytest.raises((TypeError, RuntimeError), match="the input `y` has whole numbers beyond 2\\^53"):
            LOOKED_ON[way](module, x, torch.tensor([beyond, 3], dtype=dtype))


@pytest.mark.filterwarnings("ignore::UserWarning")  # A prototype, which says so.
def test_whole_numbers_of_a_masked_tensor_are_those_it_shows() -> None:
    module = nc.compile_scheme("(* x y)", inputs=["x", "y"], backend="torch")

    def masked(of: torch.Tensor) -> torch.Tensor:
        return torch.masked.masked_tensor(of, torch.tensor([True, False]))

    x = masked(torch.ones(2, dtype=F64))
    for good in (torch.tensor([3, 4]), torch.tensor([3, 2**53 + 1])):
        assert module(x, masked(good)).get_data()[0].item() == 3.0
    with pytest.raises(TypeError, match="the input `y` has whole numbers beyond 2\\^53"):
        module(x, masked(torch.tensor([2**53 + 1, 3])))


class Silent(torch_matrix.Wrapped):
    """A class whose numbers nobody is told."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            raise NotImplementedError("no strategy")
        found = super().__torch_dispatch__(func, types, args, kwargs)
        return tree_map_only(torch_matrix.Wrapped, lambda t: cls(t.held), found)


@BACKENDS
def test_whole_numbers_of_a_class_that_does_not_tell_them_are_refused_with_what_to_do(backend: str) -> None:
    module = nc.compile_scheme("(* x y)", inputs=["x", "y"], backend=backend)
    x, y = Silent(torch.ones(2, dtype=F64)), Silent(torch.tensor([3, 4]))
    with pytest.raises(TypeError, match=r"the input `y` is a Silent of whole numbers, .*: convert it, `y.double\(\)`"):
        module(x, y)
    assert isinstance(module(x, y.double()), torch.Tensor)


class Strict(torch_matrix.Wrapped):
    """A class that takes PyTorch's own operations alone."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "neural_compiler":
            return NotImplemented
        found = super().__torch_dispatch__(func, types, args, kwargs)
        return tree_map_only(torch_matrix.Wrapped, lambda t: cls(t.held), found)


@pytest.mark.filterwarnings("ignore::UserWarning")  # A prototype, which says so.
@pytest.mark.parametrize("backend", ["auto", "native"])
def test_classes_that_do_not_take_programs_are_refused_with_what_to_do(backend: str) -> None:
    masked = torch.masked.masked_tensor(torch.ones(2, dtype=F64), torch.tensor([True, False]))
    for of, odd, way in [("MaskedTensor", masked, r"`y.to_tensor\(…\)`"), ("Strict", Strict(torch.ones(2, dtype=F64)), "it as a plain")]:
        module = nc.compile_scheme("(+ x y)", inputs=["x", "y"], backend=backend)
        said = f'the input `y` is a {of}, .*: compile with backend="torch", .*, or give {way}'
        for ask in (
            lambda m: m(torch.ones((), dtype=F64), odd),
            lambda m: m(torch.ones((), dtype=F64, requires_grad=True), odd),
            lambda m: nc.odeint(m, {"x": 1.0}, [0.0, 1.0], method="rosenbrock", inputs={"y": odd}),
        ):
            with pytest.raises(TypeError, match=said):
                ask(module)
        found = nc.compile_scheme("(+ x y)", inputs=["x", "y"], backend="torch")(torch.ones((), dtype=F64), odd)
        assert type(found) is type(odd)
    with pytest.raises(TypeError, match="the input `x` is a Strict, .*: give it as a plain tensor"):
        nc.compile_scheme("(* x x)", backend="torch")(Strict(torch.ones(2, dtype=F64)), check=True)


def test_bounded_parameters_without_numbers_are_taken() -> None:
    for params in ({}, {"k": Param(2.0, min=0.0, max=3.0)}):
        source = "(* k x)" if params else "(param k 1 :min 0) (* k x)"
        with torch.device("meta"):
            module = nc.compile_scheme(source, inputs=["x"], params=params)
            assert module.k.is_meta and module(torch.ones(2, dtype=F64)).shape == (2,)
        with FakeTensorMode():
            assert nc.compile_scheme(source, inputs=["x"], params=params).k.shape == ()
    with pytest.raises(ValueError, match="outside its bounds"):
        nc.compile_scheme("(* k x)", inputs=["x"], params={"k": Param(-1.0, min=0.0)})


def test_whole_numbers_on_meta_have_no_numbers_to_refuse() -> None:
    module = nc.compile_scheme("(* x y)", inputs=["x", "y"], backend="torch")
    found = module(torch.ones(2, device="meta"), torch.ones(2, dtype=torch.int64, device="meta"))
    assert found.is_meta and found.dtype is F64


@BACKENDS
@pytest.mark.parametrize("inputs", [{"m": (2, 2), "v": 2}, ["m", "v"]], ids=["pinned", "open"])
def test_compiled_for_sizes_that_change(inputs: Any, backend: str) -> None:
    torch._dynamo.reset()
    module = nc.compile_scheme("(dot (tanh (matvec m v)) v)", inputs=inputs, backend=backend)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (2, 3, 5, 0):
        m, v = torch.full((n, 2, 2), 0.3, dtype=F64, requires_grad=True), torch.full((2,), 0.2, dtype=F64)
        found, expected = compiled(m, v), module(m, v)
        assert torch.allclose(found, expected, rtol=1e-15)
        for slope, e in zip(*(torch.autograd.grad(r.sum(), m) for r in (found, expected))):
            assert torch.allclose(slope, e, rtol=1e-14)
    if isinstance(inputs, list):
        assert compiled(torch.ones(4, 3, 3, dtype=F64), torch.ones(3, dtype=F64)).tolist() == pytest.approx([3 * np.tanh(3)] * 4, rel=1e-15)


def test_help_tells_the_inputs_of_a_module() -> None:
    module = nc.compile_scheme("(param k 0.5 :min 0) (* k x)")
    told = pydoc.render_doc(module, renderer=pydoc.plaintext)
    assert "x: an input, scalar" in told and "k: a parameter, scalar, 0.5 unless given, at least 0" in told
    assert "project_" in pydoc.render_doc(nc.CompiledModule, renderer=pydoc.plaintext)
    assert "source" in inspect.signature(nc.CompiledModule).parameters


def norm_of(*numbers: float, dtype: torch.dtype = F64) -> tuple[torch.Tensor, ...]:
    return tuple(torch.tensor(n, dtype=dtype) for n in numbers)


@BACKENDS
def test_a_list_of_tensors_is_differentiated(backend: str) -> None:
    n = nc.compile_scheme("(norm v)", inputs={"v": 2}, backend=backend)
    a, b = norm_of(3.0, 4.0)
    calls: list[Callable[[Any], Any]] = [
        lambda x: n([x, b]),
        lambda x: n((x, b)),
        lambda x: n(v=[x, b]),
        lambda x: n({"v": [x, b]}),
        lambda x: n([x, 4]),
        lambda x: n([x, np.array(4.0)]),
        lambda x: n([[x, b], [b, x]])[0],
        lambda x: n([torch.stack([x, b]), torch.stack([b, b])])[0],
    ]
    for act in calls:
        # The slope of sqrt(a^2 + b^2) by a is a/5.
        assert torch.func.grad(act)(a).item() == pytest.approx(0.6)
        assert torch.func.jvp(act, (a,), (torch.ones_like(a),))[1].item() == pytest.approx(0.6)
        assert torch.func.jacrev(act)(a).item() == pytest.approx(0.6)
        x = a.clone().requires_grad_()
        found = act(x)
        found.backward()
        assert found.item() == 5.0 and found.dtype == F64
        assert x.grad is not None and x.grad.item() == pytest.approx(0.6)
    lanes = torch.func.vmap(lambda x: n([x, b]))(torch.tensor([3.0, 0.0], dtype=F64))
    assert lanes.tolist() == [5.0, 4.0]
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: n([x, b]), backend="aot_eager", fullgraph=True)
    x = a.clone().requires_grad_()
    compiled(x).backward()
    assert x.grad is not None and x.grad.item() == pytest.approx(0.6)


@BACKENDS
def test_parameters_in_a_list_learn(backend: str) -> None:
    k = nc.compile_scheme("(* k (norm v))", inputs={"v": 2}, params={"k": 2.0}, backend=backend)
    held = torch.nn.ParameterList([torch.nn.Parameter(v) for v in norm_of(3.0, 4.0)])
    k(list(held)).backward()
    assert [p.grad.item() for p in held if p.grad is not None] == pytest.approx([1.2, 1.6])
    assert k.k.grad.item() == pytest.approx(5.0)


@BACKENDS
def test_a_list_has_the_type_of_its_tensors(backend: str) -> None:
    n = nc.compile_scheme("(- (ref v 0) (ref v 1))", inputs={"v": 2}, backend=backend)
    single, whole = norm_of(3.0, 4.0, dtype=torch.float32), torch.tensor([1_700_000_001, 1_700_000_000])
    cases = [
        (list(single), torch.float32, -1.0),
        ([single[0], torch.tensor(4.0, dtype=F64)], F64, -1.0),
        ([single[0], 4], torch.float32, -1.0),
        ([t.half() for t in single], torch.float16, -1.0),
        (list(whole), F64, 1.0),
        ([whole[0], 1_700_000_000], F64, 1.0),
        ([np.int64(1_700_000_001), np.uint64(1_700_000_000)], F64, 1.0),
        ([torch.tensor(True), torch.tensor(3, dtype=torch.uint8)], torch.float32, -2.0),
        ([np.array(0.5), np.array(0.25)], F64, 0.25),
    ]
    for given, dtype, value in cases:
        found = n(given)
        assert found.dtype == dtype and found.item() == value


@BACKENDS
def test_arrays_in_compiled_graphs(backend: str) -> None:
    n = nc.compile_scheme("(norm v)", inputs={"v": 2}, backend=backend)
    torch._dynamo.reset()
    compiled = torch.compile(n, backend="aot_eager", fullgraph=True)
    for given in (np.array([3, 4]), np.array([3.0, 4.0]), [np.array(3.0), 4.0], [np.float64(3.0), np.float32(4.0)]):
        assert compiled(given).item() == 5.0
    with pytest.raises(RuntimeError, match="beyond 2\\^53"):
        compiled(np.array([2**53 + 1, 4]))


def test_tensors_that_make_no_array_are_refused() -> None:
    n = nc.compile_scheme("(norm v)", inputs={"v": 2})
    with pytest.raises(TypeError, match=r"the input `v` is a list .* tensors of different shapes, \[2\] and \[3\]"):
        n([torch.zeros(2), torch.zeros(3)])
    with pytest.raises(TypeError, match=r"the input `v` is a tuple .* tensors of different shapes, \[\] and \[2\]"):
        n((torch.tensor(1.0), [torch.tensor(1.0), 2.0]))
    with pytest.raises(TypeError, match="the input `v` is complex"):
        n([torch.tensor(1j), 2.0])
    with pytest.raises(TypeError, match="the input `v` is a tensor or a number, not str"):
        n([torch.tensor(1.0), "2"])


def test_a_list_in_a_traced_module_is_one_node() -> None:
    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = nc.compile_scheme("(norm v)", inputs={"v": 2})

        def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
            return self.n([a, b]) + self.n({"v": (b, a)})

    traced = torch.fx.symbolic_trace(Whole())
    assert [node.op for node in traced.graph.nodes].count("call_module") == 2
    assert traced(*norm_of(3.0, 4.0)).item() == 10.0


LATE, EARLY = 1_700_000_000_123_456_789, 1_700_000_000_123_456_000
MAKERS: dict[str, Callable[[int], Any]] = {
    "array": lambda v: np.array([v]),
    "unsigned": lambda v: np.array([v], np.uint64),
    "backward": lambda v: np.array([0, v])[::-1],
    "no axes": lambda v: np.array(v),
    "int64": np.int64,
    "uint64": np.uint64,
    "list": lambda v: [v],
    "nested": lambda v: ((1, 2.5), (v, 0)),
    "list of scalars": lambda v: [np.int64(v)],
    "list of arrays": lambda v: [np.array([v]), np.array([1.5])],
    "list of tensors": lambda v: [torch.tensor(v), torch.tensor(v)],
    "tensor beside a number": lambda v: [torch.tensor(v), 1.5],
    "number beside a tensor": lambda v: [torch.tensor(1.5), v],
    "beyond int64": lambda v: [v * 1000],
    "alone beyond int64": lambda v: v * 1000,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_whole_numbers_of_every_kind_are_refused_beyond_float64(kind: str) -> None:
    make, module, program = MAKERS[kind], nc.compile_scheme("(- x y)"), nc.compile("(- x y)")
    late, early = make(LATE), make(EARLY)
    for act in (lambda: module(late, early), lambda: module(0.5, late), lambda: program(late, early), lambda: program(0.5, late)):
        with pytest.raises(TypeError, match="float64"):
            act()
    if not kind.startswith("unsigned") and kind != "uint64":
        with pytest.raises(TypeError, match="float64"):
            module(make(-LATE), 0.5)
    if "tensor" not in kind:
        # Python's numbers and NumPy's are there to be looked at, whoever transforms the call.
        with pytest.raises(TypeError, match="float64"):
            torch.func.grad(lambda x: module(x, late).sum())(torch.tensor(1.0))
    for parameter in (nc.compile_scheme, nc.compile):
        with pytest.raises(TypeError, match="the parameter `k`"):
            parameter("(* k x)", inputs={"x": None}, params={"k": late})


@pytest.mark.parametrize("kind", MAKERS)
def test_whole_numbers_of_every_kind_are_taken(kind: str) -> None:
    given = MAKERS[kind](3) if "beyond" not in kind else 3
    expected = np.asarray(given, float) - 1
    assert nc.compile_scheme("(- x y)")(given, 1).tolist() == expected.tolist()


def test_twelve_equations_are_compiled_in_one_process() -> None:
    torch._dynamo.reset()
    x = torch.tensor([0.5], dtype=F64)
    modules = [nc.compile_scheme(f"(+ {k} (* k x))", params={"k": 2.0}) for k in range(12)]
    for k, module in enumerate(modules):
        assert torch.compile(module, backend="eager", fullgraph=True)(x).item() == k + 1.0
        # The other two ways to compile one.
        assert torch.compile(module.forward, backend="eager", fullgraph=True)(x).item() == k + 1.0
        module.compile(backend="eager", fullgraph=True)
        assert module(x).item() == k + 1.0


def test_modules_of_one_program_share_what_is_compiled_and_are_plain_modules() -> None:
    first, second = (nc.compile_scheme("(* k x)", params={"k": 2.0}) for _ in range(2))
    other = nc.compile_scheme("(* 3 k x)", params={"k": 2.0})
    assert first.forward.__func__ is second.forward.__func__ is not other.forward.__func__
    for module in (first, copy.deepcopy(first), copy.copy(first), pickle.loads(pickle.dumps(first))):
        assert isinstance(module, nc.CompiledModule) and type(module) is type(first)
        assert repr(module).startswith("CompiledModule(") and module(1.0).item() == 2.0

    class Mine(nc.CompiledModule):
        def forward(self, /, *args: Any, check: bool = False, **kwargs: Any) -> Any:
            return -super().forward(*args, check=check, **kwargs)

    assert type(Mine("(* 2 x)", None, {}, {})) is Mine


def test_what_is_compiled_for_a_program_goes_with_it() -> None:
    module = nc.compile_scheme("(* 7 k x)", params={"k": 2.0})
    gone = weakref.ref(module.forward.__func__.__code__)
    del module
    gc.collect()
    assert gone() is None
