"""The examples of the guide and of the page about tables do what these say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "least"), [("guide.md", 26), ("tables.md", 5)])
def test_every_example(page: str, least: int) -> None:
    # Fences end examples in a page, not in doctest's eyes.
    text = (DOCS / page).read_text().replace("\n```\n", "\n\n")
    example = doctest.DocTestParser().get_doctest(text, {}, page, str(DOCS / page), 0)
    assert len(example.examples) >= least
    report: list[str] = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.DocTestRunner(optionflags=options).run(example, out=report.append)
    assert not failed, "".join(report)
