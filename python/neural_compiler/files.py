"""Files written whole. In: a folder and texts by name; out: the files, each complete before it takes its name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Writes texts into a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        for name, text in files.items():
            (Path(aside) / name).write_text(text, encoding="utf-8")
        for name in files:
            os.replace(Path(aside) / name, folder / name)
