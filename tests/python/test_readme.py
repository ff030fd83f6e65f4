"""The Python of the README does what the README shows: each block of code runs after those before it, and prints the text below it."""

import contextlib
import io
import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def test_the_readme_prints_what_it_shows():
    names: dict[str, object] = {}
    shown = 0
    for code, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)
        assert printed.getvalue().strip() == text.strip()
        shown += bool(text)
    assert shown == 2, "blocks of the README are no longer found"
