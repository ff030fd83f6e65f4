"""The package's types, as users' own checkers see them: the stubs of the extension are true to it. That the package passes mypy in strict
mode is found by `make lint`."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from neural_compiler import _native

ROOT = pathlib.Path(__file__).parents[2]


def test_stubs(tmp_path: pathlib.Path) -> None:
    # The extension outside of its package, which would have PyTorch read: a minute.
    extension = pathlib.Path(_native.__file__)
    for file in (extension, extension.parent / "_native.pyi"):
        shutil.copy(file, tmp_path)
    command = [sys.executable, "-m", "mypy.stubtest", "_native", "--mypy-config-file", str(ROOT / "pyproject.toml")]
    there = {**os.environ, "PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=there, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_it_is_typed() -> None:
    import neural_compiler

    assert (pathlib.Path(neural_compiler.__file__).parent / "py.typed").exists()
