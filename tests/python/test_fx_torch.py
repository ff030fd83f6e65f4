"""The lowered module among PyTorch's tools: printing, editing, compiling, exporting, transforms, devices, limits and errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import neural_compiler as nc
import pytest
import torch
from neural_compiler.fx import lower, source_text
from neural_compiler.fx.control import Limits

BRANCH = "(if (> x 0) (/ (log x) (+ 1 y)) (* x y))"
LOOP = "(loop ((i 0) (s x)) (if (>= i n) s (recur (+ i 1) (* s y))))"
RECURSION = "(define (f k) (if (<= k 0) x (+ y (f (- k 1))))) (f n)"
FACTORIAL = "(define (f k) (if (<= k 0) 1 (* k (f (- k 1))))) (f n)"


def module(source: str, limits: Limits | None = None, **inputs: Any) -> torch.fx.GraphModule:
    return lower(nc.compile(source, inputs=inputs or None).graph_json(), limits)


def values(*names: str) -> dict[str, torch.Tensor]:
    known = {"x": [-1.0, 0.0, 2.0], "y": [0.5, 2.0, 1.5], "n": [0.0, 3.0, 1.0]}
    return {n: torch.tensor(known[n], dtype=torch.float64) for n in names}


# ---- what one sees ----


def test_straight_line_programs_are_plain_calls_that_can_be_read() -> None:
    gm = module("(/ (* G (* m1 m2)) (pow r 2))")
    assert {n.op for n in gm.graph.nodes} == {"placeholder", "call_function", "call_method", "output"}
    lines = [line.split(";")[0].strip() for line in gm.code.strip().splitlines()]
    assert lines == [
        "def forward(self, G, m1, m2, r):",
        "mul = m1 * m2",
        "mul_1 = G * mul",
        "square = torch.square(r)",
        "truediv = mul_1 / square",
        "contiguous = truediv.contiguous()",
        "return (contiguous,)",
    ]


def test_the_code_can_be_edited() -> None:
    gm = module("(* a (sin x))")
    for node in gm.graph.nodes:
        if node.target is torch.sin:
            node.target = torch.cos
    gm.recompile()
    a, x = torch.tensor(2.0), torch.tensor(0.3)
    assert torch.equal(gm(a, x)[0], a * torch.cos(x))


def test_nodes_know_their_place_in_the_source() -> None:
    source = "(* a (sin x))"
    (sine,) = (n for n in module(source).graph.nodes if n.target is torch.sin)
    start, end = sine.meta["span"]
    assert source[start:end] == "(sin x)"


def test_loops_and_functions_can_be_read_too() -> None:
    text = source_text(module(LOOP))
    assert "loop_1 = self.loop_1(" in text and "# region loop#1" in text and "mul = p0 * p2" in text
    assert source_text(module(FACTORIAL)).count("# region f#") == 1


def test_names_do_not_collide() -> None:
    gm = module("(+ (* 100 X) (* 10 x) import like)")
    assert gm(*map(torch.tensor, (1.0, 2.0, 3.0, 4.0)))[0] == 127.0
    assert module("(- θ φ)")(torch.tensor(3.0), torch.tensor(1.0))[0] == 2.0


def test_copies_and_pickles() -> None:
    for source in (BRANCH, LOOP, RECURSION):
        gm = module(source)
        given = [values(i.name)[i.name] for i in nc.compile(source).inputs]
        for other in (copy.deepcopy(gm), pickle.loads(pickle.dumps(gm))):
            assert torch.equal(other(*given)[0], gm(*given)[0])
        assert list(gm.parameters()) == [] and gm.state_dict() == {}


# ---- torch.compile, export, transforms ----

STRAIGHT = [
    (BRANCH, {"x": None, "y": None}),
    ("(vsum (solve a (matvec (inv a) v)))", {"a": (3, 3), "v": 3}),
    ("(+ (det a) (norm v) (cbrt (ref v 1)) (quotient (ref v 0) 0.3))", {"a": (3, 3), "v": 3}),
    ("(concat (* 2 v) (vsum v) (fill (ref v 2) 2))", {"v": 3}),
    ("(if (> (vsum v) 0) (/ v (norm v)) (cross v [1 0 0]))", {"v": 3}),
    ("(* 2 (ref v i))", {"v": 3, "i": None}),
    ("(define (g a b) (if (> a b) (* a (sin b)) (cos (* a b)))) (+ (g x y) (g y x) (g x 1))", {"x": None, "y": None}),
]


def sample(inputs: dict[str, Any]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    shapes = [(3,) if s == 3 else s or () for s in inputs.values()]
    found = [torch.randn(4, *s, dtype=torch.float64, generator=generator) for s in shapes]
    return [torch.tensor([0.0, 2.0, 1.0, 2.0], dtype=torch.float64) if n == "i" else v for n, v in zip(inputs, found)]


@pytest.mark.parametrize(("source", "inputs"), STRAIGHT, ids=[s for s, _ in STRAIGHT])
def test_traces_without_a_graph_break_and_with_right_gradients(source: str, inputs: dict[str, Any]) -> None:
    torch._dynamo.reset()
    gm = module(source, **inputs)
    ours, plain = ([v.requires_grad_() for v in sample(inputs)] for _ in range(2))
    # The eager backend of the compiler: tracing is what is tested here.
    found, expected = torch.compile(gm, fullgraph=True, backend="aot_eager")(*ours)[0], gm(*plain)[0]
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    expected.sum().backward()
    for a, b in zip(ours, plain):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad)


def test_the_whole_compiler_agrees() -> None:
    torch._dynamo.reset()
    gm = module(BRANCH)
    given = list(values("x", "y").values())
    torch.testing.assert_close(torch.compile(gm, fullgraph=True)(*given)[0], gm(*given)[0])


def test_a_compiled_index_out_of_range_is_an_error() -> None:
    torch._dynamo.reset()
    gm = module("(ref v i)", v=3, i=None)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def compiled(v: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return gm(v, i)[0]

    assert compiled(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 2.0])).tolist() == [1.0, 3.0]
    with pytest.raises(RuntimeError, match="index-out-of-range"):
        compiled(torch.ones(3), torch.tensor([0.0, 7.0]))


def test_loops_break_the_graph_and_say_so() -> None:
    torch._dynamo.reset()
    gm = module(LOOP)
    given = [values(i.name)[i.name] for i in nc.compile(LOOP).inputs]
    assert torch.equal(torch.compile(gm, backend="eager")(*given)[0], gm(*given)[0])
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="depends on the numbers"):
        torch.compile(gm, fullgraph=True, backend="eager")(*given)


def test_exports() -> None:
    gm = module(BRANCH)
    given = tuple(values("x", "y").values())
    exported = torch.export.export(gm, given)
    assert torch.equal(exported.module()(*given)[0], gm(*given)[0])


def test_function_transforms_of_straight_line_programs() -> None:
    gm = module(BRANCH)
    x, y = values("x", "y").values()
    assert torch.equal(torch.func.vmap(gm)(x, y)[0], gm(x, y)[0])
    rows = torch.func.jacrev(lambda x: gm(x, y)[0])(x)
    torch.testing.assert_close(rows, torch.func.jacfwd(lambda x: gm(x, y)[0])(x))
    torch.testing.assert_close(torch.diagonal(rows), torch.tensor([0.5, 2.0, 1 / (2.0 * 2.5)], dtype=torch.float64))
    second = torch.diagonal(torch.func.hessian(lambda x: gm(x, y)[0].sum())(x))
    torch.testing.assert_close(second, torch.tensor([0.0, 0.0, -1 / (4.0 * 2.5)], dtype=torch.float64))


@pytest.mark.parametrize("source", [LOOP, RECURSION])
def test_function_transforms_of_loops_and_recursion(source: str) -> None:
    gm = module(source)
    given = [values(i.name)[i.name] for i in nc.compile(source).inputs]
    at = [i.name for i in nc.compile(source).inputs].index("y")

    def of_y(y: torch.Tensor) -> torch.Tensor:
        return gm(*given[:at], y, *given[at + 1 :])[0]

    y = given[at]
    forward = torch.func.jvp(of_y, (y,), (torch.ones_like(y),))[1]
    (backward,) = torch.func.vjp(of_y, y)[1](torch.ones_like(y))
    torch.testing.assert_close(forward, backward)
    with pytest.raises(RuntimeError, match="data-dependent"):
        torch.func.vmap(gm)(*given)


@pytest.mark.parametrize(
    "source", [BRANCH, LOOP, RECURSION, "(loop ((i 0) (s x)) (if (>= i n) s (recur (+ i 1) (if (> s 1) (* s y) (exp (* s y))))))"]
)
def test_gradcheck_and_gradgradcheck(source: str) -> None:
    gm = module(source)
    names = [i.name for i in nc.compile(source).inputs]
    given = [values(n)[n] + (0.25 if n != "n" else 0.0) for n in names]
    moving = [k for k, n in enumerate(names) if n != "n"]

    def function(*moved: torch.Tensor) -> torch.Tensor:
        full = list(given)
        for k, m in zip(moving, moved):
            full[k] = m
        return gm(*full)[0]

    xs = tuple(given[k].clone().requires_grad_() for k in moving)
    assert torch.autograd.gradcheck(function, xs)
    assert torch.autograd.gradgradcheck(function, xs)


# ---- devices ----


@pytest.mark.parametrize("source", [BRANCH, LOOP, RECURSION])
def test_shapes_on_the_meta_device(source: str) -> None:
    gm = module(source)
    given = [values(i.name)[i.name].to("meta") for i in nc.compile(source).inputs]
    given[0] = given[0][:, None]
    (found,) = gm(*given)
    assert found.device.type == "meta" and found.shape == (3, 3) and found.dtype == torch.float64


def test_constants_are_made_where_the_inputs_are() -> None:
    for source, inputs in [*STRAIGHT, ("(+ (eye 3) (* x (ones 3 3)))", {"x": None}), ("(cofactor a)", {"a": (3, 3)})]:
        (found,) = module(source, **inputs)(*(v.to("meta") for v in sample(inputs)))
        assert found.device.type == "meta"


# ---- branches not taken ----


def test_poison_in_a_branch_not_taken_does_not_leak() -> None:
    # Each guarded side has a pole, a NaN or an infinite slope at the lanes that do not take it.
    sides = [
        "(/ 1 x)",
        "(log x)",
        "(sqrt x)",
        "(pow x -1.5)",
        "(/ (sin x) x)",
        "(* y (/ x x))",
        "(norm (/ [y x] x))",
        "(det (inv (mat [x 0] [0 x])))",
    ]
    x = torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64)
    y = torch.tensor(3.0, dtype=torch.float64)
    for side in sides:
        gm = module(f"(if (> x 0) {side} (* 2 x y))", x=None, y=None)
        xs, ys = x.clone().requires_grad_(), y.clone().requires_grad_()
        (value,) = gm(xs, ys)
        first = torch.autograd.grad(value.sum(), (xs, ys), create_graph=True, allow_unused=True)
        assert torch.isfinite(value).all() and all(torch.isfinite(g).all() for g in first if g is not None), side
        assert first[0][0] == 6.0 and first[0][2] == 6.0
        second = torch.autograd.grad(first[0].sum(), (xs, ys), allow_unused=True)
        assert all(torch.isfinite(g).all() for g in second if g is not None), side


def test_lanes_that_are_done_do_not_run_on() -> None:
    # Run on, the shortest lane would overflow and its gradient be NaN.
    source = "(loop ((i 0) (s x)) (if (>= i n) s (recur (+ i 1) (* s s s))))"
    x = torch.tensor([10.0, 1.0], dtype=torch.float64, requires_grad=True)
    names = [i.name for i in nc.compile(source).inputs]
    given = {"x": x, "n": torch.tensor([1.0, 40.0], dtype=torch.float64)}
    (value,) = module(source)(*(given[n] for n in names))
    assert value.tolist() == [1000.0, 1.0]
    assert torch.autograd.grad(value[0], x)[0].tolist() == [300.0, 0.0]


# ---- errors and limits ----


def test_index_out_of_range_names_the_lane() -> None:
    gm = module("(* 2 (ref v i))", v=3, i=None)
    for bad in (5.0, -1.0, 0.5, float("nan")):
        with pytest.raises(nc.EvaluationError, match="index") as caught:
            gm(torch.ones(3), torch.tensor([0.0, 2.0, bad]))
        assert caught.value.code == "index-out-of-range" and caught.value.lane == 2


def test_an_index_in_a_branch_counts_only_where_it_is_taken() -> None:
    gm = module("(if (< i 3) (ref v i) 0)", v=3, i=None)
    assert gm(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 9.0, 2.0]))[0].tolist() == [1.0, 0.0, 3.0]
    with pytest.raises(nc.EvaluationError) as caught:
        gm(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([7.0, 0.0, -1.0]))
    assert caught.value.lane == 2


def test_limits() -> None:
    with pytest.raises(nc.EvaluationError) as caught:
        module("(loop ((i n)) (if (= i 0) i (recur (- i 1))))", Limits(iterations=100))(torch.tensor([3.0, 0.5, 2.0]))
    assert caught.value.code == "limit-iterations" and caught.value.lane == 1
    with pytest.raises(nc.EvaluationError) as caught:
        module(FACTORIAL, Limits(depth=50))(torch.tensor([5.0, 60.0]))
    assert caught.value.code == "limit-depth" and caught.value.lane == 1
    with pytest.raises(nc.EvaluationError) as caught:
        module(FACTORIAL, Limits(steps=10))(torch.tensor([15.0]))
    assert caught.value.code == "limit-steps"


def test_deep_recursion_does_not_use_python_s_stack() -> None:
    source = "(define (f k) (if (<= k 0) x (+ 1 (f (- k 1))))) (f n)"
    names = [i.name for i in nc.compile(source).inputs]
    given = {"x": torch.tensor(0.5, requires_grad=True), "n": torch.tensor(3000.0)}
    (value,) = module(source)(*(given[n] for n in names))
    value.backward()
    assert value == 3000.5 and given["x"].grad == 1.0


def test_deeply_nested_programs_do_not_use_python_s_stack_either() -> None:
    branches, loops = "x", "x"
    for k in range(700):
        branches = f"(if (> x {k}) {branches} (log (+ x {k} 2)))"
    for k in range(120):
        loops = f"(if (> x {k}) (loop ((i 0) (a {loops})) (if (> i 1) a (recur (+ i 1) (* 0.5 a)))) (log (+ x {k} 2)))"
    x = torch.tensor([-1.0, 55.5, 800.0], dtype=torch.float64)
    for source in (branches, loops):
        torch.testing.assert_close(module(source)(x)[0], torch.from_numpy(nc.compile(source)(x.numpy())))


def test_empty_batches() -> None:
    for source in (BRANCH, LOOP, RECURSION):
        given = [values(i.name)[i.name][:0] for i in nc.compile(source).inputs]
        assert module(source)(*given)[0].shape == (0,)
