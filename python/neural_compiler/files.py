"""Files written whole, and programs read with what they use. In: a folder and texts by name, or the path of a program; out: the files, each
complete before it takes its name; or one text."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from . import _native


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes texts and bytes into a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        for name, held in files.items():
            (Path(aside) / name).write_bytes(held.encode() if isinstance(held, str) else held)
        for name in files:
            os.replace(Path(aside) / name, folder / name)


def linked(path: str | os.PathLike[str], library: str | os.PathLike[str] | None = None) -> str:
    """The text of a program with the definitions of the texts it uses, `(use "file.scm" (name))` and `(use name@2)`, in place: what
    `compile`, `fit` and all others take. Paths are as seen from the file they stand in; modules come from `library`, else from the nearest
    folder `library` or `neuralc.library` beside the program or above it."""

    def load(of: str, wanted: str) -> tuple[str, str]:
        found = os.path.normpath(Path(of).parent / wanted)
        return found, Path(found).read_text(encoding="utf-8")

    folder = None if library is None else os.fspath(library)
    return _native.link(os.fspath(path), Path(path).read_text(encoding="utf-8"), load, folder)
