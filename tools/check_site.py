"""Whether every link of a built site leads somewhere: `python tools/check_site.py FOLDER` (part of `make docs`).

In: a folder of HTML, that of rustdoc inside; out: links to files that are not there, to names a page does not have, and to other hosts for
what a page needs to be shown.
"""

from __future__ import annotations

import pathlib
import sys
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and names of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.needs: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {name for key in ("id", "name") if (name := given.get(key))}
        if tag == "a" and (link := given.get("href")):
            self.links.append(link)
        if (needed := given.get("src")) or (tag == "link" and given.get("rel") == "stylesheet" and (needed := given.get("href"))):
            self.needs.append(needed)


@cache
def page(path: pathlib.Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def faults(path: pathlib.Path) -> list[str]:
    """What leads nowhere on a page."""
    found = [f"fetched from elsewhere: {n}" for n in page(path).needs if urlsplit(n).netloc]
    for link in page(path).links + page(path).needs:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link in ("#", "#top"):
            continue
        there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if there.is_dir():
            there /= "index.html"
        if not there.is_file():
            found.append(f"no file: {link}")
        elif parts.fragment and there.suffix == ".html" and unquote(parts.fragment) not in page(there).names:
            found.append(f"no such place: {link}")
    return found


def main() -> None:
    folder = pathlib.Path(sys.argv[1]).resolve()
    # rustdoc checks the links of its own pages and makes names by scripts.
    pages = [p for p in sorted(folder.rglob("*.html")) if "rust" not in p.relative_to(folder).parts]
    found = [f"{p.relative_to(folder)}: {fault}" for p in pages for fault in faults(p)]
    print(f"{len(pages)} pages, {sum(len(page(p).links) for p in pages)} links")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
