"""What a run was made on. In: the command line; out: a description of machine, versions and commit for bench.json."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def said(*command: str) -> str:
    """What a command prints, or nothing where it is missing."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor() -> str:
    """Its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def levels() -> str:
    """The widest vector instructions."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    return next((level for flag, level in ((" avx512f", "AVX-512"), (" avx2", "AVX2")) if flag in flags), "")


def describe(command: list[str]) -> dict[str, str]:
    """One line each. Where results go is nobody's business: `--out` is left out of the command."""
    places = {i + k for i, word in enumerate(command) if word == "--out" for k in (0, 1)}
    words = [word for i, word in enumerate(command) if i > 0 and i not in places]
    changed = " with changes" if said("git", "status", "--porcelain", "--", "../crates", "../python") else ""
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores, {levels()}".rstrip(", "),
        "system": f"{platform.system()} {platform.release()}",
        "load": " ".join(f"{x:.1f}" for x in os.getloadavg()),
        "python": platform.python_version(),
        "rust": said("rustc", "--version"),
        "commit": f"{said('git', 'rev-parse', '--short', 'HEAD')}{changed}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": " ".join(["bench/run.py", *words]),
    }
