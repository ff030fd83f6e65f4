"""`Program.export`: files, constants in place, what is refused."""

from __future__ import annotations

import subprocess

import neural_compiler as nc
import numpy as np
import onnx
import onnxruntime
import pytest


def test_c_has_the_bits_of_the_program(tmp_path):
    program = nc.compile("(* a (exp (sin x)))", params={"a": 1.7})
    files = program.export("c", tmp_path / "model", grad=True)
    assert {p.name for p in (tmp_path / "model").iterdir()} == set(files) == {"main.c", "model.c", "model.h"}
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-o", "try", "main.c", "model.c", "-lm"]
    subprocess.run(["gcc", *flags], cwd=tmp_path / "model", check=True)
    printed = subprocess.run(["./try", "0.625"], cwd=tmp_path / "model", check=True, capture_output=True, text=True).stdout.split("\n")
    value, (slope,) = program.value_and_grad(x=0.625)
    assert [float(printed[0]), float(printed[1].removeprefix("d/d "))] == [value, slope]


def test_numpy_runs():
    program = nc.compile("(if (> x 0) (dot v (* x v)) 0)", inputs={"x": (), "v": 3})
    scope: dict = {}
    exec(program.export("numpy", grad=True)["model.py"], scope)
    value, (by_x, by_v) = scope["gradient"](2.0, [1.0, 2.0, 3.0])
    assert (value, by_x) == (28.0, 14.0)
    np.testing.assert_allclose(by_v, [4.0, 8.0, 12.0])


def test_mistakes_are_named():
    program = nc.compile("(det m)", inputs={"m": (48, 48)})
    with pytest.raises(nc.CompileError, match="more than 47 rows"):
        program.export("c")
    with pytest.raises(ValueError, match="no target"):
        program.export("cobol")


def test_onnx_is_checked_and_runs(tmp_path):
    program = nc.compile("(if (> x 0) (* a (exp (- x)) y) (dot [1 2] [x y]))", params={"a": 1.5})
    files = program.export("onnx", tmp_path, grad=True)
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model)
    assert model.SerializeToString() and files["model.onnx"] == (tmp_path / "model.onnx").read_bytes()
    assert [o.name for o in model.graph.output] == ["result", "gradient_x", "gradient_y"]
    session = onnxruntime.InferenceSession(files["model.onnx"], providers=["CPUExecutionProvider"])
    x, y = np.array([0.5, -2.0, 3.0]), np.array([2.0, 0.25, -1.0])
    found = session.run(None, {"x": x, "y": y})
    value, slopes = program.value_and_grad(x=x, y=y)
    for f, e in zip(found, (value, *slopes), strict=True):
        np.testing.assert_allclose(f, e, rtol=4e-15)


def test_julia_has_balanced_blocks():
    text = "(define (f n) (if (< n 1) 1 (* n (f (- n 1))))) (loop ((i 0) (s x)) (if (> i 3) (+ s (f 3)) (recur (+ i 1) (sin s))))"
    written = nc.compile(text).export("julia", grad=True)["model.jl"]
    words = [w for line in written.split("\n") if not line.lstrip().startswith("#") for w in line.split()]
    openers = sum(w in ("module", "function", "while") for w in words)
    openers += sum(line.lstrip().startswith(("if ", "for ")) for line in written.split("\n"))
    assert openers == sum(w == "end" for w in words), written
    assert "function value(x)" in written and "function gradient(x)" in written
