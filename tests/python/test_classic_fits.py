"""The classic fits of examples/fits with default options: constants and standard errors are those SciPy finds for the same laws written by
hand (bench/classics/expected.json; `python -m bench.classics --reference` computes them again)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.classics import page
from bench.classics.cases import CASES, Case
from bench.classics.compare import compare, fastest
from bench.classics.reference import expected

KNOWN = expected()


def test_every_case_has_its_answer() -> None:
    assert len(CASES) >= 25 and {c.name for c in CASES} == set(KNOWN)


def test_the_page_has_every_case() -> None:
    rows = [line.split("|")[1].strip() for line in page.PAGE.read_text().splitlines() if line.startswith("| ")]
    assert rows == ["fit", *(c.name for c in CASES)]


def test_both_are_timed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([0.0, 0.4, 1.0, 1.2, 2.0, 2.3, 3.0, 3.5, 10.0, 12.0])
    monkeypatch.setattr("bench.classics.compare.time.process_time", lambda: next(spent))
    runs: list[int] = []
    assert fastest(lambda: runs.append(1), 3)[1] == pytest.approx(0.2) and len(runs) == 4
    # What takes seconds is run once.
    assert fastest(lambda: runs.append(1), 3)[1] == 2.0 and len(runs) == 5


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_constants_and_error_bars(case: Case) -> None:
    row = compare(case, KNOWN[case.name], timed=False)
    assert row.wrong is None, row
    assert row.errors > case.errors, row
    assert abs(row.loglik) < 1e-5, "the log-likelihood, with all its constants"
