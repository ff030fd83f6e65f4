"""Programs as ONNX models, run by onnxruntime beside our own engine; what ONNX cannot express is refused by name."""

from __future__ import annotations

import math
import pathlib

import neural_compiler as nc
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from neural_compiler.onnx import OPERATIONS, OnnxError

onnxruntime.set_default_logger_severity(4)


def run(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)


def same(text: str, inputs: dict[str, list], rtol: float = 4e-15, sizes: dict | None = None) -> None:
    for dtype, share in ((torch.float64, 1.0), (torch.float32, 5e8)):
        module = nc.compile_scheme(text, inputs=sizes)
        given = {k: torch.tensor(v, dtype=dtype) for k, v in inputs.items()}
        found = run(module.to_onnx(dtype=dtype), {k: v.numpy() for k, v in given.items()})
        with torch.no_grad():
            expected = module(given)
        for f, e in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert f.dtype == e.numpy().dtype and f.shape == e.numpy().shape
            np.testing.assert_allclose(f, e.numpy(), rtol=rtol * share, atol=rtol * share * 1e-2)


X = [-800.0, -90.0, -3.5, -1.0, -0.75, -1e-9, -0.0, 0.0, 1e-300, 1e-9, 0.3, 0.5, 1.0, 2.5, 20.0, 90.0, 800.0]


@pytest.mark.parametrize(
    "name", sorted(o.name for o in nc.operations() if o.elementwise and o.surface and o.op in OPERATIONS and o.arity[0] == 1)
)
def test_functions_of_one_number(name: str) -> None:
    # A sine of many turns is reduced differently from library to library; near its zero that shows.
    wide = [x for x in X if abs(x) < 4] if name in ("sin", "cos", "tan") else X
    same(f"({name} x)", {"x": wide}, 2e-14)


@pytest.mark.parametrize(
    "name", sorted(o.name for o in nc.operations() if o.elementwise and o.surface and o.op in OPERATIONS and o.arity[0] == 2)
)
def test_functions_of_two_numbers(name: str) -> None:
    pairs = [(x, y) for x in (-7.5, -2.0, -0.0, 0.0, 0.3, 1.0, 8.0) for y in (-3.0, -0.5, 0.0, 0.75, 2.0, 3.0)]
    same(f"({name} x y)", {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}, 2e-14)


def test_what_is_there_is_in_the_table_and_the_rest_is_refused() -> None:
    known = {o.op for o in nc.operations()}
    assert known >= OPERATIONS
    for o in nc.operations():
        if o.elementwise and o.surface and not o.composite and o.arity == (1, 1) and o.op not in OPERATIONS:
            with pytest.raises(OnnxError, match=f"no operation for `{o.name}`"):
                nc.compile_scheme(f"({o.name} x)").to_onnx()


def test_vectors_and_matrices() -> None:
    a = [[[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.0, -1.0, 5.0]], [[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [2.0, 1.0, 0.0]]]
    u, v = [[1.0, -2.0, 0.5], [3e15, 4e15, 0.0]], [[0.2, 0.4, 2.0], [1.0, 1.0, -1.0]]
    sizes = {"a": (3, 3), "u": 3, "v": 3}
    inputs = {"a": a, "u": u, "v": v}
    for text, used in [
        ("(dot u v)", "uv"), ("(cross u v)", "uv"), ("(outer v v)", "v"), ("(norm u)", "u"), ("(inv a)", "a"), ("(det a)", "a"),
        ("(solve a v)", "av"), ("(matvec a v)", "av"), ("(matmul a (transpose a))", "a"), ("(trace a)", "a"), ("(vsum (* 2 v))", "v"),
        ("[(ref v 1) 3 (dot v v)]", "v"), ("(* (ref v 0) (matmul a a))", "av"),
    ]:  # fmt: skip
        same(text, {k: inputs[k] for k in used}, 1e-13, {k: sizes[k] for k in used})


def test_singular_matrices() -> None:
    # Nothing at all, no first pivot and the last one 0, a last pivot of 0, and a regular one.
    a = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 2.0], [1.0, 0.0]]]
    for text in ("(det a)", "(inv a)", "(solve a (ref a 0))"):
        same(text, {"a": a}, 1e-15, {"a": (2, 2)})


def test_matrices_that_hold_nan_and_zeros_with_a_sign() -> None:
    nan, inf = math.nan, math.inf
    matrices = [
        [[1, 2], [0, nan]], [[1, nan], [0, 2]], [[nan, 0], [0, 0]], [[0, 0], [nan, 0]], [[0, 0], [0, nan]], [[1, 2], [nan, 3]],
        [[0, nan], [0, 1]], [[nan, nan], [nan, nan]], [[inf, 1], [1, 1]], [[0, 0], [0, inf]], [[-1, 0], [0, 0]], [[0, 0], [1, 0]],
        [[0, -2], [0, 0]], [[-1, 2], [0.5, -1]], [[2, 0], [0, -3]],
    ]  # fmt: skip
    a = np.array(matrices, float)
    for text in ("(det a)", "(inv a)", "(solve a (ref a 0))"):
        module = nc.compile_scheme(text, inputs={"a": (2, 2)})
        for dtype in (torch.float64, torch.float32):
            given = torch.tensor(a, dtype=dtype)
            (found,), want = run(module.to_onnx(dtype=dtype), {"a": given.numpy()}), module(given).numpy()
            np.testing.assert_allclose(found, want, rtol=1e-6)
            if text == "(det a)":
                np.testing.assert_array_equal(np.signbit(found[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))
    # Larger ones, with a row that is done before NaN is met.
    b = np.stack([np.eye(4) + np.arange(16.0).reshape(4, 4) / 7] * 17)
    b.reshape(17, 16)[np.arange(16), np.arange(16)] = nan
    for text in ("(det a)", "(inv a)", "(solve a (ref a 0))"):
        same(text, {"a": b.tolist()}, 1e-12, {"a": (4, 4)})


def test_branches_take_no_harm_from_the_other_side() -> None:
    same("(if (> x 0) (log x) (if (> x -1) (sqrt (+ 1 x)) (/ 1 x)))", {"x": [-3.0, -0.5, 0.0, 2.0]})
    same("(let ((v [10 20 30])) (if (< i 3) (ref v i) -1))", {"i": [0.0, 2.0, 7.0, 1.0]})
    same("(if (< x 5) (loop ((i 0) (s x)) (if (>= i s) s (recur (+ i 1) (+ s 0.5)))) x)", {"x": [1.0, 1e9, 4.0]})


def test_loops_of_each_lane() -> None:
    newton = "(loop ((x a) (n 0)) (if (or (> n 40) (< (abs (- (* x x) a)) 1e-12)) [x n] (recur (/ (+ x (/ a x)) 2) (+ n 1))))"
    module = nc.compile_scheme(newton)
    a = torch.tensor([1.0, 2.0, 100.0, 1e-3], dtype=torch.float64)
    (found,) = run(module.to_onnx(), {"a": a.numpy()})
    np.testing.assert_allclose(found, module(a=a).numpy(), rtol=1e-15)
    np.testing.assert_allclose(found[:, 0], np.sqrt(a.numpy()), rtol=1e-9)
    assert len(set(found[:, 1])) > 2
    nested = "(loop ((i 0) (s 0)) (if (>= i n) s (recur (+ i 1) (+ s (loop ((j 0) (p 1)) (if (>= j i) p (recur (+ j 1) (* p x))))))))"
    slope = nc.compile_scheme("(loop ((i 0) (a x)) (if (>= i y) a (recur (+ i 1) (* a (sin a)))))").grad("x")
    x, y = torch.tensor([0.4, 1.2, 2.0]), torch.tensor([0.0, 3.0, 2.0])
    np.testing.assert_allclose(run(slope.to_onnx(dtype=torch.float32), {"x": x.numpy(), "y": y.numpy()})[0], slope(x, y).numpy(), rtol=1e-5)
    same(nested, {"n": [0.0, 1.0, 5.0, 3.0], "x": [0.5, 2.0, 1.5, -1.0]})


def test_parameters_derivatives_files_and_single_values(tmp_path: pathlib.Path) -> None:
    module = nc.compile_scheme("(param k 2.5) (* k (sin (* k x)))")
    same_gradient = module.grad("x")
    x = np.array([0.1, 0.7])
    np.testing.assert_allclose(run(same_gradient.to_onnx(), {"x": x})[0], 6.25 * np.cos(2.5 * x), rtol=1e-15)
    module.to_onnx(tmp_path / "model.onnx", batch=False)
    (one,) = run(onnx.load(tmp_path / "model.onnx"), {"x": np.array(0.4)})
    np.testing.assert_allclose(one, 2.5 * np.sin(1.0), rtol=1e-15)
    both = nc.compile_scheme("(* x y)").grad("x", "y").to_onnx()
    assert [o.name for o in both.graph.output] == ["result_0", "result_1"]


def test_failures_are_failures() -> None:
    module = nc.compile_scheme("(ref v i)", inputs={"v": 3, "i": None})
    model = module.to_onnx()
    v = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run(model, {"v": v, "i": np.array([2.0, 0.0])})[0], [2.0, 3.0])
    for bad in (3.0, -1.0, 0.5):
        with pytest.raises(Exception, match="(?i)ind|bound"):
            run(model, {"v": v, "i": np.array([0.0, bad])})


def test_what_onnx_cannot_express_says_so() -> None:
    recursion = nc.compile_scheme("(define (f n) (if (< n 1) 1 (* n (f (- n 1))))) (+ 1 (* 2 (f x)))")
    mistakes = [
        (OnnxError, "calls itself, and ONNX has no recursion", recursion.to_onnx),
        (OnnxError, "no operation for `lgamma`", nc.compile_scheme("(lgamma x)").to_onnx),
        (TypeError, "float32 or float64", lambda: recursion.to_onnx(dtype=torch.float16)),
        (ValueError, "batch=False", nc.compile_scheme("(+ 1 2)").to_onnx),
    ]
    for kind, words, act in mistakes:
        with pytest.raises(kind, match=words):
            act()
    loop = nc.compile_scheme("(loop ((i 0) (a v)) (if (>= i y) (dot a a) (recur (+ i 1) (* a (sin a)))))", inputs={"v": 4, "y": None}).grad(
        "v"
    )
    with pytest.raises(OnnxError, match="derivative of a loop"):
        loop.to_onnx()


class Hybrid(torch.nn.Module):
    """A network and physics behind it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Linear(2, 1)
        self.physics = nc.compile_scheme(text)

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.physics(x=y[:, 0], y=self.net(y)[:, 0])


Y = torch.tensor([[1.0, -2.0], [0.5, 0.3], [-1.5, 2.0]])


def test_models_that_hold_programs_by_the_exporter_of_torch() -> None:
    model = Hybrid("(param k 2.0) (if (> x 0) (* k (log x) y) (sin y))")
    exported = torch.onnx.export(model, (Y,), dynamo=True, verbose=False).model_proto
    (found,) = run(exported, {exported.graph.input[0].name: Y.numpy()})
    np.testing.assert_allclose(found, model(Y).detach().numpy(), rtol=1e-5)
    with pytest.raises(Exception, match="export the module by itself, `to_onnx`"):
        torch.onnx.export(Hybrid("(loop ((i 0) (a x)) (if (>= i y) a (recur (+ i 1) (sin a))))"), (Y,), dynamo=True, verbose=False)


def test_a_program_is_one_node_of_an_fx_trace() -> None:
    model = Hybrid("(loop ((i 0) (a x)) (if (>= i 3) (* a y) (recur (+ i 1) (sin a))))")
    traced = torch.fx.symbolic_trace(model)
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == ["net", "physics"]
    assert torch.equal(traced(Y), model(Y))
    with pytest.raises(TypeError, match="trace a module that holds it"):
        torch.fx.symbolic_trace(model.physics)


@pytest.mark.parametrize(
    "text", ["(max v 0)", "(max 0 v)", "(max v w)", "(min v w)", "(clamp v -1 1)", "(if (> (ref v 0) 0) (max v w) (min v 0.5))"]
)
def test_derivatives_of_choices_between_vectors(text: str) -> None:
    v, w = np.array([[-1.0, 0.0], [1.0, 2.0], [0.5, -3.0]]), np.array([[-1.0, 1.0], [0.0, 2.0], [4.0, -4.0]])
    module = nc.compile_scheme(text, inputs={"v": 2, "w": 2} if "w" in text else {"v": 2})
    for made in (module.jacobian("v"), nc.compile_scheme(f"(total {text})", inputs={i.name: 2 for i in module.inputs}).grad("v")):
        given = {k: a for k, a in (("v", v), ("w", w)) if any(i.name == k for i in module.inputs)}
        (found,) = run(made.to_onnx(), given)
        expected = made({k: torch.from_numpy(a) for k, a in given.items()}).numpy()
        np.testing.assert_array_equal(found, expected)


def test_the_derivative_of_the_larger_number() -> None:
    slope = nc.compile_scheme("(total (max v 0))", inputs={"v": 2}).grad("v")
    (found,) = run(slope.to_onnx(), {"v": np.array([[-1.0, 0.0], [1.0, 2.0]])})
    assert found.tolist() == [[0.0, 0.5], [1.0, 1.0]]
    of_matrix = nc.compile_scheme("(max m 1)", inputs={"m": (2, 2)}).jacobian("m")
    m = np.array([[[0.0, 1.0], [2.0, 3.0]]])
    (found,) = run(of_matrix.to_onnx(), {"m": m})
    np.testing.assert_array_equal(found, of_matrix(torch.from_numpy(m)).numpy())


def test_names_of_inputs_are_their_own() -> None:
    model = nc.compile_scheme("(* batch (+ result result_0 constant_1))").to_onnx()
    names = [i.name for i in model.graph.input]
    found = run(model, {n: np.array([float(k + 2)]) for k, n in enumerate(names)})
    values = {n: float(k + 2) for k, n in enumerate(names)}
    assert found[0].tolist() == [values["batch"] * (values["result"] + values["result_0"] + values["constant_1"])]


def test_ends_of_log1p() -> None:
    same("(log1p x)", {"x": [-np.inf, -2.0, -1.0, np.inf, np.nan]})
