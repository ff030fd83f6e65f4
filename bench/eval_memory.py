"""Whether the memory of `neuralc eval` grows with the file. In: the path of neuralc; out: a table of rows, peak memory and time.

Writes CSV files of 10^5, 10^6 and 5*10^6 rows into a temporary folder, evaluates a program with its gradient over each, and
asks the system how much memory the process held at most.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = "(* a (sin (* x y)))"
ROWS = (10**5, 10**6, 5 * 10**6)


def table(path: Path, rows: int) -> None:
    """A file with two columns."""
    block = "".join(f"{0.001 * (i % 997)},{1 + 0.01 * (i % 89)}\n" for i in range(100_000))
    with path.open("w", encoding="utf-8") as file:
        file.write("x,y\n")
        for _ in range(rows // 100_000):
            file.write(block)


def peak(command: list[str]) -> tuple[int, float]:
    """Bytes a process held at most, and seconds it took."""
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), time.perf_counter() - start


def main() -> None:
    """Measures, prints, and writes JSON when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("neuralc", help="the program to measure")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    given = parser.parse_args()
    found = []
    print(f"{'rows':>10}  {'file':>9}  {'peak memory':>12}  {'time':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for rows in ROWS:
            data, out = Path(folder) / "in.csv", Path(folder) / "out.csv"
            table(data, rows)
            size = data.stat().st_size
            memory, seconds = peak([given.neuralc, "eval", "-e", PROGRAM, "--set", "a=2", "--data", str(data), "--out", str(out), "--grad"])
            print(f"{rows:>10}  {size / 1e6:>6.1f} MB  {memory / 1e6:>9.1f} MB  {seconds:>5.2f} s")
            found.append({"rows": rows, "file_bytes": size, "peak_bytes": memory, "seconds": seconds})
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


main()
