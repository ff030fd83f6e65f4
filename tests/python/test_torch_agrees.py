"""Where the torch backend once said something else than the native one, or than is true: singular matrices, poles, corners, lengths of 0,
and messages that did not fit."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from neural_compiler import compile_scheme, odeint
from torch.func import jvp, vmap

F64 = torch.float64
BACKENDS = ["native", "torch"]
MATRICES = torch.stack([torch.eye(2, dtype=F64), torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=F64)])
"""The second is singular."""
LINEAR = {
    "inv": ("(total (inv m))", {"m": (2, 2)}, -4.0),
    "solve": ("(vsum (solve m [1 1]))", {"m": (2, 2)}, -4.0),
    "solve of a matrix": ("(total (solve m [[1 0] [0 1]]))", {"m": (2, 2)}, -4.0),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", LINEAR)
def test_a_singular_lane_has_no_derivative_and_leaves_the_others_theirs(name: str, backend: str) -> None:
    source, inputs, expected = LINEAR[name]
    module = compile_scheme(source, inputs=inputs, backend=backend)
    value, tangent = jvp(module, (MATRICES,), (torch.ones_like(MATRICES),))
    assert value[0].item() == 2.0 and tangent[0].item() == expected
    assert value[1].isnan() and tangent[1].isnan()
    each = vmap(lambda m: jvp(module, (m,), (torch.ones_like(m),))[1])(MATRICES)
    assert each[0].item() == expected and each[1].isnan()
    m = MATRICES.clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(m).sum(), m)
    assert torch.equal(slope[0], -torch.ones(2, 2, dtype=F64)) and slope[1].isnan().all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_matrix_on_the_right_is_no_batch_of_vectors(backend: str) -> None:
    # As many elements of the batch as rows.
    module = compile_scheme("(* (solve m b) 1)", inputs={"m": (2, 2), "b": (2, 2)}, backend=backend)
    m = torch.tensor([[[2.0, 1.0], [0.0, 4.0]], [[1.0, 0.0], [3.0, 5.0]]], dtype=F64)
    b = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=F64)
    assert torch.allclose(module(m, b), torch.linalg.inv(m) @ b, rtol=1e-14)
    single = compile_scheme("(* (solve m b) 1)", inputs={"m": (1, 1), "b": 1}, backend=backend)
    assert single(torch.full((1, 1, 1), 2.0), torch.ones(1)).tolist() == [[0.5]]


def _slopes(module: Callable[..., torch.Tensor], *at: torch.Tensor) -> list[torch.Tensor]:
    inputs = [v.clone().requires_grad_() for v in at]
    return list(torch.autograd.grad(module(*inputs).sum(), inputs))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", ["bessel-k0", "bessel-k1"])
def test_bessel_k_falls_from_infinity_at_0(function: str, backend: str) -> None:
    module = compile_scheme(f"({function} x)", backend=backend)
    for dtype in (torch.float32, F64):
        at = torch.tensor([0.0, 1.0], dtype=dtype)
        assert module(at)[0].item() == math.inf
        (slope,) = _slopes(module, at)
        assert slope[0].item() == -math.inf and -3 < slope[1].item() < -0.5
        assert jvp(module, (at,), (torch.ones_like(at),))[1][0].item() == -math.inf


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("function", ["gamma-p", "gamma-q"])
def test_gamma_p_of_shape_1_is_the_exponential(function: str, dtype: torch.dtype) -> None:
    module = compile_scheme(f"({function} a y)", inputs=["a", "y"], backend="torch")
    sign = 1 if function == "gamma-p" else -1
    y = torch.tensor([0.0, 1e-300, 1e-100, 1e-30, 1e-16, 1e-12, 1e-8, 1e-3, 0.7, 1.4, 1.6, 7.0], dtype=dtype, requires_grad=True)
    for a in (torch.tensor(1.0, dtype=dtype), torch.ones_like(y)):
        (first,) = torch.autograd.grad(module(a, y).sum(), y, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), y)
        fall = torch.exp(-y.detach())
        rel = 1e-11 if dtype is F64 else 2e-5
        assert (sign * first.detach()).tolist() == pytest.approx(fall.tolist(), rel=rel)
        assert (sign * second).tolist() == pytest.approx((-fall).tolist(), rel=10 * rel)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gamma_p_begins_as_its_shape_says(backend: str) -> None:
    module = compile_scheme("(gamma-p a y)", inputs=["a", "y"], backend=backend)
    shapes = torch.tensor([0.3, 0.7, 1.0, 2.0, 40.0], dtype=F64)
    assert module(shapes, torch.zeros_like(shapes)).tolist() == [0.0] * 5
    by_shape, by_place = _slopes(module, shapes, torch.zeros_like(shapes))
    assert by_place.tolist() == pytest.approx([math.inf, math.inf, 1.0, 0.0, 0.0], rel=1e-14) and by_shape.tolist() == [0.0] * 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_there_is_no_angle_at_the_origin(backend: str) -> None:
    module = compile_scheme("(atan y x)", inputs=["y", "x"], backend=backend)
    y, x = torch.tensor([0.0, -0.0, 0.0, 1.0], dtype=F64), torch.tensor([0.0, 0.0, -0.0, 1.0], dtype=F64)
    assert module(y, x).tolist() == [0.0, 0.0, math.pi, math.pi / 4] and math.copysign(1, module(y, x)[1].item()) == -1
    for slope, last in zip(_slopes(module, y, x), (0.5, -0.5)):
        assert slope[:3].isnan().all() and slope[3].item() == last
    tangent = jvp(module, (y, x), (torch.ones_like(y), torch.zeros_like(x)))[1]
    assert tangent[:3].isnan().all() and tangent[3].item() == 0.5


@pytest.mark.parametrize("source", ["(det m)", "(total (inv m))", "(trace m)", "(vsum v)", "(norm v)"])
def test_a_length_of_0_is_refused_by_torch_too(source: str) -> None:
    shape = (2, 0) if " v)" in source else (2, 0, 0)
    with pytest.raises(ValueError):
        compile_scheme(source, backend="native")(torch.zeros(shape))
    name = source[-3 if "inv" in source else -2].strip(")") or "m"
    with pytest.raises(ValueError, match=f"the input `{name}` has a length of 0"):
        compile_scheme(source, backend="torch")(torch.zeros(shape))
    # A batch of none is none of these.
    empty = torch.zeros(0, 2) if " v)" in source else torch.zeros(0, 2, 2)
    assert compile_scheme(source, backend="torch")(empty).shape == (0,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_no_float_holds_is_too_large(backend: str) -> None:
    for value in (10**400, -(10**400)):
        with pytest.raises(TypeError, match="the input `x` is a whole number that is too large for float64"):
            compile_scheme("(+ x 1)", backend=backend)(value)
    with pytest.raises(TypeError, match="the input `x` is a list .* too large for float64"):
        compile_scheme("(+ x 1)", backend=backend)([1, 10**400])


ONES = torch.ones(2, dtype=F64)


@pytest.mark.parametrize("method", ["dopri5", "rosenbrock", "auto"])
def test_a_right_hand_side_without_a_value_at_the_start_is_named(method: str) -> None:
    with pytest.raises(ValueError, match=r"the derivative of `y` is NaN at the start, t = 0"):
        odeint(lambda t, y: y * math.nan, ONES, [0.0, 1.0], method=method)
    model = compile_scheme("(state x 1.0) (derive x (sqrt (- x 2)))")
    with pytest.raises(ValueError, match=r"the derivative of `x` is NaN at the start, t = 0"):
        odeint(model, None, [0.0, 1.0], method=method)


@pytest.mark.parametrize("method", ["dopri5", "rk4"])
def test_initial_values_of_other_types_are_named(method: str) -> None:
    with pytest.raises(TypeError, match=r"initial values are real .* not torch.complex128: give its real and imaginary part"):
        odeint(lambda t, y: -y, ONES.to(torch.complex128), [0.0, 1.0], method=method)
    with pytest.raises(TypeError, match=r"not torch.int64: convert them, `y0.double\(\)`"):
        odeint(lambda t, y: -y, ONES.long(), [0.0, 1.0], method=method)


@pytest.mark.parametrize("method", ["dopri5", "rosenbrock", "rk4"])
def test_a_state_of_no_numbers_is_refused(method: str) -> None:
    with pytest.raises(ValueError, match="the initial value of `y` has a state axis of length 0"):
        odeint(lambda t, y: -y, torch.zeros(3, 0, dtype=F64), [0.0, 1.0], method=method)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_shapes_that_leave_no_digits_have_no_probability(dtype: torch.dtype) -> None:
    gamma = compile_scheme("(gamma-p a x)", inputs=["a", "x"], backend="torch")
    beta = compile_scheme("(beta-p a a 0.5)", inputs=["a"], backend="torch")
    shapes = torch.tensor([1e18, 1e30, 1e35], dtype=dtype)
    assert gamma(shapes, shapes).isnan().all() and beta(shapes).isnan().all()
    few = torch.tensor([1e3, 1e5], dtype=dtype)
    native = compile_scheme("(gamma-p a x)", inputs=["a", "x"])
    torch.testing.assert_close(gamma(few, few), native(few, few), rtol=1e-3 if dtype is torch.float32 else 1e-9, atol=0.0)
    # Far from the shape it is 0 or 1 all the same.
    assert gamma(shapes, shapes / 2).tolist() == [0.0, 0.0, 0.0] and gamma(shapes, 2 * shapes).tolist() == [1.0, 1.0, 1.0]
