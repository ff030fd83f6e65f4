"""Operon as a proposer of formulas: `--proposer 'python -m neural_compiler.proposers.operon'`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._native import translate
from ..program import compile
from .protocol import Request, serve


def propose(request: Request) -> Iterator[tuple[str, str]]:
    """The front of one run, once; numbers become constants to be fitted."""
    problem = request.problem
    if request.round > 0 or problem["kind"] != "formula":
        return
    from pyoperon.sklearn import SymbolicRegressor

    inputs = problem["of"]["inputs"]
    x = np.column_stack([np.array(problem["columns"][n], float) for n in inputs])
    y = np.array(problem["columns"][problem["of"]["target"]], float)
    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sin,cos,exp,log,sqrt,square,constant,variable",
        objectives=["r2", "length"],
        # Importing it and a busy machine take their share of the time too.
        max_time=max(1, int(min(request.seconds / 4, 60))),
        generations=100000,
        max_evaluations=10**9,
        optimizer_iterations=10,
        random_state=problem["seed"],
    )
    model.fit(x, y)
    for member in model.pareto_front_:
        formula = model.get_model_string(member["tree"], 17, inputs)
        yield constants(formula), "of the front of Operon"


def constants(formula: str) -> str:
    """A formula in infix as a model whose numbers are constants to be fitted."""
    scheme = translate(formula, "infix", "scheme")
    compile(scheme)
    out: list[str] = []
    declared: list[str] = []
    words = scheme.replace("(", " ( ").replace(")", " ) ").split()
    for word in words:
        try:
            value = float(word)
        except ValueError:
            out.append(word)
            continue
        if value.is_integer() and abs(value) <= 4:
            out.append(word)
            continue
        declared.append(f"(param c{len(declared) + 1} {value!r})")
        out.append(f"c{len(declared)}")
    return "\n".join([*declared, " ".join(out)])


if __name__ == "__main__":
    serve(propose)
