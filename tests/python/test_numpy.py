"""Programs on NumPy arrays, without PyTorch."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import subprocess
import sys
import threading

import neural_compiler as nc
import numpy as np
import pytest

P = nc.compile("(* x (sin (* x y)))")
X, Y = np.linspace(0.1, 2, 24), np.linspace(-1, 1, 24)


def test_values_and_types() -> None:
    assert np.allclose(P(X, Y), X * np.sin(X * Y), rtol=4e-16)
    assert P(X.astype(np.float32), 0.5).dtype == np.float32 and P(X.astype(np.float32), Y).dtype == np.float64
    assert P(2, 3).dtype == np.float64 and P(np.arange(3), np.arange(3)).dtype == np.float64
    assert P(X, 0.5).shape == (24,) and P(0.5, 0.5).shape == ()
    assert P(x=X[:, None], y=Y[:3]).shape == (24, 3)


def test_inputs_stand_where_the_caller_lists_them() -> None:
    for text in ("(- a b)", "(input a) (- a b)", "(input b) (- a b)", "(input b) (input a) (- a b)"):
        assert [i.name for i in nc.compile(text, inputs=["a", "b"]).inputs] == ["a", "b"], text
        assert nc.compile(text, inputs=["b", "a"])(1.0, 3.0) == 2.0, text
    assert nc.compile("(input v :size 2) (* x (vsum v))", inputs=["v", "x"])([1.0, 2.0], 3.0) == 9.0
    assert nc.compile("(input v) (vsum v)", inputs={"v": 3}).inputs[0].shape == (3,)
    with pytest.raises(nc.CompileError, match="declares `v` as a vector"):
        nc.compile("(input v :size 2) (* x (vsum v))", inputs={"v": 3, "x": ()})


def test_strides_and_awkward_memory() -> None:
    grid = np.arange(48.0).reshape(2, 24) / 48
    for view in (grid[::-1, ::2], grid.T, grid[:, 3:4], np.broadcast_to(grid[0], (5, 24)), grid[:0]):
        assert np.array_equal(P(view, view), P(view.copy(), view.copy()))
    swapped = X.astype(">f8")
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64)
    assert np.array_equal(P(swapped, Y), P(X, Y)) and np.array_equal(P(unaligned, Y), P(X, Y))


def test_out_is_filled_in_place() -> None:
    out = np.empty(24)
    assert P(X, Y, out=out) is out and np.array_equal(out, P(X, Y))
    both = X.copy()
    assert P(both, Y, out=both) is both and np.array_equal(both, out)
    room = np.concatenate([X, np.zeros(1)])
    for source, target in ((room[:24], room[1:]), (room[1:], room[:24]), (room[:24][::-1], room[:24])):
        room[:24], room[24] = X, 0.5
        expected = P(source.copy(), Y)
        assert np.array_equal(P(source, Y, out=target), expected)
    for wrong, error in ((np.empty(23), ValueError), (np.empty(24, np.float32), TypeError), (np.empty(48)[::2], ValueError)):
        with pytest.raises(error, match="`out`"):
            P(X, Y, out=wrong)
    fixed = np.empty(24)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="cannot be written"):
        P(X, Y, out=fixed)


def test_derivatives() -> None:
    value, (gx, gy) = P.value_and_grad(X, Y)
    assert np.array_equal(value, P(X, Y))
    assert np.allclose(gx, np.sin(X * Y) + X * Y * np.cos(X * Y)) and np.allclose(gy, X * X * np.cos(X * Y))
    # One input: forward mode; several: reverse mode. Each rounds in its own order.
    assert np.allclose(P.grad("x")(X, Y), gx, rtol=1e-14) and len(P.value_and_grad(X, Y, wrt=["y"])[1]) == 1
    assert np.allclose(P.jvp({"x": X, "y": Y}, {"x": 2.0})[1], 2 * gx)
    (_, hxy), (hyx, hyy) = P.hessian(X, Y)
    assert np.allclose(hxy, hyx) and np.allclose(hyy, -(X**3) * np.sin(X * Y))
    assert nc.compile("(matmul a a)", {"a": (2, 2)}).jacobian("a")(np.eye(2)).shape == (2, 2, 2, 2)
    assert nc.compile("(sin x)").grad("x").grad("x").grad("x")(0.3) == pytest.approx(-np.cos(0.3))


def test_parameters_have_values() -> None:
    p = nc.compile("(param k 2.0) (* k c x)", params={"c": 3.0})
    assert p(5.0) == 30 and p(5.0, k=1.0) == 15 and p.value_and_grad(5.0)[1] == (6.0,)
    assert nc.compile("(dot w x)", params={"w": [1.0, 2.0]})(x=[3.0, 4.0]) == 11


def test_check_and_domain() -> None:
    p = nc.compile("(log x)")
    with pytest.raises(nc.EvaluationError, match="lane 2") as caught:
        p([1.0, 2.0, -1.0], check=True)
    assert caught.value.lane == 2
    assert p.explain_domain({"x": (1, 2)}) == () and p.explain_domain({"x": (-1, 2)})
    with pytest.raises(ValueError, match="range of `x` is empty"):
        p.explain_domain({"x": (2, 1)})


def test_a_run_without_result_raises() -> None:
    with pytest.raises(nc.EvaluationError, match="index") as caught:
        nc.compile("(ref v i)", {"v": 3, "i": None})([1.0, 2.0, 3.0], [0.0, 7.0])
    assert (caught.value.code, caught.value.lane) == ("index-out-of-range", 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: P(1.0), TypeError, "`y` is missing"),
        (lambda: P(1, 2, 3), TypeError, "by position"),
        (lambda: P(x=1, yy=2), TypeError, "did you mean `y`"),
        (lambda: P(1.0, x=1, y=2), TypeError, "given twice"),
        (lambda: P(np.ones(3), np.ones(4)), ValueError, r"`x` \[3\], `y` \[4\]"),
        (lambda: P(np.ones(3, np.float16), 1), TypeError, "`x` is float32 or float64"),
        (lambda: P(1j, 1), TypeError, "`x` is float32 or float64"),
        (lambda: P("a", 1), TypeError, "`x` is float32 or float64"),
        (lambda: nc.compile("(norm v)", {"v": 3})(np.ones(2)), ValueError, r"`v` is a vector\(3\)"),
        (lambda: nc.compile("x", inputs="x"), TypeError, "not the text"),
        (lambda: nc.compile("x", {"x": (1, 2, 3)}), ValueError, "`x` cannot have the shape"),
        (lambda: nc.compile("x", {"x": (0,)}), ValueError, "`x` cannot have the shape"),
        (lambda: nc.compile("x", {"x": "3"}), TypeError, "shape of `x`"),
        (lambda: nc.compile("(+ x y)", ["x"]), nc.CompileError, "y"),
        (lambda: P.grad("z"), ValueError, "no input `z`"),
        (lambda: nc.compile("[x x]").grad("x")(1.0), nc.CompileError, "scalar"),
        (lambda: nc.set_num_threads(0), ValueError, "threads"),
    ],
)
def test_mistakes_are_named(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]


def test_pickles() -> None:
    for p in (P, P.grad("x"), nc.compile("(dot w x)", params={"w": [1.0, 2.0]})):
        other = pickle.loads(pickle.dumps(p))
        values = [np.ones(i.shape or ()) for i in p.inputs if i.name not in p.params]
        assert np.array_equal(other(*values), p(*values)) and repr(other) == repr(p)


def test_threads_do_not_change_a_bit_and_run_side_by_side() -> None:
    before, x = nc.get_num_threads(), np.random.default_rng(1).random(100_000)
    found = []
    try:
        for n in (1, 3):
            nc.set_num_threads(n)
            found.append(P(x, x))
    finally:
        nc.set_num_threads(before)
    assert np.array_equal(*found)
    results: dict[int, np.ndarray] = {}
    workers = [threading.Thread(target=lambda k=k: results.__setitem__(k, P(x, x * k))) for k in range(4)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert all(np.array_equal(results[k], P(x, x * k)) for k in range(4))


def test_the_interpreter_s_lock_is_free_during_a_long_run() -> None:
    slow = nc.compile("(loop ((i 0) (a x)) (if (>= i 300000) a (recur (+ i 1) (+ a 1e-9))))")
    seen, calls = threading.Event(), 0

    def work() -> None:
        nonlocal calls
        while calls < 1000 and not seen.is_set():
            slow(0.5)
            calls += 1

    # Threads take turns only where one gives the lock away, so that this one goes on before the thousand calls end only if a call does.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        worker = threading.Thread(target=work)
        worker.start()
        seen.set()
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert calls < 1000


def test_torch_is_not_needed() -> None:
    code = "import sys; sys.modules['torch'] = None; import neural_compiler as nc; "
    code += "print(float(nc.compile('(* x 2)')(3.0)), 'compile_scheme' in dir(nc))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # A name that cannot be had is not offered.
    assert done.stdout.split() == ["6.0", "False"]


def test_the_package_has_a_version() -> None:
    assert nc.__version__.count(".") == 2


def test_shapes_the_caller_gives_are_known_to_inference() -> None:
    p = nc.compile("(dot (ref a 1) v)", inputs={"a": (3, 3), "v": 3})
    a, v = np.arange(9.0).reshape(3, 3), np.array([1.0, -2.0, 0.5])
    assert p(a=a, v=v) == a[1] @ v
    assert nc.compile("(dot (ref a 1) v)", inputs={"a": (3, 3), "v": 3}).inputs[0].shape == (3, 3)
    with pytest.raises(nc.CompileError, match="unknown-name|unbound|no name"):
        nc.compile("(dot (ref a 1) v)", inputs={"a": (3, 3)})
    with pytest.raises(nc.CompileError, match="the text declares `a` as a vector"):
        nc.compile("(input a :size 3) (input b :size [2 2]) (dot (ref b 1) (slice a 0 2))", inputs={"a": (3, 3), "b": (2, 2)})


def test_value_and_grad_into_buffers() -> None:
    p = nc.compile("(* k x (sin y))", params={"k": 2.0})
    x, y = np.linspace(0, 1, 5), np.linspace(1, 2, 5)
    expected = p.value_and_grad(x=x, y=y)
    buffers = (np.empty(5), (np.empty(5), np.empty(5)))
    value, grads = p.value_and_grad(x=x, y=y, out=buffers)
    assert value is buffers[0] and grads[0] is buffers[1][0] and grads[1] is buffers[1][1]
    for found, wanted in zip((value, *grads), (expected[0], *expected[1])):
        np.testing.assert_array_equal(found, wanted)
    only = p.value_and_grad(x=x, y=y, wrt=["y"], out=(np.empty(5), (x,)))
    np.testing.assert_array_equal(only[1][0], expected[1][1])
    shared = np.empty(5)
    with pytest.raises(ValueError, match="share memory"):
        p.value_and_grad(x=x, y=y, wrt=["y"], out=(shared, (shared,)))
    with pytest.raises(ValueError, match="3 results, 2 buffers"):
        p.value_and_grad(x=x, y=y, out=(np.empty(5), (np.empty(5),)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quick_calls_mean_what_slow_ones_mean(dtype: type) -> None:
    p = nc.compile("(+ (* k x) (/ y z))", inputs=["x", "y", "z"], params={"k": 0.1})
    rng = np.random.default_rng(0)
    big = rng.normal(size=(4, 6)).astype(dtype)
    arguments = [
        {"x": big, "y": big[:, ::2][:, :1], "z": 3.0}, {"x": big[::-1], "y": 2, "z": big.T.copy().T},
        {"x": big[0], "y": big[1], "z": big[:, :1], "k": 3.0},
        {"x": dtype(1.5), "y": np.asarray(2.0, dtype), "z": 7}, {"x": big[:0], "y": 1.0, "z": 1.0}, {"x": True, "y": big, "z": 10**15},
        {"x": big, "y": big.astype(np.float64), "z": 1}, {"x": big.astype(">f8"), "y": 1, "z": 2}, {"x": [1.0, 2.0], "y": 1, "z": 2},
        {"x": np.frombuffer(b"\0" + big[0].tobytes(), np.uint8)[1:].view(dtype), "y": 1, "z": 2},
        {"x": big, "y": 1, "z": 2, "k": np.float64(0.3)},
    ]  # fmt: skip
    for given in arguments:
        slow = p._run((), p._bound((), given), None)[0]
        for found in (p(**given), p({**given}), p(given["x"], given["y"], given["z"], **({"k": given["k"]} if "k" in given else {}))):
            assert found.dtype == slow.dtype and found.shape == slow.shape
            np.testing.assert_array_equal(found, slow)
    with pytest.raises(TypeError, match="`z` is missing"):
        p(x=1.0, y=2.0)
    with pytest.raises(TypeError, match="no input `zz`"):
        p(x=1.0, y=2.0, z=1.0, zz=2.0)
    with pytest.raises(ValueError, match="do not fit together"):
        p(x=big[0], y=big[0, :5], z=1.0)


def test_help_and_signatures_tell_the_inputs() -> None:
    program = nc.compile("(param k 0.5 :min 0) (* k (dot v v) x)", inputs={"v": 3, "x": ()})
    assert str(inspect.signature(program)) == "(v: 'vector(3)', x: 'scalar', *, k: 'scalar' = 0.5, out=None, check=False)"
    told = pydoc.render_doc(program, renderer=pydoc.plaintext)
    for line in ("v: an input, vector(3)", "k: a parameter, scalar, 0.5 unless given, at least 0", "(* k (dot v v) x)", "help(Program)"):
        assert line in told
    # The class keeps its own text, and says how one is made.
    assert "value_and_grad" in pydoc.render_doc(nc.Program, renderer=pydoc.plaintext) and "core" in inspect.signature(nc.Program).parameters
    assert nc.Program.__doc__.startswith("A compiled program, or a derivative of one.")


@pytest.mark.parametrize("backend", ["numpy", "native", "torch"])
def test_a_place_outside_of_a_grid_is_told_as_one(backend: str) -> None:
    source = "(interpolate u 0 4 x)"
    program = nc.compile(source) if backend == "numpy" else nc.compile_scheme(source, backend=backend)
    values = [1.0, 3.0, 4.0]
    assert float(program(u=values, x=3.0)) == 3.5 and float(program(u=values, x=4.0)) == 4.0
    for x, why in [(4.5, "behind its last point"), (9.0, "behind its last point"), (-0.5, "before its first point"), (np.nan, "no number")]:
        with pytest.raises(nc.EvaluationError, match=why) as found:
            program(u=values, x=np.array([1.0, 2.0, x]) if backend == "numpy" else [1.0, 2.0, x])
        assert (found.value.code, found.value.lane) == ("outside-grid", 2) and "index" not in str(found.value)
        assert (found.value.diagnostic.start, found.value.diagnostic.end) == (0, len(source))
    by_values = nc.compile(source).grad("u")
    with pytest.raises(nc.EvaluationError, match="outside of the grid") as found:
        by_values(u=values, x=5.0)
    assert found.value.code == "outside-grid"
    with pytest.raises(nc.EvaluationError, match="the ends of the grid are equal"):
        nc.compile("(interpolate u a 1 x)")(u=values, a=1.0, x=1.0)
    with pytest.raises(nc.CompileError, match="the place 1.5 is outside of the grid from 0 to 1"):
        nc.compile("(interpolate [1 2 3] 0 1 1.5)")
    told = nc.compile(source, inputs={"u": 3, "x": ()}).explain_domain({"u": (0, 1), "x": (0, 5)})
    assert [d.message for d in told] == ["`interpolate` may leave its domain, a != b, x from a to b"]


def test_inputs_may_have_the_names_of_options() -> None:
    p = nc.compile("(/ check (* out wrt))")
    assert str(inspect.signature(p)) == "(check: 'scalar', out: 'scalar', wrt: 'scalar')"
    for found in (p(check=6, out=2, wrt=4.0), p(6.0, out=2, wrt=4.0), p(6.0, 2.0, 4.0), p({"check": 6, "out": 2, "wrt": 4.0})):
        assert float(found) == 0.75
    # 0 and False are values.
    assert float(p(check=False, out=2.0, wrt=1.0)) == 0.0 and float(p(check=0, out=2.0, wrt=1.0)) == 0.0
    for value, slopes in (p.value_and_grad(check=6, out=2, wrt=4.0), p.value_and_grad(6.0, 2.0, wrt=4)):
        assert float(value) == 0.75 and [float(s) for s in slopes] == [0.125, -0.375, -0.1875]
    assert float(p.hessian(check=6, out=2, wrt=4.0)[0][1]) == -0.0625
    assert float(p.grad("check")(check=6, out=2, wrt=4.0)) == 0.125
    # In one dict, the options are options.
    told, room = {"check": [1.0, 2.0], "out": 0.0, "wrt": 1.0}, np.zeros(2)
    assert p({**told, "out": 2.0}, out=room) is room and room.tolist() == [0.5, 1.0]
    assert p.value_and_grad({**told, "out": 2.0}, wrt=["check"])[1][0].tolist() == [0.5, 0.5]
    with pytest.raises(nc.EvaluationError, match="domain"):
        p(told, check=True)
    with pytest.raises(TypeError, match="`check` was given twice|given by position"):
        p(1.0, 2.0, 3.0, check=1.0)
    only = nc.compile("(* check x)")
    assert only(check=[2.0, 3.0], x=2.0, out=room) is room and room.tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1, 2, 3], [1, 2]], "`v` is a list that is no array of numbers: pad its rows to one length"),
        (np.array([[1, 2, 3], [1, 2]], dtype=object), "of rows: give them one length"),
        (np.ones(3) * 1j, "`v` is float32 or float64 .* give the real and the imaginary part as two inputs"),
        (np.ma.masked_array(np.ones(3), [0, 1, 0]), "`v` is a masked array"),
    ],
    ids=["ragged", "rows", "complex", "masked"],
)
def test_what_is_no_array_of_numbers_is_named(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        nc.compile("(dot v v)", inputs={"v": 3})(v=value)


def test_tensors_that_are_no_arrays_are_named() -> None:
    torch = pytest.importorskip("torch")
    program = nc.compile("(dot v v)", inputs={"v": 3})
    with pytest.raises(TypeError, match=r"`v` is a Tensor NumPy makes no array of: give `v.to_dense\(\)`"):
        program(v=torch.ones(2, 3).to_sparse())
    with pytest.raises(TypeError, match="`v` is a nested tensor: pad it"):
        program(v=torch.nested.nested_tensor([torch.ones(3), torch.ones(3)]))


def test_modules_of_the_package_are_there_when_asked_for():
    code = "import sys, neural_compiler as nc; assert 'neural_compiler.spread' not in sys.modules; nc.spread.fit_many; "
    code += "assert 'spread' in dir(nc) and 'grow' in dir(nc) and 'torch' not in sys.modules; nc.grow.Growing"
    subprocess.run([sys.executable, "-c", code], check=True)
