"""Linear systems in ONNX, which has none. In: square matrices and right-hand sides; out: solutions and determinants, by elimination with
pivots that each lane chooses for itself."""

from __future__ import annotations

import numpy as np

from .builder import Builder, Value


def eliminated(b: Builder, matrix: Value, n: int) -> tuple[Value, Value]:
    """Of a matrix with n rows and more columns: what is behind the first n columns when these have become the unit matrix, and the
    determinant of those."""
    columns = matrix.shape[1]
    determinant = b.number(1.0)
    rows = np.arange(n)
    for k in range(n):
        column = b.reshape(b.pick(matrix, 1, [k]), (n,))
        # Rows above are done: they are no pivots.
        sizes = b.where(Value(b.constant(rows[None] < k), (n,), True), b.number(-1.0), b.op("Abs", column))
        pivot = Value(b.raw("ArgMax", [sizes.name], axis=1, keepdims=1)[0], (1,))
        here, index = (Value(b.constant(v), (n,)) for v in (np.full((1, n), k, dtype=np.int64), rows[None].astype(np.int64)))
        swapped = b.op("Where", b.op("Equal", index, pivot), here, index, shape=(n,))
        swapped = b.op("Where", b.op("Equal", index, here), pivot, swapped, shape=(n,))
        places = Value(b.raw("Unsqueeze", [swapped.name, b.axes(2)])[0], (n, 1))
        whole = b.raw("Expand", [places.name, b.axes(1, n, columns)])[0]
        # Both with all lanes, as gathering wants them.
        shape = b.raw("Shape", [matrix.name])[0]
        matrix = Value(b.raw("GatherElements", [matrix.name, b.raw("Expand", [whole, shape])[0]], axis=1)[0], (n, columns))
        same = Value(b.op("Equal", pivot, Value(b.axes(k), ())).name, (1,), True)
        value = b.at(matrix, k, k)
        sign = b.where(b.reshape(same, ()), b.number(1.0), b.number(-1.0))
        determinant = b.op("Mul", determinant, b.op("Mul", sign, value))
        row = b.op("Div", b.pick(matrix, 0, [k]), value)
        others = b.pick(matrix, 1, [k])
        others = b.where(Value(b.constant((rows == k)[None, :, None]), (n, 1), True), b.number(0.0), others)
        rest = b.op("Sub", matrix, b.op("Mul", others, row, shape=(n, columns)), shape=(n, columns))
        matrix = b.op("Where", Value(b.constant((rows == k)[None, :, None]), (n, 1), True), row, rest, shape=(n, columns))
    return (b.pick(matrix, 1, list(range(n, columns))) if columns > n else matrix), determinant


def joined(b: Builder, left: Value, right: Value, batch: str) -> Value:
    """Two matrices side by side, for all lanes."""
    whole = [b.raw("Expand", [v.name, b.raw("Concat", [batch, b.axes(*v.shape)], axis=0)[0]])[0] for v in (left, right)]
    return Value(b.raw("Concat", whole, axis=2)[0], (left.shape[0], left.shape[1] + right.shape[1]))
