"""numexpr: values of one expression at a time; it has no derivatives."""

from __future__ import annotations

import re
from typing import Any

import numexpr
import numpy as np
from buffers import aligned

from . import Case, NotSupported, Prepared

LABEL = "numexpr"

NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def version() -> str:
    """numexpr's version."""
    return f"numexpr {numexpr.__version__}"


def prepare(case: Case) -> Prepared:
    """`re_evaluate` of the expression, which skips looking at the text again."""
    if case.gradient:
        raise NotSupported("numexpr has no derivatives")
    numexpr.set_num_threads(case.threads)
    out = aligned((case.lanes,), case.dtype)
    if case.program.name == "newton20":
        return Prepared(lambda: newton(case, out), lambda out: [out])
    if case.program.expression is None:
        raise NotSupported("more inputs than numexpr takes")
    names: dict[str, Any] = dict(zip(case.program.inputs, case.columns))
    # A written number would be a double and turn the whole computation into doubles: constants of the case's type have names.
    constants: dict[str, str] = {}
    text = NUMBER.sub(lambda found: constants.setdefault(found[0], f"constant{len(constants)}"), case.program.expression)
    names |= {name: case.dtype.type(number) for number, name in constants.items()}
    numexpr.evaluate(text, local_dict=names, out=out)
    return Prepared(lambda: numexpr.re_evaluate(local_dict=names), lambda out: [out])


def newton(case: Case, y: np.ndarray) -> np.ndarray:
    """Twenty evaluations of one round."""
    names = {"x": case.columns[0], "y": y, "half": case.dtype.type(0.5)}
    y.fill(1)
    numexpr.evaluate("half * (y + x / y)", local_dict=names, out=y)
    for _ in range(19):
        numexpr.re_evaluate(local_dict=names)
    return y
