"""A program as an ONNX model, for runtimes without Python. In: the graph of a program as data; out: an `onnx.ModelProto`.

builder.py     nodes, constants and scopes
operations.py  one ONNX expression per operation of the table, or none
matrices.py    linear systems by elimination
emit.py        regions: branches by choice, loops as `Loop`
"""

from .emit import UNIT_AXES, model_of
from .operations import OPERATIONS, OnnxError

__all__ = ["OPERATIONS", "UNIT_AXES", "OnnxError", "model_of"]
