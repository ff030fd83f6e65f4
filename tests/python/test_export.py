"""`Program.export`: files, constants in place, what is refused."""

from __future__ import annotations

import subprocess

import neural_compiler as nc
import numpy as np
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
