"""Programs inside the real engines, as docs/engines.md shows it: `make test-engines` installs them and runs this."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Any

import dask
import distributed
import neural_compiler as nc
import numpy as np
import page
import pyarrow as pa
import pytest
import ray


@pytest.fixture
def rows(tmp_path: pathlib.Path) -> pathlib.Path:
    return page.write_rows(tmp_path)


def test_duckdb(rows: pathlib.Path) -> None:
    found = page.run("DuckDB", rows)
    assert len(found) == 2
    for table in found:
        page.check(table)


def test_spark(rows: pathlib.Path) -> None:
    (found,) = page.run("Spark", rows)
    page.check(pa.Table.from_pandas(found.toPandas(), preserve_index=False))
    found.sparkSession.stop()


# Dask: threads, then processes one of which is killed.


def test_dask(rows: pathlib.Path) -> None:
    (found,) = page.run("Dask", rows)
    page.check(pa.Table.from_pandas(found.compute(), preserve_index=False))


def fatal(marker: pathlib.Path) -> None:
    """Ends the process it runs in, the first time it is called anywhere."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("workers", [1, 2])
def test_dask_workers(rows: pathlib.Path, workers: int) -> None:
    dask.config.set({"distributed.scheduler.allowed-failures": 5})
    with distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster):
        (found,) = page.run("Dask", rows)
        page.check(pa.Table.from_pandas(found.compute(), preserve_index=False))


def test_dask_loses_a_worker(rows: pathlib.Path, tmp_path: pathlib.Path) -> None:
    marker = tmp_path / "killed"

    def part(frame: Any) -> Any:
        if len(frame) > 2:
            fatal(marker)
        return page.SWING.map_arrow(frame, threads=1).to_pandas()

    dask.config.set({"distributed.scheduler.allowed-failures": 5})
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster):
        import dask.dataframe as dd

        found = dd.read_parquet(rows / "rows").map_partitions(part).compute()
    assert marker.exists()
    page.check(pa.Table.from_pandas(found, preserve_index=False))


# Ray: the same.


@pytest.fixture(params=[1, 2])
def cluster(request: pytest.FixtureRequest) -> Iterator[int]:
    folders = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH"), str(pathlib.Path(__file__).parent)) if p)
    ray.init(num_cpus=request.param, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": folders}})
    try:
        yield request.param
    finally:
        ray.shutdown()


def of_ray(dataset: Any) -> pa.Table:
    return pa.concat_tables([t for t in ray.get(dataset.to_arrow_refs()) if t.num_rows])


def test_ray(rows: pathlib.Path, cluster: int) -> None:
    (found,) = page.run("Ray Data", rows)
    page.check(of_ray(found))


def test_ray_loses_a_worker(rows: pathlib.Path, tmp_path: pathlib.Path, cluster: int) -> None:
    marker = tmp_path / "killed"

    def part(batch: pa.Table) -> pa.Table:
        fatal(marker)
        return page.SWING.map_arrow(batch, threads=1)

    found = ray.data.read_parquet(str(rows / "rows")).map_batches(part, batch_format="pyarrow")
    page.check(of_ray(found))
    assert marker.exists()


# Vectors, derivatives, mistakes.


def test_errors_come_back_with_row_and_column() -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame({"x": [1.0, np.nan], "y": [1.0, 2.0]})
    meta = nc.compile("(* x y)").map_arrow(frame[:0]).to_pandas()
    lazy = dd.from_pandas(frame, npartitions=1).map_partitions(lambda p: nc.compile("(* x y)").map_arrow(p).to_pandas(), meta=meta)
    with pytest.raises(nc.TableError, match="row 2, column `x`"):
        lazy.compute(scheduler="threads")


def test_derivatives_in_duckdb() -> None:
    import duckdb

    con = duckdb.connect()
    con.register("rows", pa.table({"x": page.X, "y": page.Y}))
    mapped = page.SWING.map_arrow(con.sql("select * from rows").to_arrow_reader(3_000), grad=["x"])
    beside = con.cursor()
    beside.register("mapped", mapped)
    found = beside.sql('select "d/dx" as slope from mapped').to_arrow_table()
    assert found["slope"].to_numpy().tobytes() == page.SWING.value_and_grad(page.X, page.Y, wrt=["x"])[1][0].tobytes()
