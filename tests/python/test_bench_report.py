"""The page of benchmarks: the module and the hybrid models are shown, judged and explained from the files of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCH))
    yield
    for name in ("floors", "tables", "report"):
        sys.modules.pop(name, None)


def record(program: str, gradient: bool, lanes: int, **times: float) -> dict[str, Any]:
    contenders = {name: {"best": t * 1e-6, "median": t * 1e-6, "rounds": 9} for name, t in times.items()}
    return {"program": program, "dtype": "float32", "gradient": gradient, "lanes": lanes, "threads": 1, "contenders": contenders}


def report_of(suite: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    import floors

    section = {"versions": {}, "missing": {}, "labels": {"module": "our nn.Module", "eager": "torch eager"}, "records": records}
    machine = {"commit": "0123abc", "load": "0.1", "command": "run.py"}
    found = {"machine": machine, "quick": False, suite: section, "floors": [v.record() for v in floors.judge(records, suite)]}
    return json.loads(json.dumps(found))  # As it comes back from the file.


MODULE = [
    record("quick", False, 1, module=3.0, eager=6.0, empty_function=2.0),
    record("slow", False, 1, module=5.0, eager=6.0, empty_function=2.0),
    record("quick", True, 10**4, module=60.0, eager=120.0, empty_function=30.0),
    record("slow", True, 10**4, module=72.0, eager=120.0, empty_function=65.0),
]
HYBRID = [
    record("pattern 1", True, 6, module=90.0, eager=120.0),
    record("pattern 1", True, 10**4, module=121.2, eager=120.0),
]


def test_a_module_is_held_to_a_share_of_the_time_of_eager() -> None:
    import floors

    met = {(v.program, v.gradient): v.met for v in floors.judge(MODULE, "module")}
    assert met == {("quick", False): True, ("slow", False): False, ("quick", True): True, ("slow", True): False}


def test_a_table_says_what_is_allowed_and_what_is_over_an_empty_function() -> None:
    import tables

    value, both = tables.module(report_of("module", MODULE)["module"])
    assert "value, batch 1," in value[0] and "at most 0.60" in value[1][3]
    assert value[2] == [
        ["quick", "3.00", "6.00", "0.50", "met", "2.00", "1.00", "1.60"],
        ["slow", "5.00", "6.00", "0.83", "MISSED", "2.00", "3.00", "1.60"],
    ]
    assert both[2][1] == ["slow", "72.0", "120", "0.60", "MISSED", "65.0", "7.00", "1.00"]


def test_hybrid_models_are_judged_at_every_size() -> None:
    import floors
    import tables

    verdicts = [v.record() for v in floors.judge(HYBRID, "hybrid")]
    assert [(v["lanes"], v["met"]) for v in verdicts] == [(6, True), (10**4, False)]
    _, _, (row,) = tables.floors(verdicts)
    assert row[3] == "MISSED, 1 of 2 met" and row[4] == "pattern 1 at 10^4 0.99"
    assert [r[-1] for r in tables.hybrid(report_of("hybrid", HYBRID)["hybrid"])[0][2]] == ["met", "MISSED"]


def test_a_contender_that_is_wrong_is_no_time() -> None:
    import tables

    wrong = record("pattern 2", True, 6) | {"contenders": {"module": {"wrong": "number 0"}}}
    assert tables.hybrid(report_of("hybrid", [wrong])["hybrid"])[0][2] == [["pattern 2", "6", "WRONG", "-", "-", "-"]]


def test_the_page_has_what_was_measured() -> None:
    import report

    bench = report_of("batches", [record("quick", False, 10**4, ours_rust=1.0, eager=9.0)])
    bench["batches"]["labels"] = {"ours_rust": "ours (Rust)", "eager": "torch eager"}
    alone = report.page(bench, {})
    assert "## The PyTorch module" not in alone and "## Hybrid models" not in alone
    whole = report.page(bench, {"module": report_of("module", MODULE), "hybrid": report_of("hybrid", HYBRID)})
    assert "2 of 4 promises are met." in whole and "1 of 2 promises are met." in whole
    assert "| slow | 72.0 | 120 | 0.60 | MISSED | 65.0 | 7.00 | 1.00 |" in whole
    assert "| pattern 1 | 10^4 | 121 | 120 | 1.010 | MISSED |" in whole
