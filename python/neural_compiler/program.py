"""Programs on NumPy arrays: `compile` and `Program`."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .advice import advice_for, is_lazy
from .errors import Diagnostic, _diagnostic
from .files import write_files
from .masks import unmasked
from .signature import (
    RESERVED,
    Input,
    Inputs,
    OwnDoc,
    OwnSignature,
    Size,
    bind,
    call_signature,
    described_inputs,
    positions,
    read_inputs,
    sizes,
    warn_of_groups,
)
from .threads import get_num_threads
from .travel import arrived, digest
from .whole import ADVICE, rounded, rounded_in

Array: TypeAlias = "NDArray[np.floating[Any]]"
Steps: TypeAlias = "tuple[tuple[str, tuple[int, ...]], ...]"
"""Derivations one after another, each with the positions of the inputs it concerns."""
Chain: TypeAlias = "tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]"
"""Links `("jvp", inputs, ())` and `("vjp", inputs, results that have a cotangent)`."""

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def compile(
    source: str,
    inputs: Inputs | None = None,
    params: Mapping[str, ArrayLike] | None = None,
    *,
    syntax: str = "scheme",
    units: str = "error",
) -> Program:
    """Compiles a program to be called on NumPy arrays.

    `inputs`: the names of the inputs in order, or a mapping from name to shape (`None` or `()` for a scalar, `3`, `(3,)`,
    `(3, 3)`); left out, they are the names the text leaves free. `params`: values of inputs that need not be given in a call.
    `syntax`: what the text is written in, `scheme`, `infix` or `latex`. `units`: what becomes of units that do not fit, `error`, `warn`
    or `off`.

    >>> p = compile("(* x (sin (* x y)))")
    >>> p(x=[0.0, 1.0, 2.0], y=0.5)
    array([0.        , 0.47942554, 1.68294197])
    >>> p.value_and_grad(x=0.7, y=1.3)
    (array(0.5526...), (array(1.3480...), array(0.3007...)))
    >>> float(compile("A*exp(-k*t) + c", syntax="infix")(A=2.0, k=1.0, t=0.0, c=1.0))
    3.0
    >>> compile("input m (unit kg)\\nunit E = J\\nE = m*v^2/2", syntax="infix").units["v"]
    'm/s'
    """
    values = {name: _plain(name, value) for name, value in (params or {}).items()}
    core = _native.Core(source, described_inputs(inputs), _shapes(values), syntax, units)
    for finding in core.unit_warnings:
        warnings.warn(finding, stacklevel=2)
    warn_of_groups(core, values)
    return Program(core, described_inputs(inputs), values, (), units)


def _plain(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(unmasked(f"the parameter `{name}`", value))
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(f"the parameter `{name}` is a number or an array of numbers, not of type {array.dtype}")
    _refuse_rounding(f"the parameter `{name}`", value, array)
    return array.astype(np.float64)


class Program:
    __doc__ = OwnDoc(
        """A compiled program, or a derivative of one. Made by `compile`; called with arrays, it gives arrays.

    float32 arrays are computed with in float32, float64 arrays in float64; Python numbers follow the arrays they meet. Arrays of whole
    numbers count as NumPy counts them: no float32 holds those of 32 and 64 bits, so with such the result is float64.
    """
    )
    __signature__ = OwnSignature()

    def __init__(
        self,
        core: _native.Core,
        told: Any,
        params: dict[str, NDArray[np.float64]],
        steps: Steps,
        unit_mode: str = "error",
        functions: dict[Any, _native.Function] | None = None,
    ) -> None:
        self._core = core
        self._told = told
        self._steps = steps
        self._unit_mode = unit_mode
        self._functions: dict[Any, _native.Function] = {} if functions is None else functions
        self.inputs: tuple[Input, ...] = read_inputs(core)
        """The inputs, in order, parameters included."""
        self.params: dict[str, NDArray[np.float64]] = {}
        """Values of the inputs a call need not give."""
        for i in self.inputs:
            if i.name in params:
                self.params[i.name] = params[i.name]
            elif i.kind == "param":
                self.params[i.name] = np.asarray(i.info["initial"], np.float64).reshape(i.shape or ())
        self._names = [i.name for i in self.inputs]
        self._shadowed = not RESERVED.isdisjoint(self._names)
        self._value = self._function(())

    # Calls.

    def __call__(self, /, *args: Any, out: Array | tuple[Array, ...] | None = None, check: bool | None = None, **kwargs: Any) -> Any:
        """The value. Inputs by position, by name or in one dict, with any leading batch sizes; `out` takes the result.

        With `check`, the first operation that leaves its domain raises `EvaluationError` instead of giving NaN or infinity.

        In a program with an input `out`, `check` or `wrt`, a keyword of that name is the input, here and in the methods, unless the inputs
        are given in one dict.
        """
        if self._shadowed:
            options, kwargs = self._told_apart(args, kwargs, {"out": out, "check": check})
            out, check = options["out"], options["check"]
        if not check:
            # Plain arrays and numbers, the usual call, are sorted out where they are used.
            found = self._value.quick(args, kwargs, self.params, get_num_threads(), out)
            if found is not None:
                return found
        results = self._run((), self._bound(args, kwargs), out, check=bool(check))
        return results[0] if len(results) == 1 else tuple(results)

    def value_and_grad(
        self, /, *args: Any, wrt: Sequence[str] | None = None, out: tuple[Array, tuple[Array, ...]] | None = None, **kwargs: Any
    ) -> tuple[Array, tuple[Array, ...]]:
        """The value of a scalar program and its derivatives with respect to the inputs `wrt` (all but parameters, if left out).

        `out` takes the result: a buffer for the value and a tuple of them for the derivatives, as they are returned.
        """
        if self._shadowed:
            options, kwargs = self._told_apart(args, kwargs, {"out": out, "wrt": wrt})
            out, wrt = options["out"], options["wrt"]
        steps = (("value_and_grad", self._wrt(wrt)),)
        buffers = None if out is None else (out[0], *out[1])
        found = self._function(steps).quick(args, kwargs, self.params, get_num_threads(), buffers)
        if found is not None:
            return found[0], found[1:]
        value, *grads = self._run(steps, self._bound(args, kwargs), buffers)
        return value, tuple(grads)

    def jvp(self, inputs: Mapping[str, ArrayLike], tangents: Mapping[str, ArrayLike]) -> tuple[Any, Any]:
        """The value at `inputs` and its derivative along `tangents`.

        >>> value, slope = compile("(* x y)").jvp({"x": 2.0, "y": 3.0}, {"x": 1.0})
        >>> float(slope)
        3.0
        """
        chosen = tuple(positions(self.inputs, list(tangents)))
        values = [*self._bound((dict(inputs),), {}), *tangents.values()]
        results = self._run((), values, None, (("jvp", chosen, ()),), names=[*self._names, *(f"the tangent of {n}" for n in tangents)])
        half = len(results) // 2
        first, second = tuple(results[:half]), tuple(results[half:])
        return (first[0], second[0]) if half == 1 else (first, second)

    def hessian(self, /, *args: Any, wrt: Sequence[str] | None = None, **kwargs: Any) -> Any:
        """All second derivatives of a scalar program: an array for one input in `wrt`, else a tuple of tuples of arrays.

        >>> compile("(dot v v)", inputs={"v": 2}).hessian(v=[1.0, 2.0])
        array([[2., 0.],
               [0., 2.]])
        """
        if self._shadowed:
            options, kwargs = self._told_apart(args, kwargs, {"wrt": wrt})
            wrt = options["wrt"]
        chosen = self._wrt(wrt)
        blocks = self._run((("hessian", chosen),), self._bound(args, kwargs), None)
        n = len(chosen)
        return blocks[0] if n == 1 else tuple(tuple(blocks[i * n : (i + 1) * n]) for i in range(n))

    def map_arrow(
        self,
        data: Any,
        *,
        values: Mapping[str, ArrayLike] | None = None,
        keep: bool | Sequence[str] = True,
        grad: bool | Sequence[str] = False,
        name: str | Sequence[str] = "value",
        dtype: Any = None,
        nulls: str = "error",
        missing: str = "error",
        failures: str = "error",
        threads: int | None = None,
        check: bool = False,
    ) -> Any:
        """Every row of an Arrow table through the program: a batch for a batch, a reader for a reader (one batch in memory at a time), a
        table for a table and for whatever else has Arrow's PyCapsule interface (frames of pandas and polars, relations of DuckDB).

        Columns bind to inputs by name, those of vectors and matrices as lists of one length; `values` gives inputs that are no columns. The
        result has the columns that were there (`keep`: all, none or those named) and one called `name`; with `grad` also the derivatives by
        every column (or those named), `d/dx`, or `dy/dx` where the result is called `y`. Columns of float32 are computed with in float32,
        anything wider in float64, unless `dtype` says what to compute in.

        A missing value (`nulls`), a missing column (`missing`) or a row the program has no result for (`failures`) is an error that names
        the row and the column, or with "null" makes the results of the row null. `threads`: at most so many. Rows are independent: however
        they are cut into batches, their results have the same bits. Needs pyarrow: `pip install neural-compiler[arrow]`.

        >>> import pyarrow as pa
        >>> batch = pa.record_batch({"x": [1.0, 2.0], "who": ["a", "b"]})
        >>> compile("(* x x)").map_arrow(batch, grad=True, name="y").to_pydict()
        {'x': [1.0, 2.0], 'who': ['a', 'b'], 'y': [1.0, 4.0], 'dy/dx': [2.0, 4.0]}
        """
        from .arrow import Options, map_table

        plain = {n: _plain(n, v) for n, v in (values or {}).items()}
        return map_table(self, data, Options(plain, keep, grad, name, dtype, nulls, missing, failures, threads, check))

    # Programs made of this one.

    def grad(self, *wrt: str) -> Program:
        """A program that gives the derivative with respect to an input (a tuple of them for several).

        >>> compile("(* x x x)").grad("x")(x=2.0)
        array(12.)
        """
        step = ("grad", tuple(positions(self.inputs, wrt)) if wrt else self._wrt(None))
        return Program(self._core, self._told, self.params, (*self._steps, step), self._unit_mode)

    def jacobian(self, *wrt: str) -> Program:
        """A program that gives the derivatives of every number of the result: the result's axes, then the input's.

        >>> compile("(vec (* a b) (+ a b))").jacobian("a")(a=2.0, b=3.0)
        array([3., 1.])
        """
        step = ("jacobian", tuple(positions(self.inputs, wrt)) if wrt else self._wrt(None))
        return Program(self._core, self._told, self.params, (*self._steps, step), self._unit_mode)

    # What it is.

    def _call_signature(self) -> inspect.Signature:
        values = {n: v.item() if v.ndim == 0 else None for n, v in self.params.items()}
        return call_signature(self.inputs, values, {"out": None, "check": False})

    @property
    def source(self) -> str:
        """The text."""
        return self._core.source

    @property
    def hash(self) -> str:
        """SHA-256 of the text and of what it was compiled with, parameters' values excepted: by it a process knows a program again."""
        return digest(self.source, self._told, _shapes(self.params), self.syntax, self._unit_mode)

    @property
    def syntax(self) -> str:
        """What the text is written in: `scheme`, `infix` or `latex`."""
        return self._core.syntax

    @property
    def units(self) -> dict[str, str]:
        """The units of its names, declared and inferred; `value` is that of the value. Empty where the text declares none."""
        return dict(self._core.units)

    @property
    def latex(self) -> str:
        """The program as LaTeX: one formula, or several below each other."""
        return self._core.latex

    @property
    def anf(self) -> str:
        """The text in A-normal form, loops found."""
        return self._core.anf

    def graph_text(self, **shapes: Size) -> str:
        """The graph as text, for these shapes where the program does not pin them."""
        return self._function(()).graph_text(self._shapes(shapes))

    def graph_json(self, chain: Chain = (), **shapes: Size) -> dict[str, Any]:
        """The graph as data: regions, nodes, operations, attributes, constants, shapes.

        `chain` asks for the graph of a derivative: `("jvp", inputs, ())` takes a tangent for each of these inputs and gives the
        results and their tangents; `("vjp", inputs, results)` takes a cotangent for each of these results and gives those of the
        inputs. Inputs and results are counted from 0.
        """
        found: dict[str, Any] = json.loads(self._function((), chain).graph_json(self._shapes(shapes)))
        return found

    def svg(self, **shapes: Size) -> str:
        """The graph as an SVG drawing."""
        return self._function(()).svg(self._shapes(shapes))

    def export(
        self,
        target: str,
        path: str | os.PathLike[str] | None = None,
        *,
        grad: bool = False,
        dtype: Any = np.float64,
        prefix: str = "nc",
        **shapes: Size,
    ) -> dict[str, Any]:
        """The program as source for others: ``c``, ``rust``, ``python``, ``numpy``, ``jax``, ``julia``, ``onnx``, ``stablehlo``,
        ``sympy``, ``latex`` or ``json``.

        Gives the files by name (texts; of an ONNX model its bytes) and, with a path, writes them into that folder. Parameters are
        constants, the other inputs are arguments in order; `grad` adds the gradient by all of them. docs/export.md says what is exact: C
        and Rust have the bits of this program.

        >>> sorted(compile("(* a (exp x))", params={"a": 2}).export("c", grad=True))
        ['main.c', 'model.c', 'model.h']
        """
        values = [self.params[n].ravel().tolist() if n in self.params else None for n in self._names]
        double = np.dtype(dtype) == np.float64
        files = dict(self._function(()).export(target, grad, double, prefix, values, self._shapes(shapes)))
        if path is not None:
            write_files(Path(path), files)
        return files

    def explain_domain(self, ranges: Mapping[str, tuple[float, float]], dtype: Any = np.float64, **shapes: Size) -> tuple[Diagnostic, ...]:
        """What may leave the safe domain (a division by zero, a root of a negative, …) for inputs in these ranges.

        Empty: it is proven that nothing does. Inputs left out may be any finite number, and an infinite end means no bound;
        parameters have their value. A finding of severity ``note`` needs inputs without bounds to overflow.

        >>> [d.code for d in compile("(sqrt (- x 1))").explain_domain({"x": (0, 10)})]
        ['domain-may-be-left']
        """
        positions(self.inputs, list(ranges))
        listed = [self._range(i.name, ranges) for i in self.inputs]
        found = self._function(()).domain(listed, np.dtype(dtype) == np.float64, self._shapes(shapes))
        return tuple(map(_diagnostic, found))

    def __repr__(self) -> str:
        derived = "".join(f".{what}({', '.join(self._names[i] for i in wrt)})" for what, wrt in self._steps)
        inputs = ", ".join(f"{i.name}: {i.described}" for i in self.inputs)
        return f"<Program ({inputs}){derived}: {' '.join(self.source.split())}>"

    def _repr_latex_(self) -> str | None:
        # The formula is that of the program: a derivative has none.
        return None if self._steps else f"$$\n{self.latex}\n$$"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(repr(self))}</pre>{self._repr_svg_() or ''}"

    def _repr_svg_(self) -> str | None:
        pinned = all(i.shape is not None for i in self.inputs)
        return self.svg() if pinned else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.hash, self.source, self._told, self.params, self._steps, self.syntax, self._unit_mode)

    # How it is done.

    def _range(self, name: str, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float] | None:
        if name in ranges:
            low, high = ranges[name]
            if not low <= high:
                raise ValueError(f"the range of `{name}` is empty: {low} to {high}")
            return float(low), float(high)
        if name in self.params:
            return float(self.params[name].min()), float(self.params[name].max())
        return None

    def _wrt(self, wrt: Sequence[str] | None) -> tuple[int, ...]:
        if wrt is None:
            return tuple(k for k, n in enumerate(self._names) if n not in self.params)
        return tuple(positions(self.inputs, [wrt] if isinstance(wrt, str) else wrt))

    def _shapes(self, told: Mapping[str, Size]) -> list[list[int]] | None:
        if not told:
            return None
        positions(self.inputs, list(told))
        return [sizes(i.name, told[i.name]) if i.name in told else list(i.shape or ()) for i in self.inputs]

    def _function(self, steps: Steps, chain: Chain = ()) -> _native.Function:
        key = (steps, chain)
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = self._core.function([*self._steps, *steps], list(chain))
        return found

    def _told_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Options of a call, and inputs by name: what has the name of an input is one."""
        if len(args) == 1 and isinstance(args[0], Mapping):
            return options, kwargs
        given = {n: value for n, value in options.items() if n in self._names and value is not None}
        return {**options, **dict.fromkeys(given)}, {**kwargs, **given}

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        return bind(self._names, self.params, args, kwargs)

    def _run(
        self, steps: Steps, values: list[Any], out: Any, chain: Chain = (), names: Sequence[str] | None = None, check: bool = False
    ) -> list[Array]:
        arrays = _one_type(values, names or self._names, set(self.params))
        buffers = None if out is None else list(out) if isinstance(out, tuple) else [out]
        _check_buffers(buffers or [])
        double = bool(arrays[0].dtype == np.float64) if arrays else buffers is None or buffers[0].dtype == np.float64
        function = self._function(steps, chain)
        clash = buffers is not None and any(np.may_share_memory(b, a) for b in buffers for a in arrays)
        if buffers is None or not clash:
            return function.numpy(arrays, buffers, double, get_num_threads(), check)
        # A result written over an input that is still read would be wrong: compute beside it, then copy.
        results = function.numpy(arrays, None, double, get_num_threads(), check)
        for buffer, result in zip(buffers, results, strict=True):
            if buffer.shape != result.shape or buffer.dtype != result.dtype:
                raise ValueError(f"`out` has shape {buffer.shape} and type {buffer.dtype}, {result.shape} and {result.dtype} are expected")
            buffer[...] = result
        return buffers


def _check_buffers(buffers: Sequence[Any]) -> None:
    for k, buffer in enumerate(buffers):
        if not isinstance(buffer, np.ndarray) or isinstance(buffer, np.ma.MaskedArray):
            raise TypeError(f"`out` is an array or a tuple of arrays, not {type(buffer).__name__}")
        if any(np.may_share_memory(buffer, other) for other in buffers[k + 1 :]):
            raise ValueError("the arrays given as `out` share memory")


def _one_type(values: Sequence[Any], names: Sequence[str], weak: set[str]) -> list[Array]:
    """Arrays of one floating-point type: that of the arrays given; numbers and integers follow, float64 if there are only such."""
    arrays = [_array(n, v) for n, v in zip(names, values)]
    target: np.dtype[Any] | None = None
    for name, value, array in zip(names, values, arrays):
        kind = array.dtype.kind
        unmasked(f"`{name}`", value)
        _refuse_rounding(f"`{name}`", value, array)
        if kind not in "fiub" or (kind == "f" and array.dtype.newbyteorder("=") not in _FLOATS):
            raise TypeError(f"`{name}` is float32 or float64 (or whole numbers), not {_what(value, array)}")
        if (
            name not in weak
            and not isinstance(value, (float, int, list, tuple))
            and (kind == "f" or (array.ndim and array.dtype.itemsize > 2))
        ):
            dtype = array.dtype if kind == "f" else np.dtype(np.float64)
            target = dtype if target is None else np.promote_types(target, dtype)
    if target is None:
        target = np.dtype(np.float64)
    return [np.require(a, target.newbyteorder("="), "A") for a in arrays]


def _array(name: str, value: Any) -> NDArray[Any]:
    """What NumPy makes an array of; what it cannot is named, with what to do."""
    if getattr(value, "is_nested", False):
        raise TypeError(f"`{name}` is a nested tensor: pad it (`{name}.to_padded_tensor(0.0)`), or call once for each of its parts")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(value, (list, tuple)):
            advice = "pad its rows to one length, or call once for each of them"
            raise TypeError(f"`{name}` is a {type(value).__name__} that is no array of numbers: {advice}") from error
        advice = f"`{name}.to_dense()` or " if hasattr(value, "to_dense") else ""
        raise TypeError(f"`{name}` is a {type(value).__name__} NumPy makes no array of: give {advice}an array of numbers") from error


def _refuse_rounding(name: str, value: Any, array: NDArray[Any]) -> None:
    among = rounded_in(value, array)
    if among is not None:
        raise TypeError(f"{name} holds the whole number {among}: {ADVICE}")
    beyond = rounded(array)
    if beyond is not None:
        index, value = beyond
        where = f" at {list(index)}" if index else ""
        raise TypeError(f"{name} holds the whole number {value}{where}: {ADVICE}")


def _what(value: Any, array: NDArray[Any]) -> str:
    """What was given instead of an array of numbers, and what to do."""
    if is_lazy(value):
        return f"a {type(value).__name__}{advice_for(value)}"
    if hasattr(value, "toarray"):
        return f"a sparse {type(value).__name__}: give `.toarray()`"
    if array.dtype.kind == "c":
        return f"{array.dtype}: give the real and the imaginary part as two inputs"
    if array.dtype.kind == "O" and array.ndim and any(isinstance(x, (list, tuple, np.ndarray)) for x in array.flat):
        return f"{type(value).__name__} of rows: give them one length, in one array, or call once for each of them"
    return f"{array.dtype}: convert it first" if array.dtype.kind in "fg" else f"{type(value).__name__} of {array.dtype}{advice_for(value)}"


def _restore(
    hash: str, source: str, told: Any, params: dict[str, NDArray[np.float64]], steps: Steps, syntax: str, unit_mode: str
) -> Program:
    core, functions = arrived(hash, source, told, _shapes(params), syntax, unit_mode, steps)
    return Program(core, told, params, steps, unit_mode, functions)


def _shapes(params: Mapping[str, NDArray[np.float64]]) -> list[tuple[str, Any]]:
    return [(name, list(value.shape)) for name, value in params.items()]
