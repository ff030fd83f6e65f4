"""heyoka.py `cfunc`: expressions compiled by LLVM; gradients by its symbolic differentiation. Results go into one matrix."""

from __future__ import annotations

import heyoka as hy
from buffers import aligned

from . import Case, Namespace, NotSupported, Prepared

LABEL = "heyoka"


def version() -> str:
    """heyoka's version."""
    return f"heyoka {hy.__version__}"


class Expressions(Namespace):
    """Comparisons and choices are functions there."""

    less = staticmethod(hy.lt)
    greater = staticmethod(hy.gt)
    at_least = staticmethod(hy.gte)
    where = staticmethod(hy.select)

    def __init__(self) -> None:
        super().__init__(hy, hy.expression)


def prepare(case: Case) -> Prepared:
    """Compiled for any number of evaluations."""
    hy.set_nthreads(case.threads)
    variables = hy.make_vars(*case.program.inputs)
    variables = variables if isinstance(variables, list) else [variables]
    value = case.program.formula(Expressions(), *variables)
    outputs = [value]
    try:
        if case.gradient:
            outputs += hy.diff_tensors([value], diff_args=variables, diff_order=1).gradient
        compiled = hy.cfunc(outputs, variables, fp_type=case.dtype.type)
    except (NotImplementedError, RuntimeError) as error:
        raise NotSupported(str(error).strip().splitlines()[-1]) from error
    out = aligned((case.results, case.lanes), case.dtype)
    return Prepared(lambda: compiled(inputs=case.columns, outputs=out), lambda out: list(out))
