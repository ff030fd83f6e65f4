"""The sections of docs/engines.md that need no engine beside this environment; `make test-engines` runs the others (tests/engines)."""

from __future__ import annotations

import importlib.util
import pathlib

import pyarrow as pa
import pyarrow.dataset as ds

spec = importlib.util.spec_from_file_location("engines_page", pathlib.Path(__file__).parents[1] / "engines" / "page.py")
assert spec and spec.loader
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


def test_pandas(tmp_path: pathlib.Path) -> None:
    (found,) = page.run("pandas", page.write_rows(tmp_path))
    page.check(pa.Table.from_pandas(found))


def test_polars(tmp_path: pathlib.Path) -> None:
    (found,) = page.run("Polars", page.write_rows(tmp_path))
    page.check(found.to_arrow())


def test_arrow(tmp_path: pathlib.Path) -> None:
    page.run("Arrow", page.write_rows(tmp_path))
    values = ds.dataset(tmp_path / "values").to_table()
    assert values.column_names == ["x", "y", "value"] and values.num_rows == page.ROWS
    assert values["value"].to_numpy().tobytes() == page.SWING(values["x"].to_numpy(), values["y"].to_numpy()).tobytes()


def test_fits(tmp_path: pathlib.Path) -> None:
    (found,) = page.run("Fits spread out", tmp_path)
    assert list(found) == ["a", "b", "c"]
    assert all(abs(one.params["k"] - 0.7) < 5 * one.params["k"].stderr for one in found.values())
    # Three groups, the fit of all, twenty replicates.
    assert len(list((tmp_path / "finished").iterdir())) == 24
