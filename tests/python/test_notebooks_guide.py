"""The guide's examples do what the guide says."""

from __future__ import annotations

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def test_every_example_of_the_guide() -> None:
    # Fences end examples in a page, not in doctest's eyes.
    text = GUIDE.read_text().replace("\n```\n", "\n\n")
    example = doctest.DocTestParser().get_doctest(text, {}, "guide", str(GUIDE), 0)
    assert len(example.examples) > 25
    report: list[str] = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.DocTestRunner(optionflags=options).run(example, out=report.append)
    assert not failed, "".join(report)
