"""Whether a wheel holds what it should: `python tools/check_wheel.py WHEEL` (`make wheel` calls it).

In: a wheel; out: its contents with their sizes, and an error for anything missing, too much, too large, or not as its tag says: a file of
the package that is not there, a binary that needs a newer glibc than the tag promises, more than so many megabytes.
"""

from __future__ import annotations

import email
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# One extension for every Python from 3.10 on, for any Linux with the glibc of the tag or a newer one.
NAME = re.compile(r"neural_compiler-(?P<version>[^-]+)-cp310-abi3-manylinux_2_(?P<glibc>\d+)_x86_64\.whl")
# Missed by far, and said at the end of `make wheel`, which leaves the wheel where it is: of the text of `neuralc` Arrow and Parquet are
# 13 MB, mathematical functions for three levels of SIMD 6 MB, the fit 5 MB, the core 5 MB; library and command are linked twice.
MOST_BYTES = 15_000_000
MOST_BINARY_BYTES = 15_000_000


def package_files() -> set[str]:
    """The files of the Python package, as the repository has them."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "python/neural_compiler"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {line.removeprefix("python/") for line in listed.stdout.splitlines()}


def faults(path: pathlib.Path) -> list[str]:
    """What is wrong with a wheel, whatever its size."""
    name = NAME.fullmatch(path.name)
    if name is None:
        return [f"the name says another tag than cp310-abi3-manylinux: {path.name}"]
    version, glibc = name["version"], int(name["glibc"])
    extension, command = "neural_compiler/_native.abi3.so", f"neural_compiler-{version}.data/scripts/neuralc"
    about = f"neural_compiler-{version}.dist-info"
    should = package_files() | {extension, command} | {f"{about}/{n}" for n in ("METADATA", "WHEEL", "RECORD")}
    should |= {f"{about}/licenses/{n}" for n in ("LICENSE-MIT", "LICENSE-APACHE")}
    found = []
    with zipfile.ZipFile(path) as wheel:
        names = {i.filename for i in wheel.infolist() if not i.is_dir()}
        # The bill of materials is maturin's.
        extra = {n for n in names - should if not n.startswith(f"{about}/sboms/")}
        found += [f"missing: {n}" for n in sorted(should - names)] + [f"too much: {n}" for n in sorted(extra)]
        for binary in {extension, command} & names:
            newest = max((int(v) for v in re.findall(rb"GLIBC_2\.(\d+)", wheel.read(binary))), default=0)
            if newest > glibc:
                found.append(f"{binary} needs glibc 2.{newest}, the tag says 2.{glibc}")
        if command in names and not wheel.getinfo(command).external_attr >> 16 & 0o111:
            found.append(f"{command} is not executable")
        needs = email.message_from_bytes(wheel.read(f"{about}/METADATA")).get_all("Requires-Dist") or []
        if [n for n in needs if "extra ==" not in n] != ["numpy>=1.24"]:
            found.append(f"it asks for more than NumPy: {needs}")
    return found


def main() -> None:
    path = pathlib.Path(sys.argv[1])
    found = faults(path)
    with zipfile.ZipFile(path) as wheel:
        for member in sorted(wheel.infolist(), key=lambda m: -m.file_size):
            print(f"{member.file_size:11,}  {member.filename}")
            if member.file_size > MOST_BINARY_BYTES:
                found.append(f"{member.filename} has {member.file_size:,} bytes, more than {MOST_BINARY_BYTES:,}")
    size = path.stat().st_size
    print(f"{size:11,}  {path.name}")
    if size > MOST_BYTES:
        found.append(f"the wheel has {size:,} bytes, more than {MOST_BYTES:,}")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
