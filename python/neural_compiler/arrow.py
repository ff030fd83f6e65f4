"""Arrow tables through a program. In: a record batch, a table, a reader of batches, or anything with Arrow's PyCapsule interface (frames of
pandas and polars, relations of DuckDB); out: a batch, table or reader with the value, and on request derivatives, of every row.

Invariants: a row's result depends on that row alone and equals a call of the program to the bit, however the rows are cut into batches;
columns of float32 and float64 without nulls are read where they lie, and results are handed over where they were written; other numbers
are converted exactly or refused; what is computed in place of a missing row is a copy of another row and never seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .advice import is_lazy
from .errors import EvaluationError, TableError
from .signature import Input
from .threads import get_num_threads
from .whole import ADVICE, rounded

if TYPE_CHECKING:
    from .program import Program

Array: TypeAlias = "NDArray[Any]"
Mask: TypeAlias = "NDArray[np.bool_] | None"
"""Rows without a value; None where every row has one."""

CHOICES = ("error", "null")


@dataclass(frozen=True)
class Options:
    """What the caller of `map_arrow` wants."""

    values: Mapping[str, Array]
    """Values of inputs that are no columns, float64."""
    keep: bool | Sequence[str]
    grad: bool | Sequence[str]
    name: str | Sequence[str]
    dtype: Any
    nulls: str
    missing: str
    failures: str
    threads: int | None
    check: bool

    def __post_init__(self) -> None:
        for option in ("nulls", "missing", "failures"):
            if getattr(self, option) not in CHOICES:
                raise ValueError(f'{option} is "error" or "null", not {getattr(self, option)!r}')
        if self.dtype is not None and np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype is float32 or float64, not {self.dtype!r}")


def map_table(program: Program, data: Any, options: Options) -> Any:
    """The result for whatever holds batches: a batch for a batch, a reader for a reader, a table for everything else."""
    if isinstance(data, pa.RecordBatch):
        return Mapped(program, data.schema, options).batch(data, 0)
    if isinstance(data, pa.RecordBatchReader):
        mapped = Mapped(program, data.schema, options)
        return pa.RecordBatchReader.from_batches(mapped.schema, mapped.batches(data))
    if not isinstance(data, pa.Table):
        if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__"):
            data = pa.table(data)
        elif hasattr(data, "__arrow_c_array__"):
            return map_table(program, pa.record_batch(data), options)
        elif is_lazy(data):
            raise TypeError(f"a {type(data).__name__} has no data yet: give what its collect() returns")
        else:
            raise TypeError(
                "map_arrow takes a record batch, a table or a reader of Arrow, or what has its PyCapsule interface (a frame of pandas or "
                f"polars, a relation of DuckDB), not {type(data).__name__}"
            )
    mapped = Mapped(program, data.schema, options)
    return pa.Table.from_batches(list(mapped.batches(data.to_batches())), mapped.schema)


class Mapped:
    """A program bound to the columns of one schema: every decision that does not depend on rows."""

    def __init__(self, program: Program, schema: pa.Schema, options: Options) -> None:
        self._program, self._options = program, options
        self._columns: dict[str, int] = {}
        """Where the column of an input is."""
        self._missing: list[str] = []
        self._bind(schema)
        self._dtype = np.dtype(options.dtype) if options.dtype is not None else self._type(schema)
        wrt = self._wrt()
        self._steps = () if wrt is None else (("value_and_grad", tuple(program._names.index(n) for n in wrt)),)
        self._function = program._function(self._steps)
        self._threads = get_num_threads() if options.threads is None else options.threads
        kept = range(len(schema)) if options.keep is True else self._kept(schema, options.keep or ())
        self._keep = list(kept)
        self._sizes = {i.name: self._size(i, schema) for i in program.inputs if i.name in self._columns}
        shapes = [list(self._sizes[i.name] if i.name in self._sizes else self._value(i).shape) for i in program.inputs]
        self._axes = [tuple(axes) for axes in self._function.result_axes(shapes)]
        types = [_arrow_type(self._dtype, axes) for axes in self._axes]
        fields = [schema.field(k) for k in self._keep]
        for name, kind in zip(self._titles(len(types), wrt), types):
            if name in (f.name for f in fields):
                words = f"there is a column `{name}` already, which is what a result is called"
                raise TableError("duplicate-column", words, column=name, help="give the result another `name`, or rename the column")
            fields.append(pa.field(name, kind))
        # What pandas remembers of its frame speaks of all columns.
        self.schema = pa.schema(fields, schema.metadata if options.keep is True else None)

    # Decisions.

    def _bind(self, schema: pa.Schema) -> None:
        known = {i.name for i in self._program.inputs}
        for name in self._options.values:
            if name not in known:
                raise TypeError(f"the program has no input `{name}`")
        for i in self._program.inputs:
            places = schema.get_all_field_indices(i.name)
            if len(places) > 1:
                raise TableError("duplicate-column", f"there are {len(places)} columns `{i.name}`", column=i.name)
            if places and i.name in self._options.values:
                words = f"the input `{i.name}` has a column and is given in `values`"
                raise TableError("duplicate-input", words, column=i.name, help="leave one of them out")
            if places:
                self._columns[i.name] = places[0]
            elif i.name not in self._options.values and i.name not in self._program.params:
                self._missing.append(i.name)
        if self._missing and self._options.missing == "error":
            raise TableError("missing-column", _no_columns(self._missing), column=self._missing[0], help=_advice(self._missing[0], schema))

    def _type(self, schema: pa.Schema) -> np.dtype[Any]:
        """As a call would choose: the widest of the columns; whole numbers of 32 and 64 bits need float64, shorter ones follow."""
        found = [kind for kind in (_weight(schema.field(k).type) for k in self._columns.values()) if kind is not None]
        return np.result_type(*found) if found else np.dtype(np.float64)

    def _wrt(self) -> list[str] | None:
        if self._options.grad is False or self._options.grad is None:
            return None
        if self._options.grad is True:
            return [i.name for i in self._program.inputs if i.name in self._columns or i.name in self._missing]
        listed = [self._options.grad] if isinstance(self._options.grad, str) else list(self._options.grad)
        for name in listed:
            if name not in self._program._names:
                raise TypeError(f"the program has no input `{name}` to derive by")
        return listed

    def _kept(self, schema: pa.Schema, names: Sequence[str]) -> Iterator[int]:
        for name in [names] if isinstance(names, str) else names:
            places = schema.get_all_field_indices(name)
            if len(places) != 1:
                words = f"there is no column `{name}` to keep" if not places else f"there are {len(places)} columns `{name}`"
                raise TableError("missing-column" if not places else "duplicate-column", words, column=name, help=_advice(name, schema))
            yield places[0]

    def _size(self, i: Input, schema: pa.Schema) -> tuple[int, ...]:
        """The sizes of the values of a column, which are numbers or lists of them as the input says."""
        kind = schema.field(self._columns[i.name]).type
        sizes: list[int] = []
        while _is_list(kind):
            open_ended = not pa.types.is_fixed_size_list(kind)
            if open_ended and (i.shape is None or len(sizes) >= len(i.shape)):
                words = f"the column `{i.name}` holds lists whose length only its rows tell ({kind}), and the program leaves it open too"
                raise TableError("input-shape", words, column=i.name, help="cast it to a fixed_size_list, or give the shape in `inputs`")
            sizes.append(i.shape[len(sizes)] if open_ended and i.shape is not None else kind.list_size)
            kind = kind.value_type
        if not _is_number(kind):
            raise TableError("not-a-number", f"the column `{i.name}` holds values of type {kind}, not numbers", i.name, help=_cast(kind))
        if len(sizes) != i.rank or (i.shape is not None and tuple(sizes) != i.shape):
            held = "numbers" if not sizes else f"lists of shape {tuple(sizes)}"
            raise TableError("input-shape", f"the input `{i.name}` is a {i.described}, its column holds {held}", i.name)
        return tuple(sizes)

    def _titles(self, results: int, wrt: list[str] | None) -> list[str]:
        name = self._options.name
        if not isinstance(name, str):
            if len(name) != results:
                raise ValueError(f"there are {results} results, {len(name)} names were given")
            return list(name)
        if wrt is not None:
            return [name, *(f"d/d{n}" if name == "value" else f"d{name}/d{n}" for n in wrt)]
        if results > 1:
            raise ValueError(f"the program has {results} results: give a list of as many names as `name`")
        return [name]

    # Rows.

    def batches(self, source: Any) -> Iterator[pa.RecordBatch]:
        """The batches of the result, one for each of the source."""
        before = 0
        for batch in source:
            yield self.batch(batch, before)
            before += batch.num_rows

    def batch(self, batch: pa.RecordBatch, before: int) -> pa.RecordBatch:
        """The batch of the result; `before`: rows before this batch, for errors."""
        rows = batch.num_rows
        columns: dict[str, Array] = {}
        null: Mask = None
        wrong: list[tuple[int, TableError]] = []
        for name, place in self._columns.items():
            numbers, missing = _numbers(batch.column(place), self._sizes[name], name, wrong, before)
            if missing is not None and self._options.nulls == "error" and rows:
                words = f"row {before + int(missing.argmax()) + 1}, column `{name}`: the value is missing, a number is needed"
                advice = 'nulls="null" makes the results of such rows null'
                wrong.append((int(missing.argmax()), TableError("empty-cell", words, name, before + int(missing.argmax()) + 1, advice)))
            null = missing if null is None else null if missing is None else null | missing
            columns[name] = numbers
        if wrong:
            raise min(wrong, key=lambda w: w[0])[1]
        if self._missing:
            null = np.ones(rows, np.bool_)
        columns = {name: self._converted(array) for name, array in columns.items()}
        if null is not None and null.all():
            results = [np.zeros((rows, *axes), self._dtype) for axes in self._axes]
        else:
            if null is not None:
                columns = {name: _stand_in(array, null) for name, array in columns.items()}
            results, failed = self._run(columns, rows, before)
            if failed:
                null = np.zeros(rows, np.bool_) if null is None else null.copy()
                null[failed] = True
        made = [_arrow(r, null) for r in results]
        return pa.RecordBatch.from_arrays([*(batch.column(k) for k in self._keep), *made], schema=self.schema)

    def _converted(self, array: Array) -> Array:
        if array.dtype.kind != "f":
            # Rounded once more where float32 is asked for, as every other way of reading numbers does.
            array = array.astype(np.float64)
        return array.astype(self._dtype, copy=False)

    def _run(self, columns: dict[str, Array], rows: int, before: int = 0) -> tuple[list[Array], list[int]]:
        """The results and the rows that have none."""
        inputs = self._program.inputs
        arrays = [np.require(columns[i.name], requirements="A") if i.name in columns else self._value(i) for i in inputs]
        double = bool(self._dtype == np.float64)
        failed: list[int] = []
        try:
            if self._options.failures == "null" and columns:
                results, failed = self._function.kept(arrays, double, self._threads, self._options.check)
            else:
                results = self._function.numpy(arrays, None, double, self._threads, self._options.check)
        except EvaluationError as error:
            raise error if error.lane is None else EvaluationError(error.source, error._found, error.lane + before, "row") from None
        if not columns:
            # Nothing differs from row to row.
            results = [np.repeat(r[None], rows, 0) for r in results]
        return results, failed

    def _value(self, i: Input) -> Array:
        """What an input is in every row that has no column."""
        if i.name in self._missing:
            if i.shape is None and i.rank:
                raise TableError("input-shape", f"the column `{i.name}` is missing, and the program leaves its shape open", i.name)
            return np.zeros(i.shape or (), self._dtype)
        value = np.asarray(self._options.values.get(i.name, self._program.params.get(i.name)))
        if value.ndim != i.rank:
            raise TypeError(f"the input `{i.name}` is a {i.described}, its value has the shape {value.shape}")
        return value.astype(self._dtype)


def _no_columns(missing: list[str]) -> str:
    listed = ", ".join(f"`{n}`" for n in missing)
    return f"there is no column {listed}" if len(missing) == 1 else f"there are no columns {listed}"


def _advice(name: str, schema: pa.Schema) -> str:
    close = get_close_matches(name, schema.names, 1)
    if close:
        return f"did you mean `{close[0]}`?"
    shown = ", ".join(f"`{n}`" for n in schema.names[:12]) + (", …" if len(schema.names) > 12 else "")
    return f"the columns are {shown or 'none'}; `values` gives inputs that are no columns"


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _cast(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return "decode the dictionary first: `column.dictionary_decode()`"
    if pa.types.is_temporal(kind):
        return "say what it counts first: `column.cast(pyarrow.int64())` counts its unit"
    return "cast it to float64 first, where that is what it means"


def _weight(kind: pa.DataType) -> np.dtype[Any] | None:
    """The type a column asks for; None if it follows the others."""
    while _is_list(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind):
        return np.dtype(np.float64 if pa.types.is_float64(kind) else np.float32)
    if pa.types.is_integer(kind) and kind.bit_width > 16:
        return np.dtype(np.float64)
    return None


def _numbers(column: Any, sizes: tuple[int, ...], name: str, wrong: list[tuple[int, TableError]], before: int) -> tuple[Array, Mask]:
    """The numbers of a column, an axis for the rows in front of `sizes`, and the rows that have none; finds what no float64 holds."""
    flat, missing, row_of = column, None, 1
    rows = len(column)
    for size in sizes:
        flat, gone = _items(flat, size, name, before, row_of, wrong)
        missing = _either(missing, gone, rows)
        row_of *= size
    gone = flat.is_null().to_numpy(zero_copy_only=False) if flat.null_count else None
    missing = _either(missing, gone, rows)
    numbers = _raw(flat)
    if gone is not None and numbers.dtype.kind in "iu":
        numbers = np.where(gone, 0, numbers)
    beyond = rounded(numbers)
    if beyond is not None:
        row = beyond[0][0] // row_of
        words = f"row {before + row + 1}, column `{name}`: no float64 holds the whole number {beyond[1]}"
        wrong.append((row, TableError("inexact-number", words, name, before + row + 1, ADVICE.split("; ", 1)[1])))
    return numbers.reshape(rows, *sizes), missing


def _either(known: Mask, gone: Mask, rows: int) -> Mask:
    """Rows without a value, `gone` having one entry or several for each."""
    if gone is None or not rows:
        return known
    found: NDArray[np.bool_] = np.any(gone.reshape(rows, -1), axis=1)
    return found if known is None else known | found


def _raw(array: Any) -> Array:
    """The numbers where they lie, those under nulls included."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array))
    if array.null_count == 0:
        return array.to_numpy(zero_copy_only=True)  # type: ignore[no-any-return]
    plain = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], 0, array.offset)
    return plain.to_numpy(zero_copy_only=True)  # type: ignore[no-any-return]


def _items(array: Any, size: int, name: str, before: int, row_of: int, wrong: list[tuple[int, TableError]]) -> tuple[Any, Mask]:
    """The items of lists of one length, one list behind the other, and which lists are missing."""
    gone = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if pa.types.is_fixed_size_list(array.type):
        return array.values.slice(array.offset * size, len(array) * size), gone
    offsets = array.offsets.to_numpy()
    lengths = np.diff(offsets)
    unequal = lengths != size if gone is None else (lengths != size) & ~gone
    if unequal.any():
        at = int(unequal.argmax())
        words = f"row {before + at // row_of + 1}, column `{name}`: a list of {lengths[at]} items, {size} are needed"
        wrong.append((at // row_of, TableError("input-shape", words, name, before + at // row_of + 1)))
    if gone is None and not unequal.any():
        return array.values.slice(int(offsets[0]), len(array) * size), gone
    usable = ~unequal if gone is None else ~unequal & ~gone
    if not usable.any():
        return pa.nulls(len(array) * size, array.type.value_type), gone
    # Lists that are missing may hold anything: their items are those of another.
    starts = np.where(usable, offsets[:-1], offsets[:-1][usable.argmax()])
    return array.values.take(pa.array((starts[:, None] + np.arange(size)).ravel())), gone


def _stand_in(array: Array, null: NDArray[np.bool_]) -> Array:
    """The engine computes something for rows without values, too: what it computes for another."""
    copy = array.copy()
    copy[null] = array[int((~null).argmax())]
    return copy


def _arrow_type(dtype: np.dtype[Any], axes: tuple[int, ...]) -> pa.DataType:
    kind = pa.from_numpy_dtype(dtype)
    for size in reversed(axes):
        kind = pa.list_(kind, size)
    return kind


def _arrow(array: Array, null: Mask) -> Any:
    """An array whose numbers stay where they are."""
    rows, axes = array.shape[0], array.shape[1:]
    absent = int(null.sum()) if null is not None else 0
    bits = pa.py_buffer(np.packbits(~null, bitorder="little")) if null is not None and absent else None
    flat = np.ascontiguousarray(array).reshape(-1)
    inner = pa.Array.from_buffers(
        pa.from_numpy_dtype(array.dtype), flat.size, [None if axes else bits, pa.py_buffer(flat)], 0 if axes else absent
    )
    for k, size in reversed(list(enumerate(axes))):
        length = rows * int(np.prod(axes[:k], dtype=int))
        outer = k == 0
        inner = pa.FixedSizeListArray.from_buffers(
            pa.list_(inner.type, size), length, [bits if outer else None], absent if outer else 0, children=[inner]
        )
    return inner
