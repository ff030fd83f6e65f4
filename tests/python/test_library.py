"""`Library`: frozen modules from Python, by the rules of `neuralc library`."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import neural_compiler as nc
import numpy as np
import pytest

ENERGY = "; kinetic energy\n(input m :unit kg)\n(input v :unit m/s)\n(* 0.5 m (square v))\n"


@pytest.fixture
def library(tmp_path: Path) -> nc.Library:
    made = nc.Library.init(tmp_path / "library")
    made.add("energy", ENERGY, examples=["m = 2, v = 3 => 9"])
    return made


def test_a_module_is_what_it_was(library: nc.Library, tmp_path: Path) -> None:
    module = library["energy@1"]
    assert (module.id, module.description, module.proved) == ("energy@1", "kinetic energy", True)
    assert [q["unit"] for q in module.inputs] == ["kg", "m/s"] and module.output == {"shape": [], "unit": "J"}
    assert module.record["examples"][0]["value"] == [9.0]
    assert float(library.program("energy")(m=2.0, v=3.0)) == 9.0
    assert library.test() == {"energy@1": []}
    assert [m.id for m in nc.Library(tmp_path / "library")] == ["energy@1"] and len(library) == 1
    assert nc.Library.nearest(tmp_path).folder == tmp_path / "library"  # type: ignore[union-attr]


def test_programs_use_modules(library: nc.Library, tmp_path: Path) -> None:
    model = tmp_path / "model.scm"
    model.write_text("(use energy@1)\n(* 2 (energy m v))\n")
    program = nc.compile(nc.linked(model))
    assert float(program(m=2.0, v=3.0)) == 18.0
    away = tmp_path.parent / f"{tmp_path.name}-away.scm"
    away.write_text("(use energy@1) (energy 2 3)")
    with pytest.raises(nc.CompileError, match="there is no library"):
        nc.linked(away)
    assert float(nc.compile(nc.linked(away, library=library.folder))()) == 9.0
    (library.folder / "energy/1/module.scm").write_text("(* 0.6 m v)\n")
    with pytest.raises(nc.CompileError, match="not what was frozen"):
        nc.linked(model)


def test_what_does_not_hold_is_refused(library: nc.Library) -> None:
    for text, code in [("(sinn x)", "unknown-function"), ("(log x)", "domain-may-be-left"), ("(* 0.5 a b b)", "equal-module")]:
        with pytest.raises(nc.LibraryError) as error:
            library.add("f", text)
        assert error.value.code == code
        assert pickle.loads(pickle.dumps(error.value)).code == code
    with pytest.raises(nc.LibraryError, match="gives 2"):
        library.add("f", "(* 2 x)", examples=["x = 1 => 3"])
    assert library.add("f", "(log x)", ranges={"x": (1.0, math.inf)}).inputs[0]["range"] == [1.0, None]
    library.add("g", "(use f@1) (f (+ 1 (square y)))")
    with pytest.raises(nc.LibraryError, match=r"used by `g@1`"):
        library.remove("f")
    library.remove("g")
    library.remove("f")
    assert [m.id for m in library] == ["energy@1"]


def test_modules_are_found(library: nc.Library) -> None:
    speed, mass = np.array([1.0, 2.0, 3.0]), np.array([4.0, 0.5, 2.0])
    found = library.search(samples={"speed": speed, "mass": mass, "E": 0.5 * mass * speed**2})
    assert [(f.module.id, f.columns, f.error) for f in found] == [("energy@1", {"m": "mass", "v": "speed"}, 0.0)]
    assert library.search(samples={"speed": speed, "mass": mass, "E": mass * speed}) == []
    assert len(library.search("kinetic")) == len(library.search(units="g, km/h -> kJ")) == len(library.search(signature="_, _")) == 1
    assert library.search("potential") == []


def test_what_a_module_fixes_is_fixed(library: nc.Library, tmp_path: Path) -> None:
    library.add("fall", "(param g 10 :unit m/s^2)\n(input t :unit s)\n(* 0.5 g (square t))")
    model = tmp_path / "model.scm"
    model.write_text("(use fall@1)\n(input t :unit s)\n(param k 1)\n(* k (fall t))\n")
    text = nc.linked(model)
    assert float(nc.compile(text)(t=2.0)) == 20.0
    assert [i.name for i in nc.compile(text).inputs] == ["t", "k"]
    for wrong in ({"fall-1.g": 0.0}, {"g": 0.0}):
        with pytest.raises(nc.CompileError, match="has no name"):
            nc.compile(text, params=wrong)


def test_a_record_that_was_edited_is_noticed(library: nc.Library) -> None:
    record = library.folder / "energy/1/module.json"
    record.write_text(record.read_text().replace('"kg"', '"g"'))
    with pytest.raises(nc.LibraryError, match="not what was frozen"):
        library["energy@1"]
    assert "not what was frozen" in library.test()["energy@1"][0]


def test_units_of_samples_count(library: nc.Library) -> None:
    mass, speed = np.array([2000.0, 2000.0, 4000.0]), np.array([3.6, 7.2, 10.8])
    samples = {"m [g]": mass, "v [km/h]": speed, "E [kJ]": np.array([0.001, 0.004, 0.018])}
    assert [f.module.id for f in library.search(samples=samples, target="E")] == ["energy@1"]
    assert library.search(samples={"m": mass, "v": speed, "E": samples["E [kJ]"]}) == []
