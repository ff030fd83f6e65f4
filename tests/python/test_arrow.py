"""`Program.map_arrow`: Arrow tables in every layout, beside calls on NumPy arrays and beside a row at a time."""

from __future__ import annotations

import pickle
import sys
import threading
from typing import Any

import neural_compiler as nc
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from neural_compiler import travel

SWING = nc.compile("(* x (sin (* x y)))")
RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(2, 1000))


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def bits(column: Any) -> bytes:
    return np.asarray(column.to_numpy()).tobytes()


def one_by_one(program: nc.Program, rows: list[dict[str, Any]]) -> list[float]:
    return [float(program(row)) for row in rows]


def caught(program: nc.Program, data: Any, **options: Any) -> nc.TableError:
    with pytest.raises(nc.TableError) as found:
        program.map_arrow(data, **options)
    return found.value


# What goes in and what comes out.


def test_a_batch_gives_a_batch_a_table_a_table_a_reader_a_reader() -> None:
    data = table(x=X, y=Y, who=["a"] * 1000)
    batch = data.to_batches()[0]
    assert isinstance(SWING.map_arrow(batch), pa.RecordBatch)
    assert isinstance(SWING.map_arrow(data), pa.Table)
    reader = SWING.map_arrow(pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=77)))
    assert isinstance(reader, pa.RecordBatchReader)
    expected = SWING(X, Y).tobytes()
    for found in (SWING.map_arrow(batch), SWING.map_arrow(data), reader.read_all()):
        assert found.column_names == ["x", "y", "who", "value"] if isinstance(found, pa.Table) else True
        assert bits(found["value"]) == expected
        assert found["who"].to_pylist() == ["a"] * 1000


def test_a_reader_is_not_read_ahead() -> None:
    asked = []

    def source() -> Any:
        for k in range(3):
            asked.append(k)
            yield pa.record_batch({"x": [float(k)], "y": [1.0]})

    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    reader = SWING.map_arrow(pa.RecordBatchReader.from_batches(schema, source()))
    assert asked == []
    reader.read_next_batch()
    assert asked == [0]


class Capsules:
    """Something that knows Arrow's interface and nothing else."""

    def __init__(self, held: Any, stream: bool) -> None:
        name = "__arrow_c_stream__" if stream else "__arrow_c_array__"
        self.__class__ = type("Capsules", (), {name: lambda _, requested_schema=None: getattr(held, name)(requested_schema)})


@pytest.mark.parametrize("stream", [True, False])
def test_whatever_has_the_interface(stream: bool) -> None:
    data = table(x=X, y=Y)
    found = SWING.map_arrow(Capsules(data if stream else data.to_batches()[0], stream))
    assert isinstance(found, pa.Table if stream else pa.RecordBatch)
    assert bits(found["value"]) == SWING(X, Y).tobytes()


def test_frames() -> None:
    frame = pd.DataFrame({"x": X, "y": Y}, index=pd.Index(np.arange(1000) * 3, name="key"))
    found = SWING.map_arrow(frame).to_pandas()
    assert found.index.equals(frame.index)
    assert found["value"].to_numpy().tobytes() == SWING(X, Y).tobytes()
    polar = pl.from_arrow(SWING.map_arrow(pl.DataFrame({"x": X, "y": Y})))
    assert polar["value"].to_numpy().tobytes() == SWING(X, Y).tobytes()
    with pytest.raises(TypeError, match="not list"):
        SWING.map_arrow([1, 2])


def test_no_copies() -> None:
    """Columns are read where they lie: memory that changes under the program's eyes is what it computes with."""
    numbers = X.copy()
    batch = pa.record_batch([pa.Array.from_buffers(pa.float64(), 1000, [None, pa.py_buffer(numbers)])], names=["x"])
    numbers[:] = Y
    found = nc.compile("(* 2 x)").map_arrow(batch, keep=False)
    assert bits(found["value"]) == (2 * Y).tobytes()
    before = pa.total_allocated_bytes()
    held = nc.compile("(* 2 x)").map_arrow(pa.table({"x": np.zeros(100_000)}), keep=False)
    # Results lie in NumPy's memory, so Arrow's own pool has given out nothing but odds and ends.
    assert pa.total_allocated_bytes() - before < 10_000 and held.num_rows == 100_000


def test_the_lock_is_released() -> None:
    slow = nc.compile("(loop ((i 0) (s x)) (if (< i 200) (recur (+ i 1) (+ s (sin s))) s))")
    data = table(x=np.linspace(0, 1, 50_000))
    seen, end = [], threading.Event()

    def other() -> None:
        while not end.is_set():
            seen.append(1)
            end.wait(0.0005)

    interval = sys.getswitchinterval()
    # A thread that keeps the lock is not interrupted within this time.
    sys.setswitchinterval(600)
    try:
        watcher = threading.Thread(target=other)
        watcher.start()
        before = len(seen)
        slow.map_arrow(data, threads=1)
        during = len(seen) - before
    finally:
        end.set()
        sys.setswitchinterval(interval)
        watcher.join()
    assert during > 0


# Layouts.


@pytest.mark.parametrize("size", [1, 3, 64, 999, 1000, 2000])
def test_bits_do_not_depend_on_chunks(size: int) -> None:
    data = table(x=X, y=Y)
    chunked = pa.Table.from_batches(data.to_batches(max_chunksize=size))
    found = SWING.map_arrow(chunked, grad=True)
    whole = SWING.map_arrow(data, grad=True)
    for name in ("value", "d/dx", "d/dy"):
        assert bits(found[name]) == bits(whole[name])


def test_columns_chunked_differently() -> None:
    data = pa.table({"x": pa.chunked_array([X[:10], X[10:]]), "y": pa.chunked_array([Y[:700], Y[700:]])})
    assert bits(SWING.map_arrow(data)["value"]) == SWING(X, Y).tobytes()


def test_slices() -> None:
    data = table(x=X, y=Y).to_batches()[0]
    for start, length in ((0, 1), (5, 17), (993, 7), (500, 0)):
        found = SWING.map_arrow(data.slice(start, length))
        assert bits(found["value"]) == SWING(X[start : start + length], Y[start : start + length]).tobytes()
    holes = table(x=pa.array(X, mask=X > 1), y=Y).to_batches()[0].slice(123, 456)
    found = SWING.map_arrow(holes, nulls="null")["value"]
    assert found.to_pylist() == [None if x > 1 else v for x, v in zip(X[123:579], SWING(X, Y)[123:579].tolist())]


@pytest.mark.parametrize("rows", [pa.schema([("x", pa.float64()), ("y", pa.float32())]).empty_table()])
def test_nothing_in_nothing_out(rows: pa.Table) -> None:
    found = SWING.map_arrow(rows, grad=True)
    assert found.schema == pa.schema([*rows.schema, ("value", pa.float64()), ("d/dx", pa.float64()), ("d/dy", pa.float64())])
    assert found.num_rows == 0
    empty = pa.RecordBatch.from_pylist([], schema=rows.schema)
    assert SWING.map_arrow(empty).num_rows == 0


def test_the_schema_of_nothing_is_that_of_something() -> None:
    data = table(v=pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)), k=pa.array([1, 2], pa.int8()))
    program = nc.compile("(* k v)", inputs={"k": None, "v": 2})
    for options in ({}, {"keep": False}, {"name": "w"}, {"dtype": np.float64}):
        assert program.map_arrow(data.schema.empty_table(), **options).schema == program.map_arrow(data, **options).schema


# Types.


def test_float32_stays_float32() -> None:
    x, y = X.astype(np.float32), Y.astype(np.float32)
    found = SWING.map_arrow(table(x=x, y=y))["value"]
    assert found.type == pa.float32() and bits(found) == SWING(x, y).tobytes()
    mixed = SWING.map_arrow(table(x=x, y=Y))["value"]
    assert mixed.type == pa.float64() and bits(mixed) == SWING(x.astype(np.float64), Y).tobytes()
    asked = SWING.map_arrow(table(x=X, y=Y), dtype=np.float32)["value"]
    assert asked.type == pa.float32() and bits(asked) == SWING(x, y).tobytes()


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16"])
def test_other_numbers(kind: str) -> None:
    numbers = np.arange(100).astype(kind)
    found = SWING.map_arrow(table(x=numbers, y=Y[:100]))["value"]
    assert bits(found) == SWING(numbers.astype(np.float64), Y[:100]).tobytes()


def test_short_whole_numbers_follow_float32() -> None:
    short = table(x=np.arange(5, dtype=np.int16), y=np.ones(5, np.float32))
    long = table(x=np.arange(5, dtype=np.int32), y=np.ones(5, np.float32))
    assert SWING.map_arrow(short)["value"].type == pa.float32()
    assert SWING.map_arrow(long)["value"].type == pa.float64()


def test_whole_numbers_are_not_rounded() -> None:
    program = nc.compile("(- x 1)")
    fine = table(x=pa.array([2**53, 2**60, -(2**62)]))
    assert program.map_arrow(fine, keep=False)["value"].to_pylist() == [float(2**53 - 1), float(2**60), -float(2**62)]
    error = caught(program, pa.table({"x": pa.chunked_array([[1, 2], [3, 2**53 + 1]])}))
    assert (error.code, error.row, error.column) == ("inexact-number", 4, "x") and str(2**53 + 1) in str(error)
    # What lies under a null is no number.
    raw = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([7, 2**53 + 1]))])
    assert program.map_arrow(pa.table({"x": raw}), nulls="null", keep=False)["value"].to_pylist() == [6.0, None]


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (pa.array(["a"]), "string"),
        (pa.array(["1.5"]), "string"),
        (pa.array([1.5]).dictionary_encode(), "dictionary"),
        (pa.array([1], pa.decimal128(5, 2)), "decimal128"),
        (pa.array([1], pa.timestamp("us")), "timestamp"),
        (pa.array([1], pa.date32()), "date32"),
        (pa.array([1], pa.duration("s")), "duration"),
        (pa.array([True]), "bool"),
        (pa.array([{"a": 1.0}]), "struct"),
        (pa.array([b"1"]), "binary"),
    ],
)
def test_what_is_no_number_is_refused_by_name(column: pa.Array, named: str) -> None:
    error = caught(SWING, table(x=column, y=[1.0]))
    assert (error.code, error.column) == ("not-a-number", "x") and named in str(error)


# Missing values, missing columns, rows without a result.


def test_nulls() -> None:
    data = pa.table({"x": pa.chunked_array([[1.0, 2.0], [3.0, None]]), "y": pa.chunked_array([[1.0, 2.0], [None, 4.0]])})
    error = caught(SWING, data)
    assert (error.code, error.row, error.column) == ("empty-cell", 3, "y")
    found = SWING.map_arrow(data, nulls="null", grad=True)
    assert found["value"].to_pylist() == [*one_by_one(SWING, [{"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 2.0}]), None, None]
    assert [found["d/dx"][2].as_py(), found["d/dy"][3].as_py()] == [None, None]
    assert found["value"].null_count == 2


def test_nulls_in_columns_that_are_not_used_do_not_matter() -> None:
    data = table(x=[1.0, 2.0], y=[1.0, 2.0], z=[None, None])
    assert SWING.map_arrow(data)["value"].null_count == 0


def test_only_nulls() -> None:
    for column in (pa.nulls(3), pa.nulls(3, pa.float64()), pa.nulls(3, pa.int64())):
        data = pa.table({"x": column, "y": [1.0, 2.0, 3.0]})
        assert SWING.map_arrow(data, nulls="null", keep=False)["value"].to_pylist() == [None] * 3
        assert caught(SWING, data).row == 1


def test_what_lies_under_a_null_is_not_computed() -> None:
    """A loop that would not end for the number under the null."""
    count = nc.compile("(loop ((i n) (s 0)) (if (> i 0) (recur (- i 1) (+ s i)) s))")
    under = pa.Array.from_buffers(pa.float64(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([3.0, 1e300, 4.0]))])
    assert count.map_arrow(pa.table({"n": under}), nulls="null", keep=False)["value"].to_pylist() == [6.0, None, 10.0]


def test_nan_is_a_number() -> None:
    data = table(x=[np.nan, 1.0], y=[1.0, 1.0])
    found = SWING.map_arrow(data)["value"]
    assert found.null_count == 0 and np.isnan(found[0].as_py())


def test_missing_columns() -> None:
    error = caught(SWING, table(X=[1.0], y=[1.0]))
    assert (error.code, error.column) == ("missing-column", "x")
    assert "`x`, `y`" in str(caught(SWING, table(z=[1.0])))
    found = SWING.map_arrow(table(y=[1.0, 2.0]), missing="null", grad=True)
    assert found.to_pydict() == {"y": [1.0, 2.0], "value": [None] * 2, "d/dx": [None] * 2, "d/dy": [None] * 2}
    assert found.schema.field("value").type == pa.float64()


def test_rows_the_program_fails_in() -> None:
    pick = nc.compile("(ref v k)", inputs={"v": 3, "k": None})
    data = pa.table({"k": pa.chunked_array([[0.0, 1.0], [2.0, 3.0], [0.0]])})
    values = {"v": [5.0, 6.0, 7.0]}
    with pytest.raises(nc.EvaluationError, match="in row 4") as found:
        pick.map_arrow(data, values=values)
    assert (found.value.code, found.value.lane) == ("index-out-of-range", 3)
    assert "in row 4" in str(pickle.loads(pickle.dumps(found.value)))
    assert pick.map_arrow(data, values=values, failures="null", keep=False)["value"].to_pylist() == [5.0, 6.0, 7.0, None, 5.0]
    root = nc.compile("(sqrt x)")
    with pytest.raises(nc.EvaluationError, match="in row 2"):
        root.map_arrow(table(x=[1.0, -1.0]), check=True)
    assert root.map_arrow(table(x=[4.0, -1.0]), check=True, failures="null", keep=False)["value"].to_pylist() == [2.0, None]


# Vectors and matrices.

DOT = nc.compile("(dot v w)", inputs={"v": 3, "w": 3})


def test_vectors_as_lists_of_one_length() -> None:
    v, w = RNG.normal(size=(2, 50, 3))
    fixed = pa.list_(pa.float64(), 3)
    for kind in (fixed, pa.list_(pa.float64()), pa.large_list(pa.float64())):
        data = pa.table({"v": pa.array(v.tolist(), kind), "w": pa.array(w.tolist(), fixed)})
        for part, rows in ((data, slice(None)), (data.slice(7, 20), slice(7, 27))):
            found = DOT.map_arrow(part, grad=True, keep=False)
            assert bits(found["value"]) == DOT(v[rows], w[rows]).tobytes()
            assert found["d/dv"].type == fixed
            assert np.array_equal(np.array(found["d/dv"].to_pylist()), w[rows])


def test_vectors_with_nulls() -> None:
    rows = [[1.0, 2.0, 3.0], None, [4.0, None, 6.0], [7.0, 8.0, 9.0]]
    for kind in (pa.list_(pa.float64(), 3), pa.list_(pa.float64())):
        data = pa.table({"v": pa.array(rows, kind), "w": pa.array([[1.0] * 3] * 4, pa.list_(pa.float64(), 3))})
        assert DOT.map_arrow(data, nulls="null", keep=False)["value"].to_pylist() == [6.0, None, None, 24.0]
        assert DOT.map_arrow(data.slice(3), nulls="null", keep=False)["value"].to_pylist() == [24.0]
        assert caught(DOT, data).row == 2


def test_vectors_out_with_nulls() -> None:
    program = nc.compile("(vec x (* 2 x))")
    found = program.map_arrow(table(x=pa.array([1.0, None, 3.0])), nulls="null", keep=False)["value"]
    assert found.type == pa.list_(pa.float64(), 2) and found.to_pylist() == [[1.0, 2.0], None, [3.0, 6.0]]
    found.validate(full=True)


def test_matrices() -> None:
    m = RNG.normal(size=(4, 2, 3))
    kind = pa.list_(pa.list_(pa.float64(), 3), 2)
    turn = nc.compile("(transpose m)", inputs={"m": (2, 3)})
    found = turn.map_arrow(pa.table({"m": pa.array(m.tolist(), kind)}), keep=False)["value"]
    found.validate(full=True)
    assert np.array_equal(np.array(found.to_pylist()), m.transpose(0, 2, 1))


def test_lists_of_another_length() -> None:
    wrong = pa.array([[1.0] * 3, [1.0] * 2], pa.list_(pa.float64()))
    error = caught(DOT, pa.table({"v": wrong, "w": pa.array([[1.0] * 3] * 2, pa.list_(pa.float64(), 3))}))
    assert (error.code, error.row, error.column) == ("input-shape", 2, "v")
    fixed = pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2))
    assert caught(DOT, pa.table({"v": fixed, "w": fixed})).code == "input-shape"
    assert caught(SWING, pa.table({"x": fixed, "y": [1.0]})).code == "input-shape"
    assert caught(DOT, pa.table({"v": [1.0], "w": fixed})).code == "input-shape"
    free = nc.compile("(dot v v)", inputs=["v"])
    assert free.map_arrow(pa.table({"v": fixed}), keep=False)["value"].to_pylist() == [5.0]
    assert caught(free, pa.table({"v": pa.array([[1.0, 2.0]])})).code == "input-shape"


# Names and values.


def test_names_and_columns_kept() -> None:
    data = table(x=[1.0], y=[2.0], who=["a"])
    assert SWING.map_arrow(data, keep=False).column_names == ["value"]
    assert SWING.map_arrow(data, keep=["who"], name="z", grad=["y"]).column_names == ["who", "z", "dz/dy"]
    assert caught(SWING, data, keep=["what"]).code == "missing-column"
    assert caught(SWING, data, name="who").code == "duplicate-column"
    assert SWING.map_arrow(data, keep=False, name="who").column_names == ["who"]
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["x", "y", "x"])
    assert caught(SWING, twice).code == "duplicate-column"
    both = SWING.grad("x", "y").map_arrow(data, keep=False, name=["fx", "fy"])
    assert [both["fx"][0].as_py(), both["fy"][0].as_py()] == [float(g) for g in SWING.grad("x", "y")(1.0, 2.0)]
    with pytest.raises(ValueError, match="2 results"):
        SWING.grad("x", "y").map_arrow(data)


def test_values_and_parameters() -> None:
    program = nc.compile("(param k 2) (* k (+ x c))")
    data = table(x=[1.0, 2.0])
    assert program.map_arrow(data, values={"c": 1}, keep=False)["value"].to_pylist() == [4.0, 6.0]
    # A column goes before the value of a parameter, as for `neuralc eval`.
    assert program.map_arrow(table(x=[1.0], k=[10.0], c=[0.0]), keep=False)["value"].to_pylist() == [10.0]
    assert caught(program, table(x=[1.0], c=[1.0]), values={"c": 1.0}).code == "duplicate-input"
    with pytest.raises(TypeError, match="no input `q`"):
        program.map_arrow(data, values={"c": 1, "q": 1})
    with pytest.raises(TypeError, match="scalar"):
        program.map_arrow(data, values={"c": [1.0, 2.0]})
    narrow = program.map_arrow(table(x=np.ones(2, np.float32)), values={"c": 0.1})["value"]
    assert narrow.type == pa.float32()


def test_a_program_without_columns() -> None:
    found = nc.compile("(+ 1 2)").map_arrow(table(a=[1, 2, 3]))
    assert found.to_pydict() == {"a": [1, 2, 3], "value": [3.0] * 3}
    assert nc.compile("(+ 1 2)").map_arrow(table(a=pa.array([], pa.int8()))).num_rows == 0


@pytest.mark.parametrize("option", [{"nulls": "skip"}, {"missing": "zero"}, {"failures": None}, {"dtype": np.int64}])
def test_options_that_are_none(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        SWING.map_arrow(table(x=[1.0], y=[1.0]), **option)


def test_errors_travel() -> None:
    error = caught(SWING, table(x=[None], y=[1.0]))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.row, again.column) == (str(error), error.code, error.row, error.column)


# Programs between processes.


def test_a_program_is_compiled_once_per_process() -> None:
    program = nc.compile("(* a (exp (- (* k t))))", params={"a": 2.0})
    sent = pickle.dumps(program)
    first, second = pickle.loads(sent), pickle.loads(sent)
    assert first._core is second._core and first._function(()) is second._function(())
    assert first.hash == program.hash and len(program.hash) == 64
    first.params["a"] = np.asarray(5.0)
    assert float(second(k=0.0, t=0.0)) == 2.0 and float(first(k=0.0, t=0.0)) == 5.0
    slope = pickle.loads(pickle.dumps(program.grad("t")))
    assert float(slope(k=1.0, t=0.0)) == -2.0
    assert program.hash != nc.compile("(* a (exp (- (* k t))))").hash


def test_what_was_compiled_with_warnings_travels() -> None:
    with pytest.warns(UserWarning):
        program = nc.compile("(input a :unit m) (input b :unit s) (+ a b)", units="warn")
    assert float(pickle.loads(pickle.dumps(program))(a=1.0, b=2.0)) == 3.0


def test_programs_that_arrived_are_not_kept_for_ever() -> None:
    for k in range(travel.KEPT + 20):
        pickle.loads(pickle.dumps(nc.compile(f"(+ x {k})")))
    assert len(travel._arrived) == travel.KEPT
