"""How pip builds a wheel of this project: maturin makes it of extension and Python package, and the command `neuralc` is put beside them.

In: a source tree with Rust; out: a wheel with the package, its extension for every Python from 3.10 on (abi3), and the binary, which
installers put where they put commands, as they do for ruff and uv. maturin packs an extension or a binary, not both, so the binary is added
here, by `wheel`. Settings of pip: `-C profile=dev` chooses Cargo's profile (left out: release), `-C compatibility=manylinux_2_34` the tag
of a wheel to give away, which maturin then holds the extension to (left out: a tag for this machine alone).

A script in Python that calls the library would be smaller, and slower to start by Python's own start, its signal handlers and NumPy's
import; it would also end differently on Ctrl-C and on a closed pipe than the `neuralc` that the tests know.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import maturin

ROOT = pathlib.Path(__file__).resolve().parents[1]

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
build_editable = maturin.build_editable


class UnsupportedOperation(Exception):
    """What PEP 517 calls a backend that makes no source distribution."""


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    raise UnsupportedOperation("a clone is the source distribution")


def build_wheel(wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None) -> str:
    settings = config_settings or {}
    profile = settings.get("profile", "release")
    os.environ["MATURIN_PEP517_ARGS"] = f"--profile {profile} --compatibility {settings.get('compatibility', 'off')}"
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, maturin.build_wheel(folder, None, metadata_directory))
        subprocess.run([sys.executable, "-m", "wheel", "unpack", made, "--dest", f"{folder}/tree"], check=True, stdout=subprocess.DEVNULL)
        (tree,) = pathlib.Path(folder, "tree").iterdir()
        scripts = tree / f"{tree.name}.data" / "scripts"
        scripts.mkdir(parents=True)
        shutil.copy(command(profile), scripts / "neuralc")
        if profile != "release":
            # That profile strips by itself; debug information of others would be hundreds of megabytes.
            subprocess.run(["strip", scripts / "neuralc", *tree.glob("neural_compiler/*.so")], check=True)
        pathlib.Path(wheel_directory).mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", wheel_directory], check=True, stdout=subprocess.DEVNULL)
        return made.name


def command(profile: str) -> pathlib.Path:
    """The binary of `neuralc`, built."""
    build = f"cargo build --locked --profile {profile} --package neuralc --bin neuralc --message-format json-render-diagnostics".split()
    done = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (binary,) = [m["executable"] for m in messages if m.get("executable")]
    return pathlib.Path(binary)
