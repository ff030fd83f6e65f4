"""Files written whole. In: a folder and texts by name; out: the files, each complete before it takes its name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes texts and bytes into a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        for name, held in files.items():
            (Path(aside) / name).write_bytes(held.encode() if isinstance(held, str) else held)
        for name in files:
            os.replace(Path(aside) / name, folder / name)
