"""Links to folders and to files that are no pages. In: the text of a page; out: the same, where such a link shows its name as code.

On a forge they lead to the sources, which are no part of the site; everything else that leads nowhere stays an error.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:]+)\)")
PAGES = (".md", ".ipynb")


def rewrite(app: Any, docname: str, content: list[str]) -> None:
    """Sphinx's hook: changes the text in place."""
    folder = pathlib.Path(app.srcdir, docname).parent

    def source(link: re.Match[str]) -> str:
        text, target = link.groups()
        there = (folder / target).resolve()
        if target.endswith(PAGES) or not there.exists():
            return link[0]
        name = str(there.relative_to(pathlib.Path(app.srcdir).resolve()))
        return f"`{name}`" if text.strip("`") in (name, there.name) else f"{text} (`{name}`)"

    content[0] = LINK.sub(source, content[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True}
