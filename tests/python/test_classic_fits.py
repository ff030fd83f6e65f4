"""The classic fits of examples/fits with default options: constants and standard errors are those SciPy finds for the same laws written by
hand (bench/classics/expected.json; `python -m bench.classics --reference` computes them again)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.classics.cases import CASES, Case
from bench.classics.compare import compare
from bench.classics.reference import expected

KNOWN = expected()


def test_every_case_has_its_answer() -> None:
    assert len(CASES) >= 25 and {c.name for c in CASES} == set(KNOWN)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_constants_and_error_bars(case: Case) -> None:
    row = compare(case, KNOWN[case.name], timed=False)
    assert row.wrong is None, row
    assert row.errors > case.errors, row
    assert abs(row.loglik) < 1e-5, "the log-likelihood, with all its constants"
