"""docs/architecture.md names files that are there, and its journeys visit none twice without saying why."""

from __future__ import annotations

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([\w./-]+\.(?:rs|py|pyi))`")
STEP = re.compile(r"^\d+\. `([^`]+)`(.*?)(?=^\d+\. |\n\n|\Z)", re.MULTILINE | re.DOTALL)


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [f"/{name}" for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def test_every_file_named_is_there() -> None:
    files = tracked()
    named = set(NAME.findall(TEXT))
    assert len(named) > 60
    assert [n for n in sorted(named) if not any(f.endswith(f"/{n}") for f in files)] == []


def test_journeys_name_one_file_a_step_and_none_twice() -> None:
    journeys = re.split(r"^### ", TEXT.split("## Three journeys", 1)[1].split("\n## ", 1)[0], flags=re.MULTILINE)[1:]
    assert len(journeys) == 3
    for journey in journeys:
        steps = STEP.findall(journey)
        assert len(steps) > 8
        seen: set[str] = set()
        for path, said in steps:
            assert (ROOT / path).is_file(), path
            assert path not in seen or "Again" in said, f"{path} is visited twice without a reason"
            seen.add(path)
