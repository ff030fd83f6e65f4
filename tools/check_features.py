"""Every choice of packages builds a dependency with the same features, or it is built once for each: minutes of a first `make test`.

    python3 tools/check_features.py        # part of `make lint`

In: Cargo.lock and the manifests; out: nothing, or a line for each dependency that a package asks for with other features than the workspace
has, and exit code 1. The remedy is a line in crates/neural-compiler-features/Cargo.toml.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def features(edges: str, *chosen: str) -> dict[str, set[str]]:
    """Name and version of every dependency of the chosen packages, with the sets of features it is built with."""
    command = [os.environ.get("CARGO", "cargo"), "tree", "--locked", *chosen, "-e", edges, "--prefix", "none", "--format", "{p}|{f}"]
    found: dict[str, set[str]] = {}
    for line in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if "|" in line:
            package, asked = line.removesuffix(" (*)").split("|", 1)
            found.setdefault(package.split(" (")[0], set()).add(asked)
    return found


def main() -> int:
    # Tests of the whole are built first, and what they need counts for all.
    whole = features("normal,build,dev", "--workspace")
    packages = sorted({m.parent.name for m in ROOT.glob("crates/*/Cargo.toml")} - {"neural-compiler-features"})  # never built by itself
    wrong = [
        f"{package} builds {name} with {sorted(asked)}, the workspace with {sorted(whole[name])}"
        for package in packages
        for name, asked in features("normal,build", "-p", package).items()
        if not asked <= whole[name]
    ]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
