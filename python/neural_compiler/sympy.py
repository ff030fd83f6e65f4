"""SymPy in and out: `from_sympy`, `to_sympy`. Needs SymPy; nothing else in the package does.

An expression becomes the text of a program, in the order SymPy keeps its arguments, with exact fractions. What the language cannot say
is refused by its name (`NotImplementedError`), never approximated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.units import Quantity
from sympy.physics.units.systems.si import SI

from .program import Program, compile

# Functions that are called alike, but for their names.
_FUNCTIONS: dict[Any, str] = {
    sp.sin: "sin",
    sp.cos: "cos",
    sp.tan: "tan",
    sp.asin: "asin",
    sp.acos: "acos",
    sp.atan: "atan",
    sp.atan2: "atan",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
    sp.exp: "exp",
    sp.log: "log",
    sp.Abs: "abs",
    sp.sign: "sign",
    sp.floor: "floor",
    sp.ceiling: "ceiling",
    sp.Min: "min",
    sp.Max: "max",
    sp.Mod: "modulo",
    sp.erf: "erf",
    sp.erfc: "erfc",
    sp.gamma: "gamma",
    sp.loggamma: "lgamma",
    sp.digamma: "digamma",
    sp.beta: "beta",
}
_BESSEL = {sp.besselj: "bessel-j", sp.besseli: "bessel-i", sp.besselk: "bessel-k"}
# Functions that are one over another.
_INVERSES = {sp.sec: "cos", sp.csc: "sin", sp.cot: "tan", sp.sech: "cosh", sp.csch: "sinh", sp.coth: "tanh"}
_RELATIONS = {sp.Eq: "=", sp.Lt: "<", sp.Gt: ">", sp.Le: "<=", sp.Ge: ">="}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
# Whole numbers up to this are exact.
_WHOLE = 2**53


def from_sympy(expr: Any, args: Sequence[Any] | None = None, *, units: str = "refuse") -> Program:
    """The program of a SymPy expression, a `Matrix` (one column: a vector), a `Lambda` or several expressions as a list.

    `args`: symbols in the order of the inputs, as for `lambdify`; left out, those of a `Lambda`, else all by name. A `MatrixSymbol` is a
    vector or a matrix. `units`: what becomes of SymPy's units, `refuse`, or `drop`: numbers are then in the SI's base units.

    >>> x, y = sp.symbols("x y")
    >>> program = from_sympy(sp.sqrt(x) / 3 - sp.Piecewise((y, y > 0), (0, True)), [y, x])
    >>> print(program.source)
    (input y)
    (input x)
    (- (* 1/3 (sqrt x)) (cond ((> y 0) y) (else 0)))
    >>> float(program(2.0, 9.0))
    -1.0
    """
    return compile(sympy_text(expr, args, units=units))


def sympy_text(expr: Any, args: Sequence[Any] | None = None, *, units: str = "refuse") -> str:
    """The text of the program `from_sympy` compiles."""
    if units not in ("refuse", "drop"):
        raise ValueError(f"units are refuse or drop, not {units!r}")
    if isinstance(expr, sp.Lambda):
        args = list(expr.variables) if args is None else args
        expr = expr.expr
    if isinstance(expr, (list, tuple)):
        expr = sp.Matrix(list(expr))
    expr = sp.sympify(expr)
    writer = _Writer(units)
    body = writer.value(expr)
    listed = list(args) if args is not None else sorted(writer.symbols.values(), key=lambda s: str(s))
    declared = [_declared(symbol, writer) for symbol in listed]
    missing = set(writer.symbols) - {_name_of(symbol) for symbol in listed}
    if missing:
        raise ValueError(f"`args` leaves out {', '.join(sorted(missing))}")
    return "\n".join([*declared, body])


def to_sympy(program: Program) -> Any:
    """The value of a program as a SymPy expression of real symbols, exact fractions included; several values are a tuple.

    Loops, recursion, vectors and what SymPy has no function for are refused (`CompileError`, `export-unsupported`). Parameters are
    their values.

    >>> to_sympy(compile("(/ (* m (square v)) 2)"))
    m*v**2/2
    """
    space: dict[str, Any] = {}
    # The text is our own, and names in it are those of `sympy` and of the program's inputs.
    exec(program.export("sympy")["model.py"], space)
    return space["value"]


def _name_of(symbol: Any) -> str:
    if isinstance(symbol, AppliedUndef):
        return str(symbol.func.__name__)
    if isinstance(symbol, (sp.Symbol, sp.MatrixSymbol)):
        return str(symbol.name)
    raise TypeError(f"an input is a symbol, not {symbol!r}")


def _spelled(name: str) -> str:
    if name and not name[0].isdigit() and set(name) <= _PLAIN:
        return name
    if "|" in name or "\\" in name or "\n" in name:
        raise NotImplementedError(f"the name {name!r} cannot be written")
    return f"|{name}|"


def _declared(symbol: Any, writer: _Writer) -> str:
    name = _name_of(symbol)
    if name in writer.called:
        raise NotImplementedError(f"`{name}` is a symbol here and a function of the language that is used too: rename the symbol")
    if isinstance(symbol, sp.MatrixSymbol):
        rows, columns = symbol.shape
        size = f"{rows}" if columns == 1 else f"[{rows} {columns}]"
        return f"(input {_spelled(name)} :size {size})"
    return f"(input {_spelled(name)})"


class _Writer:
    """Expressions to text; notes the symbols and functions that were met."""

    def __init__(self, units: str) -> None:
        self.units = units
        self.symbols: dict[str, Any] = {}
        self.called: set[str] = set()

    def call(self, name: str, *args: Any) -> str:
        self.called.add(name)
        return f"({name} {' '.join(a if isinstance(a, str) else self.value(a) for a in args)})"

    def value(self, e: Any) -> str:
        if isinstance(e, sp.MatrixBase):
            return self.matrix(e)
        if isinstance(e, (sp.Rational, sp.Float)) or e in (sp.oo, -sp.oo, sp.nan):
            return _number(e)
        if e in (sp.true, sp.false):
            return "1" if e == sp.true else "0"
        if e is sp.pi:
            return "pi"
        if isinstance(e, sp.NumberSymbol):
            return "(exp 1)" if e is sp.E else repr(float(e.n(40)))
        if isinstance(e, (sp.Symbol, sp.MatrixSymbol, AppliedUndef)):
            return self.symbol(e)
        if isinstance(e, sp.Add):
            return self.sum(e.args)
        if isinstance(e, sp.Mul):
            return self.product(e)
        if isinstance(e, sp.Pow):
            return self.power(e.base, e.exp)
        if isinstance(e, sp.Piecewise):
            return self.cases(e)
        if isinstance(e, (sp.And, sp.Or, sp.Not)):
            return self.call({sp.And: "and", sp.Or: "or", sp.Not: "not"}[e.func], *e.args)
        if isinstance(e, sp.ITE):
            return self.call("if", *e.args)
        if isinstance(e, sp.Ne):
            return self.call("not", self.call("=", *e.args))
        if e.func in _RELATIONS:
            return self.call(_RELATIONS[e.func], *e.args)
        if isinstance(e, Quantity):
            return self.quantity(e)
        if isinstance(e, sp.matrices.expressions.matexpr.MatrixElement):
            parent, i, j = e.args
            return self.call("ref", parent, i) if parent.shape[1] == 1 else self.call("ref", parent, i, j)
        if isinstance(e, (sp.Sum, sp.Product, sp.Derivative)):
            done = e.doit()
            if done.has(sp.Sum, sp.Product, sp.Derivative):
                raise NotImplementedError(f"`{e}` has no value that can be written")
            return self.value(done)
        return self.function(e)

    def symbol(self, e: Any) -> str:
        name = _name_of(e)
        if self.symbols.setdefault(name, e) != e:
            raise NotImplementedError(f"there are two symbols `{name}`: {self.symbols[name]!r} and {e!r}")
        return _spelled(name)

    def sum(self, terms: Iterable[Any]) -> str:
        signed = [(t.could_extract_minus_sign(), t) for t in terms]
        plus = [t for minus, t in signed if not minus]
        minus = [-t for is_minus, t in signed if is_minus]
        if not minus:
            return self.call("+", *plus)
        head = self.call("+", *plus) if len(plus) > 1 else None
        if not plus:
            return self.call("-", self.call("+", *minus) if len(minus) > 1 else minus[0])
        return self.call("-", head or plus[0], *minus)

    def product(self, e: Any) -> str:
        coefficient, rest = e.as_coeff_Mul()
        if coefficient == -1:
            return self.call("-", rest)
        over = [f for f in e.args if isinstance(f, sp.Pow) and f.exp.is_Rational and f.exp.is_negative]
        above = [f for f in e.args if f not in over]
        if not over:
            return self.call("*", *above)
        below = [self.power(f.base, -f.exp) for f in over]
        bottom = below[0] if len(below) == 1 else self.call("*", *below)
        if not above:
            return self.call("/", bottom)
        return self.call("/", self.call("*", *above) if len(above) > 1 else above[0], bottom)

    def power(self, base: Any, exponent: Any) -> str:
        if base is sp.E:
            return self.call("exp", exponent)
        if exponent == 1:
            return self.value(base)
        if exponent == -1:
            return self.call("/", base)
        if exponent == sp.Rational(1, 2):
            return self.call("sqrt", base)
        if exponent.is_Rational and exponent.is_negative:
            return self.call("/", self.power(base, -exponent))
        return self.call("pow", base, exponent)

    def cases(self, e: Any) -> str:
        clauses = []
        for value, test in e.args:
            if test == sp.true:
                clauses.append(f"(else {self.value(value)})")
                break
            clauses.append(f"({self.value(test)} {self.value(value)})")
        else:
            # Where no condition holds, SymPy's value is nan.
            clauses.append("(else +nan.0)")
        return f"(cond {' '.join(clauses)})"

    def matrix(self, e: Any) -> str:
        rows = [[self.value(e[i, j]) for j in range(e.cols)] for i in range(e.rows)]
        if e.cols == 1:
            return f"[{' '.join(row[0] for row in rows)}]"
        return "[" + " ".join(f"[{' '.join(row)}]" for row in rows) + "]"

    def quantity(self, e: Any) -> str:
        if self.units == "refuse":
            raise NotImplementedError(f"`{e}` is a unit: declare units with `:unit`, or drop them with units='drop'")
        scale = SI.get_quantity_scale_factor(e)
        # SymPy counts masses in grams.
        dimensions = SI.get_dimension_system().get_dimensional_dependencies(SI.get_quantity_dimension(e))
        masses = sum(power for name, power in dimensions.items() if str(getattr(name, "name", name)) == "mass")
        return self.value(sp.nsimplify(scale) / sp.Integer(1000) ** masses)

    def function(self, e: Any) -> str:
        if e.func in _FUNCTIONS:
            return self.call(_FUNCTIONS[e.func], *e.args)
        if e.func in _INVERSES:
            return self.call("/", self.call(_INVERSES[e.func], *e.args))
        if e.func in _BESSEL and e.args[0] in (0, 1):
            return self.call(f"{_BESSEL[e.func]}{e.args[0]}", e.args[1])
        if isinstance(e, sp.polygamma) and e.args[0] in (0, 1):
            return self.call(["digamma", "trigamma"][int(e.args[0])], e.args[1])
        if isinstance(e, sp.Heaviside):
            x = self.value(e.args[0])
            at_zero = self.value(e.args[1] if len(e.args) > 1 else sp.Rational(1, 2))
            return f"(cond ((> {x} 0) 1) ((< {x} 0) 0) (else {at_zero}))"
        if e is sp.I or e.has(sp.I):
            raise NotImplementedError("complex numbers are not part of the language")
        raise NotImplementedError(f"`{e.func.__name__}` is not part of the language: `{e}`")


def _number(x: Any) -> str:
    if x is sp.nan:
        return "+nan.0"
    if x in (sp.oo, -sp.oo):
        return "+inf.0" if x == sp.oo else "-inf.0"
    if isinstance(x, sp.Rational):
        top, bottom = int(x.p), int(x.q)
        if bottom == 1 and abs(top) <= _WHOLE:
            return str(top)
        # A decimal that was read exactly comes back as it was.
        shortest = repr(float(Fraction(top, bottom)))
        if Fraction(shortest) == Fraction(top, bottom):
            return shortest
        return f"{top}/{bottom}" if max(abs(top), bottom) <= _WHOLE else shortest
    return repr(float(x))
