"""A program inside the engines people have, beside plain `neuralc eval` on the same rows: what the program costs there, and that nothing is
lost. In: how many rows, the path of neuralc; out: a table on standard output, and JSON with `--json`.

    PYTHONPATH=out/engines:tests/engines python bench/engines.py target/release/neuralc --rows 10000000

Every engine reads the same folder of Parquet files twice: once handing its batches on as they are, once with the program. The difference is
what the program costs inside it; of neuralc, the difference to the program `x`. Values are compared to the bit with those of a plain call,
for one worker and for two. `make test-engines` installs the engines.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import neural_compiler as nc
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

FILES = 8
PROGRAM = "(* x (sin (* x y)))"
SWING = nc.compile(PROGRAM)


def same(batch: Any, **_: Any) -> Any:
    """A batch with a column as wide as the result, without the program."""
    return batch.append_column("value", batch.column("x"))


def mapped(batch: Any, **options: Any) -> Any:
    return SWING.map_arrow(batch, **options)


def write(folder: pathlib.Path, rows: int) -> None:
    folder.mkdir()
    draw = np.random.default_rng(1)
    for k, part in enumerate(np.array_split(np.arange(rows), FILES)):
        x, y = draw.normal(size=(2, part.size))
        pq.write_table(pa.table({"row": part, "x": x, "y": y}), folder / f"part-{k}.parquet", compression="snappy")


def digest(table: pa.Table) -> str:
    """A hash of the values in the order of the rows."""
    from hashlib import sha256

    order = np.argsort(table["row"].to_numpy(), kind="stable")
    return sha256(table["value"].to_numpy()[order].tobytes()).hexdigest()[:16]


# An engine: what runs before the clock, and a function that sends the rows through `work` on so many workers and gives the table.


@contextmanager
def arrow(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    nc.set_num_threads(workers)
    yield lambda work: pa.Table.from_batches([work(b) for b in ds.dataset(folder).scanner(batch_size=1 << 20).to_batches()])


@contextmanager
def pandas(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    import pandas as pd

    nc.set_num_threads(workers)
    yield lambda work: work(pa.Table.from_pandas(pd.read_parquet(folder), preserve_index=False))


@contextmanager
def polars(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    import polars as pl

    nc.set_num_threads(workers)
    yield lambda work: work(pl.read_parquet(folder / "*.parquet").to_arrow())


@contextmanager
def duckdb(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    import duckdb

    con = duckdb.connect(config={"threads": workers})
    nc.set_num_threads(workers)
    query = f"select * from '{folder}/*.parquet'"
    yield lambda work: pa.Table.from_batches([work(b) for b in con.sql(query).to_arrow_reader(1_000_000)])


@contextmanager
def dask(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    import dask.dataframe as dd
    import distributed

    def part(work: Any) -> Callable[[Any], Any]:
        return lambda frame: work(pa.Table.from_pandas(frame, preserve_index=False), threads=1).to_pandas()

    with distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster):
        yield lambda work: pa.Table.from_pandas(
            dd.read_parquet(folder).map_partitions(part(SWING.map_arrow if work is mapped else same))[["row", "value"]].compute(),
            preserve_index=False,
        )


@contextmanager
def ray(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    import ray as engine

    def run(work: Any) -> pa.Table:
        how = SWING.map_arrow if work is mapped else lambda batch, threads: batch.append_column("value", batch.column("x"))
        found = engine.data.read_parquet(str(folder)).map_batches(how, batch_format="pyarrow", fn_kwargs={"threads": 1})
        return pa.concat_tables([t for t in engine.get(found.to_arrow_refs()) if t.num_rows])

    engine.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": dict(os.environ)})
    try:
        yield run
    finally:
        engine.shutdown()


@contextmanager
def spark(folder: pathlib.Path, workers: int) -> Iterator[Callable[[Any], Any]]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", False).config("spark.driver.memory", "4g")
    engine = session.config("spark.driver.maxResultSize", "4g").getOrCreate()
    schema = "row long, x double, y double, value double"

    def run(work: Any) -> pa.Table:
        how = SWING.map_arrow if work is mapped else lambda batch, threads: batch.append_column("value", batch.column("x"))
        found = engine.read.parquet(str(folder)).mapInArrow(lambda batches: (how(b, threads=1) for b in batches), schema)
        return found.select("row", "value").toArrow()

    try:
        yield run
    finally:
        engine.stop()


ENGINES = {e.__name__: e for e in (arrow, pandas, polars, duckdb, dask, ray, spark)}


def clocked(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The shortest of some rounds: whatever else the machine does only adds."""
    best, found = float("inf"), None
    for _ in range(rounds):
        begin = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - begin)
    return best, found


def neuralc(binary: str, folder: pathlib.Path, out: pathlib.Path, program: str, threads: int) -> None:
    files = sorted(folder.iterdir())
    for k, file in enumerate(files):
        command = [binary, "eval", "-e", program, "--data", str(file), "--out", str(out / f"{k}.parquet"), "--threads", str(threads)]
        subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="a program inside engines, beside neuralc eval")
    parser.add_argument("neuralc", help="the path of neuralc")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        folder, out = pathlib.Path(place) / "rows", pathlib.Path(place) / "out"
        write(folder, options.rows)
        out.mkdir()
        whole = ds.dataset(folder).to_table()
        expected = digest(whole.append_column("value", pa.array(SWING(whole["x"].to_numpy(), whole["y"].to_numpy()))))
        del whole
        for workers in map(int, options.workers.split(",")):
            scan, _ = clocked(lambda: neuralc(options.neuralc, folder, out, "(+ x 0)", workers), options.rounds)
            both, _ = clocked(lambda: neuralc(options.neuralc, folder, out, PROGRAM, workers), options.rounds)
            lines.append(line("neuralc eval", workers, options.rows, scan, both, digest(ds.dataset(out).to_table()) == expected))
            for name in options.engines.split(","):
                with ENGINES[name](folder, workers) as engine:
                    engine(same)
                    scan, _ = clocked(lambda: engine(same), options.rounds)
                    both, table = clocked(lambda: engine(mapped), options.rounds)
                    lines.append(line(name, workers, options.rows, scan, both, digest(table) == expected))
    print("\n".join(table(lines)))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(lines, indent=1))
    print(f"most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def table(lines: list[dict[str, Any]]) -> list[str]:
    """The figures as docs/engines.md has them: the time with the program beside that of plain `neuralc eval` plus what the scans differ."""
    plain = {found["workers"]: found for found in lines if found["engine"] == "neuralc eval"}
    rows = ["| engine | workers | scan | with the program | the program | beside `neuralc eval` | bits |", "|---|---|---|---|---|---|---|"]
    for found in lines:
        alone = plain[found["workers"]]
        # The engine's own scan taken away, and that of neuralc put in its place.
        ratio = (found["program"] + alone["scan"]) / alone["with_program"]
        figures = (f"{found[key]:.2f} s" for key in ("scan", "with_program", "program"))
        bits = "same" if found["same_bits"] else "OTHER"
        rows.append(f"| {found['engine']} | {found['workers']} | {' | '.join(figures)} | {ratio:.2f} | {bits} |")
    return rows


def line(name: str, workers: int, rows: int, scan: float, both: float, bits: bool) -> dict[str, Any]:
    found = {
        "engine": name,
        "workers": workers,
        "rows": rows,
        "scan": scan,
        "with_program": both,
        "program": both - scan,
        "same_bits": bits,
    }
    print(f"{name:14} {workers} workers  scan {scan:7.2f} s  with the program {both:7.2f} s  difference {both - scan:6.2f} s  "
          f"{'same bits' if bits else 'OTHER BITS'}", flush=True)  # fmt: skip
    return found


if __name__ == "__main__":
    main()
