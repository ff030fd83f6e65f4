"""The notebooks of the guide run from top to bottom, and hold what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_each_is_known() -> None:
    assert [p.stem for p in NOTEBOOKS] == list(EXPECTED)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    # However busy the machine: the time a kernel takes to start is no matter of the test.
    nbclient.NotebookClient(notebook, timeout=None, startup_timeout=900, kernel_name="python3").execute()
    printed = "".join(text for text in map(text_of, outputs(notebook)) if text)
    for line in EXPECTED[path.stem]:
        assert line in printed, line


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_is_committed_with_its_pictures(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    pictures = [o for o in outputs(notebook) if "image/png" in o.get("data", {}) or "image/svg+xml" in o.get("data", {})]
    assert pictures and path.stat().st_size < 200_000
    assert not any(o["output_type"] == "error" for o in outputs(notebook))


EXPECTED = {
    "01-first-module": ["compiled: tensor([ 0.0000, -0.1625])", "where:    tensor([    nan, -0.1625])", "domain-may-be-left"],
    "02-hybrid-models": ["G = 6.6", "g/L = 9.", "largest error: 0.0"],
    "03-torch-compile-and-gpu": ["gt = p > 0.0", "log = torch.log(where)", "largest error of the derivative: "],
    "04-modules-inside-networks": [
        "the laws change at a speed of 2.0",
        "wide: law 0.00",
        "{'m': 'm', 'v': 'speed', 'h': 'height'}",
        "largest error of the program: 0.0",
        "(sin (* 2 x))\n -0.",
        "(abs x)\n  1.",
        "(/ 1 (+ 1 (* x x)))\n",
        "having seen none",
    ],
    "05-universal-differential-equation": [
        "followed to 1 %: True",
        "terms of the hares: ['x*y']  of the foxes: ['x*y']",
        "b within 2 % of 0.9: True  c within 2 % of 0.8: True",
    ],
}


def outputs(notebook: Any) -> list[Any]:
    return [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]


def text_of(output: Any) -> str:
    return str(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
