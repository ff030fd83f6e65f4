"""What docs/engines.md shows: the block of a section is run in a folder with `rows`, and its `found` is held to a plain call."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

import neural_compiler as nc
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "engines.md"
SWING = nc.compile("(* x (sin (* x y)))")
ROWS = 10_000
X, Y = np.random.default_rng(7).normal(size=(2, ROWS))


def write_rows(folder: pathlib.Path, files: int = 4) -> pathlib.Path:
    """The folder `rows` with so many Parquet files."""
    (folder / "rows").mkdir()
    for k, part in enumerate(np.array_split(np.arange(ROWS), files)):
        pq.write_table(pa.table({"row": part, "x": X[part], "y": Y[part]}), folder / "rows" / f"part-{k}.parquet")
    return folder


def blocks(section: str) -> list[str]:
    """The blocks of Python below a heading; those above the first heading are under ''."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(["", *parts[1::2]], [parts[0], *parts[2::2]]))
    found = re.findall(r"```python\n(.*?)```", sections[section], re.DOTALL)
    assert found, f"the page has no block for {section!r}"
    return found


def run(section: str, folder: pathlib.Path, names: dict[str, Any] | None = None) -> list[Any]:
    """What each block of a section calls `found`."""
    before = pathlib.Path.cwd()
    os.chdir(folder)
    try:
        results = []
        for code in blocks(section):
            given: dict[str, Any] = dict(names or {})
            exec(compile(blocks("")[0] + code, f"engines.md, {section}", "exec"), given)
            results.append(given["found"])
        return results
    finally:
        os.chdir(before)


def check(table: pa.Table) -> None:
    """Every row is there once, and has the bits of a plain call."""
    table = table.sort_by("row")
    assert np.array_equal(table["row"].to_numpy(), np.arange(ROWS))
    assert table["value"].to_numpy().tobytes() == SWING(X, Y).tobytes()
