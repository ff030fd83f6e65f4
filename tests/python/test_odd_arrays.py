"""Arrays that are not what they seem: read by what they mean, copied, or refused; never read as they lie in memory."""

from __future__ import annotations

from collections.abc import Callable

import neural_compiler as nc
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

P = nc.compile("(* x (sin (* x y)))")
X, Y = np.linspace(0.1, 2, 24), np.linspace(-1, 1, 24)
VECTOR = nc.compile("(vsum (* v (sin v)))", inputs=["v"])


def misaligned(x: np.ndarray) -> np.ndarray:
    """The same numbers, one byte beside where they should be."""
    room = np.empty(x.nbytes + 1, np.uint8)
    found = room[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


class Subclass(np.ndarray):
    pass


ODD: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "misaligned": misaligned,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "reversed": lambda x: x[::-1].copy()[::-1],
    "every second": lambda x: np.repeat(x, 2)[::2],
    "every second misaligned": lambda x: misaligned(np.repeat(x, 2))[::2],
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype),
    "subclass": lambda x: x.view(Subclass),
    "record field": lambda x: np.rec.fromarrays([np.zeros(len(x), np.int8), x], names="a,b")["b"],
    "column": lambda x: np.asfortranarray(np.stack([x, x, x], 1))[:, 1],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("what", ODD)
def test_odd_inputs_mean_what_they_mean(what: str, dtype: type) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)
    odd = ODD[what](x)
    assert np.array_equal(odd, x)
    for result in (P(odd, y), P(x=odd, y=y), P(odd, y, out=np.empty_like(x))):
        assert result.dtype == dtype and np.array_equal(result, P(x, y))
    assert np.array_equal(P(y, odd), P(y, x))
    assert VECTOR(v=odd) == VECTOR(v=x)
    value, grads = P.value_and_grad(odd, y)
    assert np.array_equal(value, P(x, y)) and all(np.array_equal(a, b) for a, b in zip(grads, P.value_and_grad(x, y)[1]))


def test_odd_parameters_mean_what_they_mean() -> None:
    for what, make in ODD.items():
        program = nc.compile("(+ (vsum (* w w)) x)", inputs={"w": 24, "x": ()}, params={"w": make(X)})
        program.params["w"] = make(X)
        assert np.array_equal(program(x=Y), nc.compile("(+ (vsum (* w w)) x)", inputs={"w": 24, "x": ()})(w=X, x=Y)), what


def test_strides_of_zero_and_below() -> None:
    assert np.array_equal(P(np.broadcast_to(0.5, 24), Y), P(np.full(24, 0.5), Y))
    overlapping = as_strided(X, (20, 5), (8, 8))
    assert np.array_equal(VECTOR(v=overlapping), VECTOR(v=overlapping.copy()))
    assert np.array_equal(VECTOR(v=overlapping[::-1, ::-1]), VECTOR(v=overlapping[::-1, ::-1].copy()))


def test_nothing_at_all() -> None:
    assert P(X[:0], Y[:0]).shape == (0,) and P(np.empty((0, 3)), 1.0).shape == (0, 3)
    assert P(np.array(0.5), np.array(2.0)).shape == ()
    with pytest.raises(ValueError, match="vector"):
        VECTOR(v=np.empty(0))


def test_masks_are_not_lost() -> None:
    masked = np.ma.masked_array(X, X > 1)
    for call in (
        lambda: P(masked, Y),
        lambda: P(x=masked, y=Y),
        lambda: P(X, Y, out=np.ma.masked_array(np.empty(24))),
        lambda: nc.compile("(* k x)", params={"k": masked}),
    ):
        with pytest.raises(TypeError, match="mask|out"):
            call()


def test_buffers_for_results_are_checked() -> None:
    fixed = np.empty(24)
    fixed.flags.writeable = False
    overlapping = as_strided(np.empty(24), (24,), (0,))
    wrong = [
        misaligned(np.empty(24)),
        fixed,
        overlapping,
        np.empty(24)[::-1],
        np.empty(24, ">f8"),
        np.empty((24, 1)),
        np.empty(0),
        [0.0] * 24,
        None,
    ]
    for buffer in wrong[:-1]:
        with pytest.raises((ValueError, TypeError), match="`out`|writ|read-only"):
            P(X, Y, out=buffer)
    assert np.array_equal(P(X, Y, out=None), P(X, Y))


def test_buffers_do_not_share_memory() -> None:
    room = np.empty(48)
    with pytest.raises(ValueError, match="share memory"):
        P.value_and_grad(X, Y, out=(room[:24], (room[24:], room[23:47])))
    with pytest.raises(ValueError, match="share memory"):
        P.value_and_grad(X, Y, out=(room[:24], (room[24:], room[24:])))
    value, (gx, _) = P.value_and_grad(X, Y)
    found = P.value_and_grad(X, Y, out=(room[:24], (room[24:], np.empty(24))))
    assert np.array_equal(found[0], value) and np.array_equal(found[1][0], gx)


def test_whole_numbers_no_float64_holds_are_refused() -> None:
    shift = nc.compile("(- x 9007199254740992)")
    odd = 2**53 + 1
    arrays = [np.array([1, odd]), np.array([1, odd], np.uint64), np.array([1, 2**64 - 1], np.uint64)]
    for x in (odd, -odd, np.int64(odd), [1, odd], -(2**63) + 1, *arrays):
        with pytest.raises(TypeError, match="`x` holds the whole number .*no float64 holds it"):
            shift(x)
    with pytest.raises(TypeError, match=r"holds the whole number 9007199254740993 at \[1\]"):
        nc.compile("(vsum v)", params={"v": [1, odd]})
    # What float64 holds is taken, however large; floating-point numbers are rounded where they are made.
    assert shift(2**53 + 2) == 2 and shift(-(2**63)) == -(2.0**63) - 2.0**53 and shift(float(odd)) == 0
    assert np.array_equal(shift(np.array([2**53, 2**62, -(2**63)])), [0, 2.0**62 - 2.0**53, -(2.0**63) - 2.0**53])
