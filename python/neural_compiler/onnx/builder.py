"""Nodes of an ONNX graph. In: names of operations and values; out: values, and lists of nodes for the graph and the bodies of its loops.

Every value has one axis of lanes in front, of the batch's size or 1, so that ONNX's own broadcasting does what the batch asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..fx.graph import Shape


@dataclass(frozen=True)
class Value:
    """A tensor of the model: its name, its axes behind that of lanes, and whether it is a boolean."""

    name: str
    shape: Shape
    truth: bool = False


class Builder:
    """Collects the nodes of a model."""

    def __init__(self, double: bool) -> None:
        self.dtype: Any = np.float64 if double else np.float32
        self.type = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._constants: dict[Any, str] = {}
        self._count = 0

    def fresh(self, hint: str) -> str:
        """A name nothing else has."""
        self._count += 1
        return f"{hint}_{self._count}"

    def raw(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """A node; gives the names of what it computes."""
        names = [self.fresh(op.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names

    def constant(self, array: Any) -> str:
        """A constant of the model, visible in every scope."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = self._constants[key] = self.fresh("constant")
            self.initializers.append(numpy_helper.from_array(array, name))
        return self._constants[key]

    def axes(self, *axes: int) -> str:
        """A list of whole numbers."""
        return self.constant(np.array(axes, dtype=np.int64))

    def number(self, value: float) -> Value:
        """A number, the same for all lanes."""
        with np.errstate(over="ignore"):
            return Value(self.constant(np.full((1,), value, dtype=self.dtype)), ())

    def op(self, op: str, *args: Value, shape: Shape | None = None, truth: bool = False, **attributes: Any) -> Value:
        """An operation on values, scalars aligned with the largest of them."""
        wanted = max((a.shape for a in args), key=len)
        given = [self.aligned(a, wanted).name for a in args]
        return Value(self.raw(op, given, **attributes)[0], wanted if shape is None else shape, truth)

    def aligned(self, value: Value, wanted: Shape) -> Value:
        """A scalar with as many axes as others have."""
        if value.shape or not wanted:
            return value
        name = self.raw("Unsqueeze", [value.name, self.axes(*range(1, 1 + len(wanted)))])[0]
        return Value(name, (1,) * len(wanted), value.truth)

    def float(self, value: Value) -> Value:
        """A boolean as the number it is."""
        return Value(self.raw("Cast", [value.name], to=self.type)[0], value.shape) if value.truth else value

    def bool(self, value: Value) -> Value:
        """A number as a boolean."""
        return value if value.truth else self.op("Not", self.op("Equal", value, self.number(0.0), truth=True), truth=True)

    def reshape(self, value: Value, shape: Shape) -> Value:
        """The same elements with other axes."""
        if value.shape == shape:
            return value
        return Value(self.raw("Reshape", [value.name, self.axes(-1, *shape)])[0], shape, value.truth)

    def flat(self, value: Value) -> Value:
        """The elements as one axis."""
        return self.reshape(value, (int(np.prod(value.shape)),))

    def pick(self, value: Value, axis: int, places: list[int]) -> Value:
        """Some places of an axis, counted from 0 behind that of lanes."""
        name = self.raw("Gather", [value.name, self.axes(*places)], axis=axis + 1)[0]
        return Value(name, value.shape[:axis] + (len(places),) + value.shape[axis + 1 :])

    def at(self, value: Value, *place: int) -> Value:
        """One element."""
        position = 0
        for n, i in zip(value.shape, place):
            position = position * n + i
        name = self.raw("Gather", [self.flat(value).name, self.constant(np.array(position, dtype=np.int64))], axis=1)[0]
        return Value(name, ())

    def summed(self, value: Value, axes: Sequence[int] | None = None) -> Value:
        """The sum over some axes, all by default."""
        over = range(len(value.shape)) if axes is None else axes
        if not over:
            return value
        name = self.raw("ReduceSum", [value.name, self.axes(*(1 + a for a in over))], keepdims=0)[0]
        return Value(name, tuple(n for a, n in enumerate(value.shape) if a not in over))

    def where(self, test: Value, yes: Value, no: Value) -> Value:
        """One of two values for each element."""
        # Of numbers: onnxruntime chooses between no booleans.
        yes, no = self.float(yes), self.float(no)
        shape = yes.shape if len(yes.shape) >= len(no.shape) else no.shape
        found = self.op("Where", test, self.aligned(yes, shape), self.aligned(no, shape))
        return Value(found.name, shape)

    @contextmanager
    def scope(self) -> Iterator[list[onnx.NodeProto]]:
        """Nodes of a body of its own."""
        outside, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outside
