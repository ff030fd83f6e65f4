"""What no formatter looks at: `python tools/check_text.py` (part of `make lint`).

In: every text file that Git knows; out: lines of more than 140 columns, links in Markdown that lead to no file or to no heading, and files
of a test suite that its `main.rs` does not name, which Cargo would leave out without a word.
Generated files may be as wide as they are.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = 140
DATA = {".csv", ".dat", ".ipynb", ".json", ".jsonl", ".lock", ".parquet", ".png", ".snap", ".svg", ".tsv"}
# Each says which command writes it.
GENERATED = {
    "bench/requirements.txt",
    "docs/accuracy.md",
    "docs/benchmarks.md",
    "docs/discovery.md",
    "examples/discover/damped-pendulum/report.html",
    "examples/discover/damped-pendulum/report.md",
    "examples/discover/lynx-hare/report.html",
    "examples/discover/lynx-hare/report.md",
    "docs/fits.md",
    "docs/linear-algebra.md",
    "docs/results.md",
    "docs/torch-features.md",
    "python/requirements-test.txt",
}
# The rows of the table of operations, written by the tests of the reference.
GENERATED_TABLES = {"spec/operations.md"}

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)
CODE = re.compile(r"`[^`]*`")


def anchors(text: str) -> set[str]:
    """The names that headings have, as forges make them."""
    found: dict[str, int] = {}
    out = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")
        again = found.get(slug, 0)
        found[slug] = again + 1
        out.add(f"{slug}-{again}" if again else slug)
    return out


def wide_lines(name: str, text: str) -> Iterator[str]:
    if name in GENERATED:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not (name in GENERATED_TABLES and line.startswith("|")):
            yield f"{name}:{number}: {len(line)} columns, at most {COLUMNS}"


def dead_links(path: pathlib.Path, text: str) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists():
            yield f"{path.relative_to(ROOT)}: no file {target}"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: no heading {target}"


def left_out(path: pathlib.Path) -> Iterator[str]:
    of_suite = path.parts[-3:-1] == ("tests", "suite") and path.suffix == ".rs" and path.stem != "main"
    if of_suite and f"mod {path.stem};" not in (path.parent / "main.rs").read_text(encoding="utf-8"):
        yield f"{path.relative_to(ROOT)}: no module of main.rs"


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[str] = []
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in DATA or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        found += wide_lines(name, text)
        found += left_out(path)
        if path.suffix == ".md":
            found += dead_links(path, text)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
