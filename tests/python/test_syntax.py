"""Programs in infix and LaTeX: the same numbers, errors in the words of the text, kept through pickles, fits and files."""

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import neural_compiler as nc
import numpy as np
import pytest

LAWS = Path(__file__).parents[2] / "crates/neural-compiler-testing/data/feynman-laws.jsonl"


def laws() -> list[dict]:
    return [json.loads(line) for line in LAWS.read_text().splitlines()]


@pytest.mark.parametrize("law", laws(), ids=lambda law: law["name"])
def test_laws_give_what_python_gives(law: dict) -> None:
    program = nc.compile(law["raw"], syntax="infix")
    functions = {name: getattr(math, name) for name in ("sin", "cos", "exp", "sqrt", "tanh", "pi")}
    for point in law["points"]:
        wanted = eval(law["raw"].replace("^", "**"), {"__builtins__": {}}, {**functions, **point})
        np.testing.assert_allclose(program(**point), wanted, rtol=1e-13)
        np.testing.assert_allclose(nc.compile(program.latex, syntax="latex")(**point), wanted, rtol=1e-13)


@pytest.mark.parametrize("make", [nc.compile, nc.compile_scheme])
@pytest.mark.parametrize(
    ("text", "meant"),
    [("x**2", "(pow x 2)"), ("x^2", "(pow x 2)"), ("a*b", "(* a b)"), ("2x", "(* 2 x)"), ("x+1", "(+ x 1)")],
    ids=lambda text: text,
)
def test_arithmetic_as_elsewhere_is_told_how_it_is_written_here(text: str, meant: str, make: Callable[[str], object]) -> None:
    with pytest.raises(nc.CompileError) as found:
        make(text)
    told = found.value.diagnostics
    # What begins like a number is told as one.
    assert [d.code for d in told] == ["bad-number" if text[0].isdigit() else "infix-arithmetic"]
    assert told[0].help is not None and f"did you mean {meant}?" in told[0].help
    assert f"did you mean {meant}?" in str(found.value)


ACTING = "\x1b[2J\x9b31m\x07\x08\x7f\r\u202eevil\u2066\u200f\u061c\u2028\x85\x00"


def test_errors_act_on_no_terminal() -> None:
    found: list[Exception] = []
    with pytest.raises(nc.CompileError) as compiled:
        nc.compile(f"(sinn x) ; {ACTING}")
    found.append(compiled.value)
    with pytest.raises(nc.FitError) as fitted:
        nc.fit("(param a 1) (* a x)", {"x": [1.0, 2.0], f"y{ACTING}": [1.0, 2.0]}, target="z")
    found.append(fitted.value)
    found.append(nc.TableError("unknown-column", f"no column `{ACTING}`", ACTING))
    told = {
        "code": "some-code",
        "severity": "error",
        "message": ACTING,
        "start": 0,
        "end": 1,
        "line": 1,
        "column": 1,
        "text": "",
        "help": ACTING,
    }
    found.append(nc.EvaluationError("x", {**told, "labels": []}, None))
    found.append(nc.FitError("x", [{**told, "end": 0, "labels": []}]))
    for error in found:
        text = str(error)
        assert not set(text) & set(ACTING) - set("[2J31mevil"), repr(text)
    assert all("\\u{1b}[2J\\u{9b}31m\\u{7}" in str(e) and "\\u{202e}evil\\u{2066}" in str(e) for e in found[1:])
    # As data, words are what they were.
    assert found[2].column == ACTING and found[3].diagnostic.message == ACTING  # type: ignore[attr-defined]
    assert str(nc.TableError("c", "of θ:\n\t日本語")) == "c: of θ:\n\t日本語"


def test_infix_and_latex_are_the_same_program() -> None:
    wanted = nc.compile("(+ (* A (exp (- (* k t)))) c)")
    values = {"A": 2.0, "k": 0.3, "t": np.linspace(0, 5, 7), "c": 1.0}
    for text, syntax in [("A*exp(-(k*t)) + c", "infix"), (r"A e^{-k t} + c", "latex")]:
        program = nc.compile(text, syntax=syntax)
        assert program.syntax == syntax and program.source == text
        np.testing.assert_array_equal(program(**values), wanted(**values))
        again = pickle.loads(pickle.dumps(program))
        assert again.syntax == syntax
        np.testing.assert_array_equal(again(**values), wanted(**values))


def test_errors_speak_the_syntax() -> None:
    with pytest.raises(nc.CompileError) as caught:
        nc.compile("param k = 1\nA*exp(-kt)", syntax="infix")
    found = caught.value.diagnostics[0]
    assert found.code == "implicit-product" and "k*t" in (found.help or "")
    with pytest.raises(nc.CompileError) as caught:
        nc.compile("atan(1, 2, 3)", syntax="infix")
    assert "atan(y, x)" in str(caught.value) and "(atan" not in str(caught.value)
    with pytest.raises(nc.CompileError) as caught:
        nc.compile(r"\sin \omega t", syntax="latex")
    assert caught.value.diagnostics[0].code == "ambiguous-reading"
    with pytest.raises(ValueError, match="there is no syntax `fortran`"):
        nc.compile("x", syntax="fortran")


def test_notebooks_show_formulas() -> None:
    assert nc.compile("x^2/2", syntax="infix")._repr_latex_() == "$$\n\\frac{x^{2}}{2}\n$$"


def test_a_fit_of_an_infix_model_is_saved_and_read(tmp_path: Path) -> None:
    t = np.linspace(0, 4, 50)
    model = "param a = 1  # height\nparam k = 1 (min 0)\na*exp(-k*t)"
    found = nc.fit(model, {"t": t, "y": 3 * np.exp(-0.7 * t)}, syntax="infix")
    assert abs(found.params["k"] - 0.7) < 1e-9
    for name in ("model.eq", "model.scm"):
        path = tmp_path / name
        found.save(path)
        text = path.read_text()
        assert ("param a = " in text) == name.endswith(".eq") and "height" in text
        np.testing.assert_allclose(nc.predict(path, {"t": [0.0, 1.0]}), [3.0, 3 * math.exp(-0.7)], rtol=1e-8)


def test_modules_take_infix() -> None:
    torch = pytest.importorskip("torch")
    energy = nc.compile_scheme("m*v^2/2", params={"m": 2.0}, syntax="infix")
    assert energy(v=torch.tensor([1.0, 3.0])).tolist() == [1.0, 9.0]
    assert energy._repr_latex_() == "$$\n\\frac{m v^{2}}{2}\n$$"
    # That formula is not the derivative's.
    assert energy.grad("v")._repr_latex_() is None and ".grad(v)" in energy.grad("v")._repr_html_()
    assert nc.compile("x^2", syntax="infix").grad("x")._repr_latex_() is None
