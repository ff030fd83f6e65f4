"""A program as an ONNX model, for runtimes without Python. In: a function of a program; out: an `onnx.ModelProto`.

The model is written by the library (`neuralc export --to onnx` writes the same); here it is read and checked by `onnx`.
"""

from __future__ import annotations

from typing import Any

import onnx

from .._native import Function
from ..errors import CompileError
from ..operations import operations

UNIT_AXES = "batch"
"""The name of the axis in front."""
OPERATIONS = frozenset(o.op for o in operations() if o.onnx and not o.composite)
"""The operations ONNX models have; the others are refused."""


class OnnxError(ValueError):
    """A program, or a part of it, that ONNX cannot express."""


def model_of(
    function: Function, constants: list[list[float] | None], double: bool, batch: bool, shapes: list[list[int]] | None
) -> onnx.ModelProto:
    """The model of a function whose inputs with `constants` are constants of it. The others are inputs of the model, with a batch axis or
    without."""
    try:
        written: Any = function.onnx(double, batch, constants, shapes)
    except CompileError as e:
        if any(d.code == "export-unsupported" for d in e.diagnostics):
            raise OnnxError("; ".join(f"{d.message}: {d.help}" for d in e.diagnostics)) from None
        raise
    model = onnx.load_from_string(written)
    onnx.checker.check_model(model)
    return model


__all__ = ["OPERATIONS", "UNIT_AXES", "OnnxError", "model_of"]
