"""Docstrings and signatures for Sphinx. Docstrings are Markdown, as `help()` shows them: code in backticks, lists, doctests.

In: the lines of a docstring; out: the same as reStructuredText, where a single backtick means something else and `*` and `|` are markup.
"""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"`([^`]+)`")
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
MARKUP = re.compile(r"([*|\\])|(?<=\w)(_)(?!\w)")


def converted(line: str) -> str:
    """A line outside of doctests: code as a literal, characters of markup as themselves."""
    parts: list[str] = []
    end = 0
    for code in CODE.finditer(line):
        parts += [MARKUP.sub(r"\\\1\2", line[end : code.start()]), f"``{code[1]}``"]
        # A literal ends before a space or punctuation; before a letter it needs an empty end.
        if line[code.end() : code.end() + 1].isalnum():
            parts.append("\\ ")
        end = code.end()
    return "".join([*parts, MARKUP.sub(r"\\\1\2", line[end:])])


def rewrite(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: changes the lines in place."""
    out: list[str] = []
    doctest = code = False
    for line in lines:
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        if line.startswith("    ") and (not out or not out[-1].strip()) and not doctest:
            # Indented text after a blank line is code in Markdown.
            out += ["::", ""]
            code = True
        code = code and (line.startswith("    ") or not line.strip())
        out.append(line if doctest or code else converted(line))
    lines[:] = out


def signature(app: Any, what: str, name: str, obj: Any, options: Any, given: str | None, returned: str | None) -> tuple[Any, Any] | None:
    """Sphinx's hook: classes are made by functions, so how they are called inside is not shown; the names of types stand as they are."""
    if what in ("class", "exception"):
        return "", None
    plain = [None if text is None else ALIAS.sub(r"\1", text) for text in (given, returned)]
    return plain[0], plain[1]


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
