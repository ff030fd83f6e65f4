"""Our PyTorch module: `compile_scheme` as an `nn.Module`, derivatives through autograd like any other."""

from __future__ import annotations

from neural_compiler import compile_scheme

from . import Case, Prepared, eager

LABEL = "our nn.Module"
version = eager.version


def prepare(case: Case) -> Prepared:
    """Called and differentiated exactly as the hand-written formula is."""
    module = compile_scheme(case.program.source, inputs=list(case.program.inputs))
    return eager.prepared(case, module, eager.by_column(case))
