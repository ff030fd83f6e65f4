"""The package's types, as users' own checkers see them: strict, and the stubs of the extension true to it."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [["mypy"], ["mypy.stubtest", "neural_compiler._native", "--mypy-config-file", "pyproject.toml"]],
    ids=["strict", "stubs"],
)
def test_types(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_it_is_typed() -> None:
    import neural_compiler

    assert (pathlib.Path(neural_compiler.__file__).parent / "py.typed").exists()
