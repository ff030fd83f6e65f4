"""SymPy in and out: laws of physics there and back, what has a text, and what is refused by its name."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from neural_compiler import CompileError, compile
from neural_compiler.sympy import from_sympy, sympy_text, to_sympy

LAWS = Path(__file__).parents[2] / "crates/neural-compiler-testing/data/feynman-laws.jsonl"
OTHERS = LAWS.with_name("physics-laws.tsv")
x, y, z = sp.symbols("x y z")


def _canonical(program, symbols, raw):
    """What SymPy makes of a law, numbers like sqrt(2) computed: it stays what it is."""
    once = from_sympy(to_sympy(program), symbols)
    twice = from_sympy(to_sympy(once), symbols)
    assert from_sympy(to_sympy(twice), symbols).graph_text() == twice.graph_text(), raw
    return twice


def test_other_laws_there_and_back():
    lines = [line for line in OTHERS.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) >= 60
    for raw in (line.split("\t")[2] for line in lines):
        program = compile(raw, syntax="infix")
        symbols = [sp.Symbol(i.name, real=True) for i in program.inputs]
        again = _canonical(program, symbols, raw)
        point = {name: 0.3 + 0.07 * k for k, name in enumerate(i.name for i in program.inputs)}
        found, wanted = float(again(**point)), float(program(**point))
        assert np.isnan(wanted) or abs(found - wanted) <= 1e-12 * abs(wanted), raw


def test_laws_there_and_back():
    laws = [json.loads(line) for line in LAWS.read_text().splitlines()]
    for law in laws:
        program = compile(law["raw"], syntax="infix")
        symbols = [sp.Symbol(i.name, real=True) for i in program.inputs]
        again = _canonical(program, symbols, law["raw"])
        for point, value in zip(law["points"], law["values"], strict=True):
            found = float(again(**{i.name: point[i.name] for i in program.inputs}))
            assert abs(found - value) <= 1e-12 * abs(value), law["raw"]


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (sp.Rational(1, 3) * x, "(* 1/3 x)"),
        (x / y, "(/ x y)"),
        (x - y, "(- x y)"),
        (-x, "(- x)"),
        (1 / sp.sqrt(x), "(/ (sqrt x))"),
        (x**y, "(pow x y)"),
        (sp.exp(-x), "(exp (- x))"),
        (sp.Float("0.1") * x, "(* 0.1 x)"),
        (sp.Rational("0.1") * x, "(* 0.1 x)"),
        (sp.atan2(y, x), "(atan y x)"),
        (sp.Matrix([x, y]), "[x y]"),
        (sp.Matrix([[x, 1], [0, y]]), "[[x 1] [0 y]]"),
        (sp.Piecewise((x, x > 0), (0, True)), "(cond ((> x 0) x) (else 0))"),
        (sp.Piecewise((1, sp.And(x > 0, x < 1))), "(cond ((and (> x 0) (< x 1)) 1) (else +nan.0))"),
        (sp.Sum(x**z, (z, 1, 3)), "(+ x (pow x 2) (pow x 3))"),
        (sp.sec(x), "(/ (cos x))"),
        (sp.besselj(1, x), "(bessel-j1 x)"),
        (sp.Function("u")(x), "u"),
        (sp.pi * x, "(* pi x)"),
        (sp.oo, "+inf.0"),
    ],
)
def test_texts(expr, text):
    assert sympy_text(expr).splitlines()[-1] == text


def test_arguments_are_in_the_order_given():
    program = from_sympy(x - 2 * y, [y, x])
    assert [i.name for i in program.inputs] == ["y", "x"]
    assert float(program(1.0, 5.0)) == float(sp.lambdify([y, x], x - 2 * y)(1.0, 5.0)) == 3.0
    assert float(from_sympy(sp.Lambda((y, x), x - y))(1.0, 5.0)) == 4.0
    v = sp.MatrixSymbol("v", 3, 1)
    assert float(from_sympy(v[0, 0] * v[2, 0], [v])(np.array([2.0, 3.0, 4.0]))) == 8.0
    with pytest.raises(ValueError, match="leaves out y"):
        from_sympy(x + y, [x])


def test_values_are_those_of_sympy():
    expr = sp.Piecewise((sp.sin(x) ** 2 / (1 + y**2), x < y), (sp.sqrt(x**2 + y**2) + sp.Rational(2, 7), True))
    program = from_sympy(expr, [x, y])
    for point in ([0.3, 1.2], [2.5, -0.5]):
        assert float(program(*point)) == pytest.approx(float(expr.subs(dict(zip((x, y), point, strict=True))).n(20)), rel=1e-15)
    inside = to_sympy(compile("(if (> x 0) (/ 1 8) (log x))"))
    assert inside.subs(sp.Symbol("x", real=True), 1) == sp.Rational(1, 8)


def test_units_are_refused_or_dropped():
    from sympy.physics.units import kilogram, kilometer

    with pytest.raises(NotImplementedError, match="kilometer"):
        from_sympy(3 * kilometer * x)
    assert float(from_sympy(3 * kilometer * x, units="drop")(2.0)) == 6000.0
    assert float(from_sympy(3 * kilogram * x, units="drop")(2.0)) == 6.0


@pytest.mark.parametrize(
    ("expr", "name"),
    [
        (sp.I * x, "complex"),
        (sp.Integral(sp.exp(-(x**2)), x), "Integral"),
        (sp.zeta(x), "zeta"),
        (sp.besselj(3, x), "besselj"),
        (sp.asinh(x), "asinh"),
        (sp.Derivative(sp.Function("f")(x), x), "Derivative"),
        (sp.gamma(sp.Symbol("gamma")), "gamma"),
    ],
)
def test_what_has_no_text_is_refused_by_name(expr, name):
    with pytest.raises(NotImplementedError, match=name):
        from_sympy(expr)


def test_what_sympy_cannot_say_is_refused():
    for text in ["(loop ((i 0)) (if (< i n) (recur (+ i 1)) i))", "(norm [x y])"]:
        with pytest.raises(CompileError):
            to_sympy(compile(text))


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("x * sin(y)", x * sp.sin(y)),
        ('(exp(x) * exp(x)) * Symbol("E")', sp.exp(2 * x) * sp.Symbol("E")),
        ('Piecewise((Rational("1.5"), Gt(x, 0)), ((x - 3), True))', sp.Piecewise((sp.Rational(3, 2), x > 0), (x - 3, True))),
    ],
)
def test_what_the_command_shows_is_read(text, expr):
    # `neuralc show --format sympy` prints these, by crates/neuralc/tests/suite/syntax.rs.
    assert sp.sympify(text) == expr
