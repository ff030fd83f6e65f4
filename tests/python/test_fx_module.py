"""`compile_scheme(..., backend="torch")`: the lowering behind the same module, with the same answers and the same errors."""

from __future__ import annotations

import copy
import pickle

import neural_compiler as nc
import pytest
import torch
from neural_compiler import compile_scheme

PROGRAMS = [
    ("(* k (sin (* w t)))", {"k": 2.0, "w": 1.5}),
    ("(if (> t 0) (* k (log (+ t w))) (/ w (- k t)))", {"k": 2.0, "w": 1.5}),
    ("(loop ((i 0) (s t)) (if (>= i 4) s (recur (+ i 1) (+ w (* s k)))))", {"k": 0.5, "w": 1.5}),
    ("(define (f n s) (if (<= n 0) s (* k (f (- n 1) (+ s w))))) (f 3 t)", {"k": 0.5, "w": 1.5}),
    ("[(* k t) (* w t) t]", {"k": 2.0, "w": 1.5}),
]


@pytest.mark.parametrize(("source", "params"), PROGRAMS, ids=[s for s, _ in PROGRAMS])
def test_both_backends_train_alike(source: str, params: dict[str, float]) -> None:
    t = torch.linspace(-1, 1, 7, dtype=torch.float64)
    found = []
    for backend in ("native", "torch"):
        module = compile_scheme(source, params=params, backend=backend)
        assert sorted(n for n, _ in module.named_parameters()) == ["k", "w"]
        value = module(t=t)
        value.square().sum().backward()
        found.append((value.detach(), module.k.grad, module.w.grad))
    for native, torch_ in zip(*found):
        torch.testing.assert_close(torch_, native, rtol=1e-13, atol=1e-13)


def test_derivative_modules_run_on_torch_too() -> None:
    source = "(* (exp (- (* k x))) (sin (dot v v)) x)"
    x, v = torch.tensor([0.5, 2.0], dtype=torch.float64), torch.tensor([[1.0, 0.2], [0.3, -0.5]], dtype=torch.float64)
    ours, native = (compile_scheme(source, inputs={"x": None, "v": 2}, params={"k": 0.7}, backend=b) for b in ("torch", "native"))
    for derive in (
        lambda m: m.grad("x"),
        lambda m: m.grad("v"),
        lambda m: m.jacobian("v"),
        lambda m: m.hessian("v"),
        lambda m: m.grad("x").jacobian("v"),
    ):
        torch.testing.assert_close(derive(ours)(x=x, v=v), derive(native)(x=x, v=v), rtol=1e-12, atol=1e-12)


def test_loops_and_recursion_as_derivative_modules() -> None:
    for source, _ in PROGRAMS[2:4]:
        t = torch.linspace(-1, 1, 5, dtype=torch.float64)
        modules = [compile_scheme(source, inputs=["t", "k", "w"], backend=b) for b in ("torch", "native")]
        for name in ("t", "k", "w"):
            ours, native = (m.grad(name)(t=t, k=0.5, w=1.5) for m in modules)
            torch.testing.assert_close(ours, native, rtol=1e-13, atol=1e-13)


ERRORS = {
    "a vector of another length": ("(+ (dot v [1 2 3]) x)", {"v": torch.ones(4), "x": 1.0}),
    "a number for a vector": ("(+ (dot v [1 2 3]) x)", {"v": 1.0, "x": 1.0}),
    "an input that is missing": ("(+ (dot v [1 2 3]) x)", {"v": torch.ones(3)}),
    "an input too many": ("(+ x y)", {"x": 1.0, "y": 2.0, "xx": 3.0}),
    "batches that do not fit": ("(+ v x)", {"v": torch.ones(3), "x": torch.ones(2)}),
    "batches that do not fit, of vectors": ("(+ (dot v [1 2]) x)", {"v": torch.ones(4, 2), "x": torch.ones(2, 3)}),
    "a complex number": ("(+ x y)", {"x": torch.ones(2, dtype=torch.complex64), "y": 1.0}),
    "an index out of range": ("(+ 1\n   (ref [1 2 3] i))", {"i": torch.tensor([0.0, 3.0])}),
    "an index in a loop": ("(loop ((k i)) (if (> k 5) k (recur (+ k (ref [1 2 3] k)))))", {"i": torch.tensor([2.0, 0.0])}),
}


@pytest.mark.parametrize("what", ERRORS)
def test_the_same_errors_word_for_word(what: str) -> None:
    source, inputs = ERRORS[what]
    found = []
    for backend in ("native", "torch"):
        with pytest.raises((TypeError, ValueError, nc.EvaluationError)) as caught:
            compile_scheme(source, backend=backend)(**inputs)
        found.append(caught)
    native, ours = (f.value for f in found)
    assert type(ours) is type(native) and str(ours) == str(native)
    if isinstance(native, nc.EvaluationError):
        assert isinstance(ours, nc.EvaluationError)
        assert (ours.code, ours.lane, ours.diagnostic) == (native.code, native.lane, native.diagnostic)


def test_whole_numbers_and_mixed_types_follow_the_same_rules() -> None:
    for source in ("(/ x y)", "(if (> x y) (* 0.1 x) y)"):
        ours, native = (compile_scheme(source, backend=b) for b in ("torch", "native"))
        for x, y in [
            (torch.tensor([1, 2]), torch.tensor([3, 1])),
            (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0]).double()),
            (torch.tensor([1.0]), 3),
        ]:
            a, b = ours(x, y), native(x, y)
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b)


def test_state_copies_and_pickles() -> None:
    module = compile_scheme("(* k (sin x))", params={"k": 2.0}, backend="torch")
    x = torch.tensor([0.5, 1.0])
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x=x), module(x=x))
    module.load_state_dict({"k": torch.tensor(3.0)})
    assert torch.equal(module(x=x), 3.0 * torch.sin(x))


def test_other_devices_take_the_torch_operations_by_themselves() -> None:
    module = compile_scheme("(if (> x 0) (* k (log x)) x)", params={"k": 2.0})
    found = module(x=torch.ones(3, 2, device="meta"))
    assert found.device.type == "meta" and found.shape == (3, 2)
    with pytest.raises(RuntimeError, match="native"):
        compile_scheme("(sin x)", backend="native")(x=torch.ones(3, device="meta"))


def test_the_second_call_means_what_the_first_means() -> None:
    """The first lowers the program, the later ones go the short way."""
    module = nc.compile_scheme("(+ (* k (vsum v)) x)", inputs={"v": None, "x": None} | {"v": 3}, params={"k": 2.0}, backend="torch")
    v, x = torch.rand(4, 3), torch.rand(4)
    for dtype in (torch.float32, torch.float64):
        given = v.to(dtype), x.to(dtype)
        first, second, named = module(*given), module(*given), module(x=given[1], v=given[0])
        assert first.dtype == second.dtype == dtype and torch.equal(first, second) and torch.equal(first, named)
        assert torch.equal(first, module.k.to(dtype) * given[0].sum(-1) + given[1])
        second.sum().backward()
        assert module.k.grad is not None and module.k.grad.dtype == torch.float64
    mixed = module(v, x.double())
    assert mixed.dtype == torch.float64 and torch.equal(mixed, module(v.double(), x.double()))
    for wrong in ((torch.rand(4, 2), x), (v, torch.rand(5))):
        with pytest.raises(ValueError):
            module(*wrong)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lengths_have_the_same_bits_whether_numbers_are_looked_at_or_not(dtype: torch.dtype) -> None:
    from neural_compiler.fx.norm import _scaled, norm

    largest = torch.finfo(dtype).max
    torch.manual_seed(0)
    for size in (1.0, 1e-9, 1e15, 2.0**-41, 2.0**61, largest / 8, 1e-6 / largest):
        v = (torch.randn(200, 3, dtype=dtype) * torch.exp(4 * torch.randn(200, 3, dtype=dtype).clamp(-1, 1)) / 60 * size).requires_grad_()
        short, scaled = norm(v), _scaled(v)
        assert torch.equal(short, scaled)
        assert torch.equal(*(torch.autograd.grad(n.sum(), v)[0] for n in (short, scaled)))
    assert torch.equal(norm(torch.tensor([[3.0, 4.0], [largest / 2, 0.0]], dtype=dtype)), torch.tensor([5.0, largest / 2], dtype=dtype))
    assert norm(torch.empty(0, 3, dtype=dtype)).shape == (0,) and norm(torch.tensor([float("nan"), 1.0], dtype=dtype)).isnan()
