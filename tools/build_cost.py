"""What a first build costs: processor time of a cold release build of `neuralc`, by crate, and the size of its binary.

    python3 tools/build_cost.py                             # as `make demo` builds it; `make build-cost`
    python3 tools/build_cost.py -- --features parquet       # as `cargo install` does
    python3 tools/build_cost.py -- --config 'profile.release.package.faer.opt-level=2'   # what a change would bring

In: the sources, whose dependencies have been fetched; out: a line per crate, dearest first, and the sums. Everything is built anew in a
folder of its own. Processor time hardly depends on the number of cores, but grows by a third or more when others use them too.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Called by Cargo in the place of rustc, some 200 times. In Bash: as many starts of Python would be seconds of the figure.
WRAPPER = """#!/usr/bin/env bash
name=- previous=
for word in "$@"; do [ "$previous" = --crate-name ] && name=$word; previous=$word; done
TIMEFORMAT="%U %S $name"
exec 7>&2
{ time "$@" 2>&7; } 2>>"$BUILD_COST_LOG"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crates", type=int, default=25, help="how many of the dearest crates to list (default: %(default)s)")
    parser.add_argument("cargo", nargs="*", help="more arguments of cargo build, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="build-cost-") as folder:
        wrapper, log, target = (pathlib.Path(folder, name) for name in ("wrapper", "log", "target"))
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)
        places = {"RUSTC_WRAPPER": str(wrapper), "BUILD_COST_LOG": str(log), "CARGO_TARGET_DIR": str(target)}
        begun = time.monotonic()
        build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "neuralc", "--no-default-features", *given.cargo]
        subprocess.run(build, cwd=ROOT, env=os.environ | places, check=True)
        took = time.monotonic() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = used.ru_utime + used.ru_stime
        crates: collections.Counter[str] = collections.Counter()
        for line in log.read_text().splitlines():
            user, system, name = line.split()
            crates[name] += float(user) + float(system)
        # C of dependencies is compiled by their build scripts, which Cargo starts itself.
        crates["(build scripts and Cargo)"] = total - crates.total()
        for name, seconds in crates.most_common(given.crates):
            print(f"{seconds:8.1f} s  {name}")
        print(f"{total:8.1f} s of processor time, {took:.0f} s by the clock, {len(crates) - 1} crates")
        print(f"{(target / 'release' / 'neuralc').stat().st_size / 1e6:8.1f} MB: neuralc")


if __name__ == "__main__":
    main()
