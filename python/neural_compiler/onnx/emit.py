"""A whole program as an ONNX model. In: its graph; out: the model.

A branch is both sides and a choice; a loop is `Loop`, run until the last lane is done, in which lanes that are done keep what they found.
Lanes that do not take a side are marked there: its loops do not wait for them and its indices are not looked up for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..fx.graph import Graph, Node, Region, read
from .builder import Builder, Value
from .operations import OnnxError, Site, built

UNIT_AXES = "batch"
"""The name of the axis in front."""
MOST_ROUNDS = 50_000_000
"""Rounds of a loop, as for the other executors."""
MOST_NODES = 200_000
OPSET = 18


def model_of(graph: Mapping[str, Any], values: Mapping[str, Any], double: bool, batch: bool, results: list[str]) -> onnx.ModelProto:
    """The model of a graph whose inputs `values` are constants of it. The others are inputs of the model, with a batch axis or without."""
    return _Emitter(read(graph), values, double, batch).model(results)


class _Emitter:
    def __init__(self, graph: Graph, values: Mapping[str, Any], double: bool, batch: bool) -> None:
        self.graph, self.values, self.batched = graph, values, batch
        self.b = Builder(double)
        self.running: list[int] = []
        """Regions inside of which code is written: one of them again is recursion."""
        self.size = ""

    def model(self, names: list[str]) -> onnx.ModelProto:
        b = self.b
        infos, given = [], []
        for name, shape in self.graph.inputs:
            if name in self.values:
                array = self.values[name].astype(b.dtype)
                b.initializers.append(numpy_helper.from_array(array[None], f"{name}.value"))
                given.append(Value(f"{name}.value", shape))
                continue
            infos.append(helper.make_tensor_value_info(name, b.type, [UNIT_AXES, *shape] if self.batched else list(shape)))
            given.append(Value(name if self.batched else b.raw("Unsqueeze", [name, b.axes(0)])[0], shape))
        open_inputs = [v for v, (name, _) in zip(given, self.graph.inputs) if name not in self.values]
        self.size = b.axes(1)
        if self.batched:
            for v in open_inputs:
                first = b.raw("Slice", [b.raw("Shape", [v.name])[0], b.axes(0), b.axes(1)])[0]
                self.size = first if v is open_inputs[0] else b.raw("Max", [self.size, first])[0]
        everyone = Value(b.raw("Expand", [b.constant([True]), self.size])[0], (), True)
        found = self._region(self.graph.main, given, everyone)
        outputs = []
        for name, value, axes in zip(names, found, self.graph.axes):
            whole = self._whole(b.reshape(b.float(value), axes))
            last = b.raw("Squeeze", [whole, b.axes(0)])[0] if not self.batched else whole
            b.nodes.append(helper.make_node("Identity", [last], [name]))
            outputs.append(helper.make_tensor_value_info(name, b.type, [UNIT_AXES, *axes] if self.batched else list(axes)))
        made = helper.make_graph(b.nodes, "program", infos, outputs, b.initializers, doc_string=self.graph.source)
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="neural-compiler", ir_version=10)
        onnx.checker.check_model(model)
        return model

    def _whole(self, value: Value) -> str:
        """A value for every lane of the batch."""
        return self.b.raw("Expand", [value.name, self.b.raw("Concat", [self.size, self.b.axes(*value.shape)], axis=0)[0]])[0]

    def _region(self, index: int, params: list[Any], active: Value) -> list[Any]:
        if index in self.running:
            raise OnnxError(f"`{self.graph.regions[index].name}` calls itself, and ONNX has no recursion: write it as a loop")
        self.running.append(index)
        region = self.graph.regions[index]
        values: list[Any] = []
        for node in region.nodes:
            values.append(self._node(region, node, [values[a] for a in node.args], params, active))
        self.running.pop()
        if len(self.b.nodes) > MOST_NODES:
            raise OnnxError(f"the model would have more than {MOST_NODES} nodes")
        return [values[r] for r in region.results]

    def _node(self, region: Region, node: Node, args: list[Any], params: list[Any], active: Value) -> Any:
        match node.kind:
            case "param":
                return params[node.about["index"]]
            case "const":
                return self.b.number(node.constant)
            case "proj":
                return args[0][node.about["index"]]
            case "op":
                return built(self.b, node.about["op"], Site(node.about["attr"], node.shape, self.size, active), args)
            case "call" | "root":
                return self._several(node, self._region(node.about["region"], args, active))
            case "if":
                return self._several(node, self._branch(node, args, active))
            case "loop" if not node.about["taped"]:
                return self._several(node, self._loop(node, args, active))
            case _:
                raise OnnxError(
                    "the derivative of a loop stores its rounds, which ONNX cannot: export the program, and differentiate it elsewhere"
                )

    def _several(self, node: Node, found: list[Any]) -> Any:
        return found if node.type == "many" else found[0]

    def _branch(self, node: Node, args: list[Any], active: Value) -> list[Any]:
        b = self.b
        test = b.bool(args[0])
        sides = []
        for child, taken in zip(self.graph.children(node), (test, b.op("Not", test, truth=True))):
            sides.append(self._region(child, args[1:], b.op("And", active, taken, truth=True)))
        return [yes if yes is no else b.where(test, yes, no) for yes, no in zip(*sides)]

    def _loop(self, node: Node, args: list[Any], active: Value) -> list[Any]:
        b = self.b
        count = node.about["carried"]
        body = self.graph.regions[node.about["body"]]
        types = [t for t in body.result_types[1:] if not isinstance(t, str)]
        carried = [self._whole(b.float(a)) for a in args[:count]]
        fixed = args[count:]
        empty = [self._whole(Value(b.number(0.0).name, ())) if not t else self._whole(_filled(b, t)) for t in types[count:]]
        begin = [self._whole(active), *carried, *empty]
        names = [b.fresh("state") for _ in begin]
        with b.scope() as nodes:
            going = Value(names[0], (), True)
            now = [Value(n, t) for n, t in zip(names[1:], types)]
            found = self._region(node.about["body"], [*now[:count], *fixed], going)
            on = b.op("And", going, b.bool(found[0]), truth=True)
            done = b.op("And", going, b.op("Not", on, truth=True), truth=True)
            following = [b.where(on, b.float(f), v) for f, v in zip(found[1 : 1 + count], now)]
            results = [b.where(done, b.float(f), v) for f, v in zip(found[1 + count :], now[count:])]
            outputs = [self._any(on), self._whole(on), *(self._whole(v) for v in following + results)]
        kinds = [onnx.TensorProto.BOOL] + [b.type] * len(types)
        shapes = [[None], *([None, *t] for t in types)]
        inputs = [helper.make_tensor_value_info(b.fresh("round"), onnx.TensorProto.INT64, [])]
        inputs.append(helper.make_tensor_value_info(b.fresh("goes_on"), onnx.TensorProto.BOOL, []))
        inputs += [helper.make_tensor_value_info(n, k, s) for n, k, s in zip(names, kinds, shapes)]
        out = [helper.make_tensor_value_info(outputs[0], onnx.TensorProto.BOOL, [])]
        out += [helper.make_tensor_value_info(n, k, s) for n, k, s in zip(outputs[1:], kinds, shapes)]
        inner = helper.make_graph(nodes, b.fresh("body"), inputs, out)
        most = b.constant(_whole_number(MOST_ROUNDS))
        ended = b.raw("Loop", [most, self._any(active), *begin], outputs=len(begin), body=inner)
        # A loop that did not end has no result: a place that is not there is looked up.
        late = b.raw("Cast", [self._any(Value(ended[0], (), True))], to=onnx.TensorProto.INT64)[0]
        zero = b.raw("Gather", [b.number(-0.0).name, late], axis=0)[0]
        found = [Value(n, t) for n, t in zip(ended[1 + count :], types[count:])]
        return [b.op("Add", v, Value(b.raw("Unsqueeze", [zero, b.axes(0)])[0], ())) for v in found]

    def _any(self, truth: Value) -> str:
        """Whether it holds for some lane."""
        count = self.b.raw("ReduceSum", [self.b.raw("Cast", [truth.name], to=onnx.TensorProto.INT64)[0]], keepdims=0)[0]
        return self.b.raw("Greater", [count, self.b.constant(_whole_number(0))])[0]


def _filled(b: Builder, shape: tuple[int, ...]) -> Value:
    return Value(b.raw("Expand", [b.aligned(b.number(0.0), shape).name, b.axes(1, *shape)])[0], shape)


def _whole_number(value: int) -> Any:
    return np.array(value, dtype=np.int64)
