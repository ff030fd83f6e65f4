"""Our engine through the Python package, as a user calls it: values into a given array, gradients into new ones."""

from __future__ import annotations

from typing import Any

import neural_compiler
import numpy as np
from buffers import aligned

from . import Case, Prepared

LABEL = "ours (Python)"


def version() -> str:
    """The package's version."""
    return f"neural_compiler {neural_compiler.__version__}"


def prepare(case: Case) -> Prepared:
    """Compiled and run once."""
    neural_compiler.set_num_threads(case.threads)
    program = neural_compiler.compile(case.program.source, inputs=list(case.program.inputs))
    columns = list(case.columns)
    if case.gradient:

        def results(out: Any) -> list[np.ndarray]:
            value, partials = out
            return [value, *partials]

        return Prepared(lambda: program.value_and_grad(*columns), results)
    out = aligned((case.lanes,), case.dtype)
    return Prepared(lambda: program(*columns, out=out), lambda out: [out])
