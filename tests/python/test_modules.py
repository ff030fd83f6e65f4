"""`(use "file.scm" (name))`: programs with definitions of other files, read by `linked`."""

from __future__ import annotations

from pathlib import Path

import neural_compiler as nc
import numpy as np
import pytest


def test_a_program_and_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "kinetics.scm").write_text("(define half 0.5)\n(define (hill c k) (/ c (+ c (* half k))))\n")
    model = tmp_path / "model.scm"
    model.write_text('(use "lib/kinetics.scm" (hill))\n(param k 1)\n(state x 2)\n(derive x (- (hill x k)))\n')
    text = nc.linked(model)
    assert "kinetics.hill" in text and "use" not in text
    times = np.array([0.0, 1.0])
    inline = "(param k 1) (state x 2) (derive x (- (/ x (+ x (* 0.5 k)))))"
    assert np.array_equal(nc.simulate(model, times)["x"], nc.simulate(inline, times)["x"])


def test_mistakes_are_those_of_the_file_they_are_in(tmp_path: Path) -> None:
    (tmp_path / "law.scm").write_text("(define (f x)\n  (* hidden x))\n")
    (tmp_path / "model.scm").write_text('(use "law.scm" (f)) (f 1)')
    with pytest.raises(nc.CompileError) as error:
        nc.linked(tmp_path / "model.scm")
    found = error.value.diagnostics[0]
    assert (found.code, found.line) == ("unknown-name", 2)
    (tmp_path / "model.scm").write_text('(use "none.scm" (f)) (f 1)')
    with pytest.raises(nc.CompileError) as error:
        nc.linked(tmp_path / "model.scm")
    assert error.value.diagnostics[0].code == "cannot-use"
