"""Code written for the paper's release: the same names, the same calls, the values a program means."""

from __future__ import annotations

import math

import neural_compiler as nc
import numpy as np
import pytest
import torch
from neural_compiler.compiler import compile_scheme, run_scheme
from neural_compiler.evaluator import DirectModule, evaluate
from neural_compiler.evaluator.direct_module import DirectModule as SameModule

# Programs and values from the paper and from the first pages of its release.
ONE_SHOT = [
    ("(+ (* 3 4) 5)", {}, 17.0),
    ("(+ (* 3 x) (- y 1))", {"x": 4.0, "y": 7.0}, 18.0),
    ("(if (> x 0) x (- 0 x))", {"x": -5.0}, 5.0),
    ("(let ((d (- (* b b) (* 4 (* a c))))) (if (>= d 0) 1 0))", {"a": 1.0, "b": 2.0, "c": 5.0}, 0.0),
    ("(loop ((n 10) (acc 1)) (if (= n 0) acc (recur (- n 1) (* acc n))))", {}, 3628800.0),
    ("(letrec ((fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))) (fib 10))", {}, 55.0),
    ("(letrec ((fact (lambda (n acc) (if (= n 0) acc (fact (- n 1) (* acc n)))))) (fact n 1))", {"n": 7.0}, 5040.0),
    ("(dot [1 2 3] [4 5 6])", {}, 32.0),
    ("(/ (* (- 0 G) (* m1 m2)) (pow r 2))", {"G": 6.674, "m1": 2.0, "m2": 3.0, "r": 2.0}, -10.011),
    ("(* k (sqrt (/ L g)))", {"k": 6.25, "L": 4.0, "g": 1.0}, 12.5),
]


@pytest.mark.parametrize(("source", "inputs", "expected"), ONE_SHOT, ids=[s for s, _, _ in ONE_SHOT])
def test_run_scheme(source: str, inputs: dict[str, float], expected: float) -> None:
    found = run_scheme(source, inputs)
    assert isinstance(found, float)
    assert found == pytest.approx(expected, rel=1e-15)


def test_vectors_come_back_as_tensors_of_the_default_type() -> None:
    for source, expected in [("(cross [1 0 0] [0 1 0])", [0.0, 0.0, 1.0]), ("(matvec (mat [1 0] [0 1]) [3 4])", [3.0, 4.0])]:
        found = run_scheme(source)
        assert isinstance(found, torch.Tensor)
        assert torch.equal(found, torch.tensor(expected))


def test_direct_module() -> None:
    graph = compile_scheme("(+ (* a b) (- c d))", inputs={"a": None, "b": None, "c": None, "d": None})
    model = DirectModule(graph)
    assert SameModule is DirectModule
    single = model({n: torch.tensor(v) for n, v in zip("abcd", (3.0, 4.0, 10.0, 3.0))})
    assert single.shape == () and single == 19.0
    batch = model.forward_batch({n: torch.tensor(v) for n, v in zip("abcd", ([3.0, 1.0], [4.0, 2.0], [10.0, 5.0], [3.0, 1.0]))})
    assert batch.tolist() == [19.0, 6.0]
    assert list(model.parameters()) == []
    assert model.graph is graph and graph.input_names == list("abcd")


def test_a_hybrid_model_learns_through_the_frozen_module() -> None:
    hooke = DirectModule(compile_scheme("(* neg_k x)", inputs={"neg_k": None, "x": None}))
    hooke.freeze()
    k = torch.nn.Parameter(torch.tensor(-1.0))
    x = torch.linspace(-2, 2, 32)
    optimiser = torch.optim.SGD([k], lr=0.2)
    for _ in range(60):
        optimiser.zero_grad()
        (hooke.forward_batch({"neg_k": k.expand(32), "x": x}) + 2.5 * x).square().mean().backward()
        optimiser.step()
    assert float(k.detach()) == pytest.approx(-2.5, abs=1e-4)


def test_shapes_follow_the_tensors() -> None:
    gravity = compile_scheme("(scale (/ (- 0 G) (pow (norm r) 3)) r)", inputs={"G": None, "r": None})
    r = torch.tensor([[3.0, 4.0, 0.0], [0.0, 2.0, 0.0]])
    found = DirectModule(gravity).forward_batch({"G": torch.tensor([125.0, 8.0]), "r": r})
    assert found.tolist() == [[-3.0, -4.0, 0.0], [0.0, -2.0, 0.0]]
    found = evaluate(compile_scheme("(+ (+ a b) c)", inputs="abc"), {n: torch.ones(3) for n in "abc"})
    assert found.tolist() == [3.0] * 3  # type: ignore[union-attr]
    heat = compile_scheme("(+ u (scale (* alpha dt) (matvec L u)))", inputs={"u": None, "L": None, "alpha": None, "dt": None})
    laplacian = torch.diag(torch.ones(4), 1) + torch.diag(torch.ones(4), -1) - 2 * torch.eye(5)
    step = DirectModule(heat)({"u": torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]), "L": laplacian, "alpha": 1.0, "dt": 0.5})
    assert step.tolist() == [0.0, 0.5, 0.0, 0.5, 0.0]


def test_recursion_runs_in_batches() -> None:
    graph = compile_scheme("(letrec ((f (lambda (n) (if (= n 0) 1 (* n (f (- n 1))))))) (f n))", inputs={"n": None})
    assert graph.has_functions
    assert DirectModule(graph).forward_batch({"n": torch.tensor([0.0, 1.0, 5.0, 3.0])}).tolist() == [1.0, 1.0, 120.0, 6.0]
    constant = DirectModule(compile_scheme("(letrec ((f (lambda (n) (if (= n 0) 1 (* n (f (- n 1))))))) (f 5))"))
    assert constant.forward_batch({"unused": torch.zeros(3)}).tolist() == [120.0] * 3


def test_intermediates() -> None:
    graph = compile_scheme("(* (+ x 1) (- y 2))", inputs={"x": None, "y": None})
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([5.0, 7.0])
    output, between = DirectModule(graph).forward_batch_with_intermediates({"x": x, "y": y})
    assert output.tolist() == [6.0, 15.0]
    assert between.shape == (2, len(graph.nodes))
    names = [n.name if n.op_type == "input" else n.op_type for n in graph.nodes.values()]
    columns = dict(zip(names, between.T.tolist()))
    assert columns["x"] == [1.0, 2.0] and columns["+"] == [2.0, 3.0] and columns["-"] == [3.0, 5.0] and columns["*"] == [6.0, 15.0]
    assert torch.autograd.grad(between[:, names.index("*")].sum(), x)[0].tolist() == [3.0, 5.0]


def test_intermediates_of_vectors_and_branches() -> None:
    graph = compile_scheme("(if (> (norm v) 1) (vsum v) (sqrt (- 1 (norm v))))", inputs={"v": None})
    output, between = DirectModule(graph).forward_batch_with_intermediates({"v": torch.tensor([[3.0, 4.0], [0.0, 0.0]])})
    assert output.tolist() == [7.0, 1.0]
    assert between[:, :2].tolist() == [[3.0, 4.0], [0.0, 0.0]] and torch.isfinite(between).all()


def test_the_graph_can_be_looked_at() -> None:
    graph = compile_scheme("(* (+ x 1) (- y 2))", inputs={"x": None, "y": None})
    assert sorted(n.op_type for n in graph.nodes.values()) == ["*", "+", "-", "const", "const", "input", "input"]
    assert graph.depth() == 2 and not graph.has_loops and not graph.has_functions
    assert compile_scheme("(loop ((i 0)) (if (>= i n) i (recur (+ i 1))))", inputs=["n"]).has_loops


def test_limits_are_kept() -> None:
    loop = compile_scheme("(loop ((i 0)) (if (>= i n) i (recur (+ i 1))))", inputs=["n"])
    assert evaluate(loop, {"n": 5}, max_iter=10) == 5.0
    with pytest.raises(nc.EvaluationError, match="more than 10 rounds"):
        evaluate(loop, {"n": 50}, max_iter=10)
    deep = compile_scheme("(letrec ((f (lambda (n) (if (= n 0) 1 (* n (f (- n 1))))))) (f n))", inputs=["n"])
    with pytest.raises(nc.EvaluationError, match="more than 4 deep"):
        DirectModule(deep, max_depth=4)({"n": torch.tensor(9.0)})
    with pytest.raises(nc.EvaluationError, match="more than 10 rounds"):
        DirectModule(loop, max_iter=10).forward_batch_with_intermediates({"n": torch.tensor([50.0])})
    with pytest.raises(nc.EvaluationError, match="more than 1 rounds"):
        DirectModule(loop, max_iter=1)({"n": torch.tensor(5.0)})
    for bad in (0, -1, True, 2.5):
        for name in ("max_iter", "max_depth"):
            with pytest.raises(ValueError, match=f"`{name}` is a positive whole number"):
                DirectModule(loop, **{name: bad})
    # Wider than the engine's own, which it is not asked about.
    assert DirectModule(deep, max_depth=20_000)({"n": torch.tensor(12_000.0)}).isinf()
    assert evaluate(compile_scheme("(+ 0.1 0.2)"), max_iter=3) == 0.1 + 0.2


def test_bad_input_says_what_is_wrong() -> None:
    graph = compile_scheme("(+ x y)", inputs={"x": None, "y": None})
    with pytest.raises(ValueError, match="Missing input: y"):
        evaluate(graph, {"x": 1.0})
    with pytest.raises(KeyError, match="missing input: y"):
        DirectModule(graph)({"x": torch.tensor(1.0)})
    with pytest.raises(ValueError, match="at least one input"):
        DirectModule(graph).forward_batch({})
    with pytest.raises(nc.CompileError, match="z"):
        compile_scheme("(+ x z)", inputs={"x": None})
    with pytest.raises(TypeError, match="graph"):
        DirectModule("(+ x y)")  # type: ignore[arg-type]


# What docs/differences-from-the-paper.md says, line by line.
DIFFERENCES = [
    ("(sqrt x)", {"x": -1.0}, math.nan),
    ("(sqrt x)", {"x": 0.0}, 0.0),
    ("(log x)", {"x": 0.0}, -math.inf),
    ("(modulo x 3)", {"x": -7.0}, 2.0),
    ("(remainder x 3)", {"x": -7.0}, -1.0),
    ("(if (> x 0) (/ 1 x) 7)", {"x": 0.0}, 7.0),
    ("(and x 3)", {"x": 2.0}, 3.0),
    ("(or x 5)", {"x": 0.0}, 5.0),
    ("(norm (normalize [x 0]))", {"x": 1e-9}, 1.0),
    ("(+ 0.1 0.2)", {}, 0.1 + 0.2),
]


@pytest.mark.parametrize(("source", "inputs", "expected"), DIFFERENCES, ids=[s for s, _, _ in DIFFERENCES])
def test_meant_differences(source: str, inputs: dict[str, float], expected: float) -> None:
    found = run_scheme(source, inputs)
    assert found == expected or (math.isnan(expected) and math.isnan(found))  # type: ignore[arg-type]


def test_mistakes_that_the_release_lets_pass_are_errors() -> None:
    with pytest.raises(nc.CompileError, match="size-not-constant"):
        run_scheme("(eye n)", {"n": 3.0})
    with pytest.raises(nc.CompileError, match="shape-mismatch"):
        run_scheme("(+ [1 2 3] [1])")
    with pytest.raises(nc.CompileError):
        run_scheme("(exp e)")
    with pytest.raises(nc.EvaluationError, match="index") as caught:
        index = DirectModule(compile_scheme("(ref [1 2 3] i)", inputs=["i"]))
        index.forward_batch({"i": torch.tensor([0.0, -1.0])})
    assert caught.value.lane == 1
    assert run_scheme("(norm [3e200 4e200])") == pytest.approx(5e200, rel=1e-15)


def test_types_follow_the_tensors() -> None:
    graph = compile_scheme("(* 0.1 x)", inputs=["x"])
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor([3.0], dtype=dtype)
        found = DirectModule(graph).forward_batch({"x": x})
        assert found.dtype == dtype and torch.equal(found, 0.1 * x)


def test_whole_numbers_are_not_rounded_to_single_precision() -> None:
    n = 2**24
    for limits in ({}, {"max_iter": 10}):
        less = DirectModule(compile_scheme("(- a b)", inputs=["a", "b"]), **limits)
        tensors = [torch.tensor([n + 1]), torch.tensor([n + 1], dtype=torch.int32), torch.tensor(n + 1), [torch.tensor(n + 1)]]
        arrays = [np.array([n + 1]), np.array([n + 1], np.int32), np.array([n + 1.0]), np.int64(n + 1), [np.array(n + 1)]]
        for a in (*tensors, *arrays):
            for b in (torch.tensor([n]), torch.tensor([float(n)])):
                found = less({"a": a, "b": b})
                assert found.tolist() == [1.0] and found.dtype is torch.float64
        assert less({"a": n + 1, "b": n}).item() == less({"a": np.int64(n + 1), "b": n}).item() == 1.0
        # Shorter ones, which every float32 holds, and Python's follow.
        assert less({"a": torch.tensor([3], dtype=torch.int16), "b": torch.tensor([1.5])}).dtype is torch.float32
        assert less({"a": 3, "b": torch.tensor([1.5])}).dtype is torch.float32
        assert less({"a": np.array([3.0], np.float32), "b": torch.tensor([1.5])}).dtype is torch.float32


def test_autocast_does_not_change_how_a_program_computes() -> None:
    inputs = {"m": torch.full((3, 2, 2), 1.001), "v": torch.full((3, 2), 1.001)}
    graph = compile_scheme("(ref (matvec m v) 0)", inputs={"m": (2, 2), "v": 2})
    for model in (DirectModule(graph), DirectModule(graph, max_iter=10)):
        value, between = model.forward_batch(inputs), model.forward_batch_with_intermediates(inputs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found, again = model.forward_batch(inputs), model.forward_batch_with_intermediates(inputs)
        assert found.dtype is torch.float32 and torch.equal(found, value)
        assert all(torch.equal(a, b) for a, b in zip(again, between))


MATRICES = [
    "(dot v (matvec m v))",
    "(loop ((i 0) (u v)) (if (>= i 3) (dot u v) (recur (+ i 1) (matvec m u))))",
    "(dot v (solve m v))",
]


@pytest.mark.parametrize("limits", [{}, {"max_iter": 10}, {"max_depth": 10}], ids=str)
@pytest.mark.parametrize("source", MATRICES)
def test_autocast_rounds_no_gradient(source: str, limits: dict[str, int]) -> None:
    model = DirectModule(compile_scheme(source, inputs={"m": (2, 2), "v": 2}), **limits)
    m = (torch.tensor([[1.001, 0.123], [0.321, 0.777]]) * torch.ones(3, 1, 1)).requires_grad_()
    v = torch.full((3, 2), 1.001, requires_grad=True)
    inputs = {"m": m, "v": v}

    def gradients() -> list[torch.Tensor]:
        value, (again, between) = model.forward_batch(inputs), model.forward_batch_with_intermediates(inputs)
        first = torch.autograd.grad(value.sum(), (m, v), create_graph=True)
        second = torch.autograd.grad(sum((g * g).sum() for g in first), (m, v))
        return [value, again, between, *first, *second, *torch.autograd.grad(again.sum() + between.square().sum(), (m, v))]

    wanted = gradients()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = gradients()
    for a, b in zip(found, wanted, strict=True):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_branch_not_taken_leaves_no_trace_in_the_gradient() -> None:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    DirectModule(compile_scheme("(if (> x 0) (sqrt x) 0)", inputs=["x"])).forward_batch({"x": x}).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 0.25]


def test_lists_of_tensors_keep_their_gradients_and_whole_numbers_their_digits() -> None:
    model = DirectModule(compile_scheme("(dot v v)", inputs={"v": 2}))
    a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    found = model({"v": [a, 4.0]})
    found.backward()
    assert found.item() == 25.0 and found.dtype == torch.float64 and a.grad is not None and a.grad.item() == 6.0
    for whole in ([2**53 + 1, 0], torch.tensor([2**53 + 1, 0])):
        with pytest.raises(TypeError, match="float64"):
            model({"v": whole})
