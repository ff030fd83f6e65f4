"""10^9 rows through `neuralc eval`, and 10^8 through `neuralc fit`, on one machine. In: the path of neuralc; out: lines with times, rates
and peak memory, and JSON with `--json`.

    python bench/billion.py target/release/neuralc --rows 1000000000 --fit-rows 100000000 --place /tmp

Writes a folder of Parquet files (x and y, float32, 8 bytes a row), which it deletes in the end together with the results (16 bytes a row).
`eval` is killed midway once and goes on. Beside it, in the same run, pyarrow decodes the same columns, and decodes and writes what `eval`
writes. The fit is that of `a sin(b x) + c` to the first files. Free disk space is looked at first.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

PER_FILE = 10_000_000
PROGRAM = "(* x (sin (* x y)))"
MODEL = "(param a 1) (param b 1 :min 0.1 :max 3) (param c 0) (+ (* a (sin (* b x))) c)"
BYTES = 24


def write(folder: pathlib.Path, rows: int) -> None:
    """Files of x, uniform in [-3, 3], and y = 2 sin(0.7 x) + 0.5 with errors of 0.1."""
    folder.mkdir()
    for k in range(-(-rows // PER_FILE)):
        draw = np.random.default_rng(k)
        count = min(PER_FILE, rows - k * PER_FILE)
        x = draw.random(count, dtype=np.float32) * np.float32(6) - np.float32(3)
        y = (2 * np.sin(0.7 * x) + 0.5 + 0.1 * draw.standard_normal(count, dtype=np.float32)).astype(np.float32)
        pq.write_table(pa.table({"x": x, "y": y}), folder / f"{k:04}.parquet", use_dictionary=False, row_group_size=1 << 20)


def peak(command: list[str], kill_after: Callable[[], bool] | None = None) -> tuple[float, float]:
    """Seconds a process took and GiB it held at most; `kill_after`: when to kill it."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while kill_after is not None and child.poll() is None:
        time.sleep(0.2)
        if kill_after():
            child.send_signal(signal.SIGKILL)
            break
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0 and kill_after is None:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30


def decode(folder: pathlib.Path) -> int:
    return sum(batch.num_rows for batch in ds.dataset(folder).to_batches(columns=["x", "y"]))


def copy(folder: pathlib.Path, out: pathlib.Path) -> None:
    """Decodes every file and writes its columns and one more of float64, a batch at a time."""
    out.mkdir()
    for file in sorted(folder.iterdir()):
        source = pq.ParquetFile(file)
        writer = None
        for batch in source.iter_batches(65_536):
            table = pa.Table.from_batches([batch]).append_column("value", batch.column("x").cast(pa.float64()))
            writer = writer or pq.ParquetWriter(out / file.name, table.schema, use_dictionary=False)
            writer.write_table(table)
        if writer is not None:
            writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="10^9 rows through neuralc")
    parser.add_argument("neuralc", help="the path of neuralc")
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--fit-rows", type=int, default=100_000_000)
    parser.add_argument("--copied", type=int, default=5, help="files that pyarrow decodes and writes, for comparison")
    parser.add_argument("--place", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    free = shutil.disk_usage(options.place).free
    if free < 1.3 * BYTES * options.rows:
        raise SystemExit(f"{options.rows} rows need {1.3 * BYTES * options.rows / 2**30:.0f} GiB, there are {free / 2**30:.0f}")
    found: dict[str, Any] = {"rows": options.rows}

    def say(what: str, seconds: float, rows: int, memory: float | None = None) -> None:
        found[what] = {"seconds": seconds, "rows": rows, "rows_per_second": rows / seconds, "peak_gib": memory}
        held = "" if memory is None else f"  peak memory {memory * 1024:.0f} MiB"
        print(f"{what:40} {rows:>13} rows {seconds:8.1f} s {rows / seconds / 1e6:7.2f} million rows/s{held}", flush=True)

    with tempfile.TemporaryDirectory(dir=options.place) as place:
        rows, out = pathlib.Path(place) / "rows", pathlib.Path(place) / "values"
        begin = time.perf_counter()
        write(rows, options.rows)
        size = sum(f.stat().st_size for f in rows.iterdir())
        print(f"wrote {size / 1e9:.1f} GB in {time.perf_counter() - begin:.0f} s", flush=True)
        fit_files = options.fit_rows // PER_FILE
        if fit_files > 0:
            first = pathlib.Path(place) / "first"
            first.mkdir()
            for file in sorted(rows.iterdir())[:fit_files]:
                os.link(file, first / file.name)
            begin = time.perf_counter()
            decode(first)
            say("pyarrow decodes the rows of the fit", time.perf_counter() - begin, fit_files * PER_FILE)
            fit = [options.neuralc, "fit", "-e", MODEL, "--data", str(first), "--target", "y"]
            begin = time.perf_counter()
            report = json.loads(subprocess.run([*fit, "--json"], check=True, capture_output=True).stdout)
            found["fit_report"] = {k: report[k] for k in ("params", "streamed", "loglik", "r2", "message")}
            print(json.dumps(found["fit_report"]))
            seconds, memory = peak(fit)
            say(f"neuralc fit ({report['streamed']['passes']} passes)", seconds, fit_files * PER_FILE, memory)
        begin = time.perf_counter()
        decode(rows)
        say("pyarrow decodes", time.perf_counter() - begin, options.rows)
        some, copied = pathlib.Path(place) / "some", pathlib.Path(place) / "copied"
        some.mkdir()
        for file in sorted(rows.iterdir())[: options.copied]:
            os.link(file, some / file.name)
        count = sum(pq.read_metadata(f).num_rows for f in some.iterdir())
        begin = time.perf_counter()
        copy(some, copied)
        say("pyarrow decodes and writes", time.perf_counter() - begin, count)
        shutil.rmtree(copied)
        command = [options.neuralc, "eval", "-e", PROGRAM, "--data", str(rows), "--out", str(out)]
        half = len(list(rows.iterdir())) // 2
        first_time, first_memory = peak(command, lambda: out.is_dir() and len(list(out.glob("*.parquet"))) >= half)
        done = len(list(out.glob("*.parquet")))
        print(f"killed after {first_time:.1f} s with {done} of {len(list(rows.iterdir()))} tables done", flush=True)
        second_time, second_memory = peak(command)
        say("neuralc eval, killed midway and resumed", first_time + second_time, options.rows, max(first_memory, second_memory))
        begin = time.perf_counter()
        written = ds.dataset(out).count_rows()
        assert written == options.rows, written
        again, _ = peak(command)
        print(f"{written} rows of results; run once more, the command takes {again:.1f} s", flush=True)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
