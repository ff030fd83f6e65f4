"""What a row costs one core on its way through Parquet and a program: the figures docs/scale.md plans with. In: how many rows; out: lines.

    python bench/rates.py [--rows 4000000]

Processor time of one thread, the least of three rounds, so that what else the machine does matters little.
"""

from __future__ import annotations

import argparse
import pathlib
import pickle
import tempfile
import time
from collections.abc import Callable
from typing import Any

import neural_compiler as nc
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from neural_compiler import travel


def cost(work: Callable[[], Any], of: int) -> float:
    """Nanoseconds of processor time for each of so many."""
    rounds = []
    for _ in range(3):
        begin = time.process_time()
        work()
        rounds.append(time.process_time() - begin)
    return min(rounds) / of * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description="what a row costs one core")
    parser.add_argument("--rows", type=int, default=4_000_000)
    rows = parser.parse_args().rows
    nc.set_num_threads(1)
    pa.set_cpu_count(1)
    x, y = np.random.default_rng(0).normal(size=(2, rows))
    table = pa.table({"x": x, "y": y})
    swing = nc.compile("(* x (sin (* x y)))")
    result = swing.map_arrow(table, keep=False)
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "rows.parquet"
        for name, options in (
            ("snappy", {"compression": "snappy"}),
            ("zstd, no dictionary", {"compression": "zstd", "use_dictionary": False}),
            ("no compression", {"compression": "none", "use_dictionary": False}),
        ):
            written = cost(lambda: pq.write_table(result, file, **options), rows)
            pq.write_table(table, file, **options)
            read = cost(lambda: pq.read_table(file, use_threads=False), rows)
            size = file.stat().st_size / rows
            print(f"Parquet, {name}: {size:.1f} bytes a row of x and y, reading it {read:.1f} ns, writing the result {written:.1f} ns")
    print(f"the program: {cost(lambda: swing.map_arrow(table), rows):.1f} ns a row")
    print(f"with its derivatives: {cost(lambda: swing.map_arrow(table, grad=True), rows):.1f} ns a row")
    small = table.slice(0, 1_000_000).to_batches(max_chunksize=1000)
    print(f"a batch of 1,000 rows: {cost(lambda: [swing.map_arrow(b) for b in small], len(small)) / 1000:.0f} µs")
    sent = pickle.dumps(swing)

    def arrive() -> None:
        for _ in range(100):
            travel._arrived.clear()
            pickle.loads(sent)

    print(f"the program arrives as {len(sent)} bytes and is compiled in {cost(arrive, 100) / 1000:.0f} µs")


if __name__ == "__main__":
    main()
