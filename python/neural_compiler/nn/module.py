"""`CompiledModule`: a program as an `nn.Module`."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.utils import parametrize

from .. import _native
from ..errors import Diagnostic, _diagnostic
from ..fx.for_onnx import ForOnnx
from ..signature import Input, OwnDoc, OwnSignature, Size, bind, call_signature, positions, sizes
from .compiled import Compiled, LimitsOf, Ready, Shapes, Steps, describe, find
from .function import apply
from .gate import (
    casts,
    differentiated_by_function,
    functionalized,
    is_compiling,
    lanes_hidden,
    numbers_hidden,
    seen,
    transformed,
    uncast,
    way,
)
from .run import call, run
from .shared import DELETED, LINK, ORIGINS, Held, exchanged, follow, hand_on, held, hold, join_links, remember, replaced, tensor_of
from .tensors import as_tensor, common_device, common_type, computed_in, joined, real, refuse_rounding

_is_grad_enabled = torch.is_grad_enabled

_LINKED = frozenset({"_spec", "_compiled", "_function", "_names", "_open", "_follow", "_own", "_caller", LINK, ORIGINS, DELETED})
"""What `_link` and `follow` give a module."""
_UNCHECKED = "`check=True` looks at numbers, which `torch.func.vmap` hides: give the batch as leading axes, or check outside of `vmap`"
BACKENDS = ("auto", "native", "torch")


class CompiledModule(nn.Module):
    __doc__ = OwnDoc(
        """A compiled program. Made by `compile_scheme`, `compose` and the methods below.

    Its only parameters are those the program names as such; everything else is frozen structure.
    """
    )
    __signature__ = OwnSignature()
    _limits: LimitsOf | None = None

    def __init__(
        self,
        source: str,
        inputs: Sequence[tuple[str, list[int] | None]] | None,
        values: Mapping[str, Held],
        bounds: Mapping[str, tuple[float | None, float | None]],
        steps: Steps = (),
        backend: str = "auto",
        ready: Ready | None = None,
        limits: LimitsOf | None = None,
    ) -> None:
        super().__init__()
        if backend not in BACKENDS:
            raise ValueError(f"the backend is one of {', '.join(BACKENDS)}, not {backend!r}")
        self.backend = backend
        """`auto`: native on the CPU, torch operations elsewhere; `native`; `torch`."""
        self._told = None if inputs is None else [(name, size) for name, size in inputs]
        self._steps = steps
        self.bounds: dict[str, tuple[float | None, float | None]] = dict(bounds)
        """Least and greatest value of each parameter that has such; `keep_bounds` and `project_` hold them."""
        self._fields = {name: name.replace(".", "_") for name in values}
        for name, value in values.items():
            field = self._fields[name]
            # A property of the class is there, though it has nothing to say yet.
            if hasattr(type(self), field) or hasattr(self, field) or field in _LINKED:
                raise ValueError(f"the parameter `{name}` has the name of an attribute of modules; rename it")
            hold(self, field, value)
        if limits is not None:
            self._limits = limits
        self._link(describe(source, self._told, self._shapes(), steps, backend, limits), ready)

    def _shapes(self) -> list[tuple[str, list[int]]]:
        return [(n, list(getattr(self, field).shape)) for n, field in self._fields.items()]

    def _link(self, spec: str, ready: Ready | None = None) -> None:
        self._spec = spec
        compiled = self._compiled = find(spec, ready)
        if _is_of_one_program(self) or type(self) is CompiledModule:
            self.__class__ = _class_of(compiled)
        self._function = compiled.function()
        self._names = compiled.names
        self._open = tuple(n for n in compiled.names if n not in self._fields)
        # Where the values of a call go: positions of the open inputs, and of the module's own tensors.
        # The module's own tensors follow the inputs in their type, unless there are no inputs.
        self._follow = _native.Places([k for k, n in enumerate(compiled.names) if n in self._fields] if self._open else [])
        self._own = tuple((k, self._fields[n]) for k, n in enumerate(compiled.names) if n in self._fields)
        self._caller = _native.Caller(self._function, compiled, self._follow, self._names, self._own, self.backend == "torch")

    # Calls.

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # The usual call, without what `nn.Module` does for hooks that are not there.
        if not is_compiling():
            try:
                found = self._caller.call(self, args, kwargs)
            except RuntimeError as error:
                if "Inference tensors" not in str(error):
                    raise
                # The longer way copies what autograd does not keep.
                found = None
            if found is not None:
                return found
            proxy = _proxy_in((args, kwargs))
            if proxy is not None:
                # To `torch.fx` a program is one node, as torch's own modules are.
                tracer: Any = proxy.tracer
                return tracer.create_proxy("call_module", tracer.path_of_module(self), args, kwargs)
        if "self" in kwargs or ("check" in kwargs and "check" in self._names and not _in_a_dict(args)):
            # Inputs of these names, which go through `nn.Module` in a dict.
            named = dict(zip(self._open, args))
            if named.keys() & kwargs.keys() or len(args) > len(self._open):
                bind(self._names, self._own_values(), args, kwargs)
            args, kwargs = ({**named, **kwargs},), {}
        return super().__call__(*args, **kwargs)

    def forward(self, /, *args: Any, check: bool = False, **kwargs: Any) -> Any:
        """The value: inputs by position, by name or in one dict, any leading batch sizes.

        With `check`, the first operation that leaves its domain raises `EvaluationError`, which names the lane. In a program with an input
        of that name, `check=` is the input, unless the inputs are given in one dict.
        """
        if isinstance(args, Proxy):
            raise TypeError(
                "`torch.fx` sees a program as one node: trace a module that holds it, or take the torch code, `neural_compiler.fx.lower`"
            )
        return self._general(bind(self._names, self._own_values(), args, kwargs), check)

    def _own_values(self) -> dict[str, Tensor]:
        return {self._names[k]: getattr(self, field) for k, field in self._own}

    def _general(self, values: list[Any], check: bool) -> Any:
        names = self._names
        values = [joined(n, v) for n, v in zip(names, values)]
        tensors = [as_tensor(n, v) for n, v in zip(names, values)]
        # The module's own tensors follow the inputs.
        own = {k for k, _ in self._own}
        for k in own:
            real("parameter", names[k], tensors[k])
        given = [k for k in range(len(names)) if k not in own] or list(range(len(names)))
        wanted = common_type([names[k] for k in given], [values[k] for k in given], [tensors[k] for k in given])
        dtype = computed_in(wanted)
        found = self._in_type(values, tensors, dtype, check)
        if dtype is wanted:
            return found
        return found.to(wanted) if isinstance(found, Tensor) else tuple(r.to(wanted) for r in found)

    def _in_type(self, values: list[Any], tensors: list[Tensor], dtype: torch.dtype, check: bool) -> Any:
        """Runs in this type, by way of whoever looks on."""
        names, compiled = self._names, self._compiled
        device = common_device(names, tensors)
        if check:
            if transformed() and not functionalized():
                arrays = [np.require(seen(t.to(dtype), _UNCHECKED), requirements="A") for t in tensors]
                self._function.numpy(arrays, None, dtype == torch.float64, torch.get_num_threads(), True)
            else:
                run(compiled, (), tuple(t.detach().to("cpu", dtype) for t in tensors), check=True)
        by = way(tensors)
        for name, value, tensor in zip(names, values, tensors):
            refuse_rounding(name, value, tensor)
        for_onnx = by == "operation" and torch.onnx.is_in_onnx_export()
        if device.type != "cpu" or self.backend == "torch" or for_onnx:
            if self.backend == "native" and not for_onnx:
                raise RuntimeError(f"the native backend runs on the CPU, the inputs are on {device}; leave `backend` out or say 'torch'")
            return self._on_torch([t.to(device, dtype) for t in tensors])
        converted = [t if t.dtype is dtype else t.to(dtype) for t in tensors]
        if by == "operation":
            return _as_operation(compiled, converted)
        if by == "function" or (_is_grad_enabled() and _any_needs_grad(tensors)):
            return apply(compiled, (), converted)
        return run(compiled, (), tuple(converted), dtype=dtype)

    def _on_torch(self, tensors: list[Tensor]) -> Any:
        """Runs as torch operations, in the type they have, whatever `torch.autocast` says."""
        cast = casts(tensors)
        with uncast(tensors):
            return self._as_torch(tensors, cast)

    def _as_torch(self, tensors: list[Tensor], cast: bool) -> Any:
        """Runs as torch operations. Where Python would have to look at numbers that a tracer or `vmap` hides, or autocast would round in
        the backward pass (`cast`), the program is one operation instead, whose inside is the same torch operations."""
        compiled = self._compiled
        shapes = compiled.core_shapes(tensors)
        compiled.batch(tensors, shapes)
        by_lane = not is_compiling() and torch.is_anomaly_enabled()
        looks, may_fail, solves, multiplies = _lowered_as(self._spec, shapes, by_lane)
        if looks and numbers_hidden():
            return _as_operation(compiled, tensors)
        if cast and multiplies and not torch.onnx.is_in_onnx_export():
            return _as_operation(compiled, tensors) if way(tensors) == "operation" else apply(compiled, (), tensors)
        if may_fail and not is_compiling() and (lanes_hidden(tensors) or (solves and differentiated_by_function())):
            return _as_operation(compiled, tensors) if functionalized() else apply(compiled, (), tensors)
        lowered = compiled.lowered((), shapes, by_lane)
        code = lowered.code
        if not may_fail and not is_compiling():
            self._caller.add_code([n for shape in shapes for n in shape], lowered.quick())
        if is_compiling() and torch.onnx.is_in_onnx_export():
            with ForOnnx():
                results = code(*tensors)
        else:
            results = code(*tensors) if is_compiling() or not may_fail else call(compiled, code, tensors)
        return results[0] if len(results) == 1 else tuple(results)

    def _call_signature(self) -> inspect.Signature:
        return call_signature(self.inputs, {n: _shown(v) for n, v in self._own_values().items()}, {"check": False})

    def __setattr__(self, name: str, value: Any) -> None:
        before = replaced(self, name)
        super().__setattr__(name, value)
        hand_on(self, before, tensor_of(self, name))

    def __delattr__(self, name: str) -> None:
        remember(self, name)
        super().__delattr__(name)

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        """As `nn.Module` does; the modules made of this one have it, too."""
        before = replaced(self, name)
        super().register_parameter(name, param)
        hand_on(self, before, tensor_of(self, name))

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """As `nn.Module` does; the modules made of this one have it, too."""
        before = replaced(self, name)
        super().register_buffer(name, tensor, persistent)
        hand_on(self, before, tensor_of(self, name))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CompiledModule:
        before = {field: tensor_of(self, field) for field in self._fields.values()}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        exchanged(self, before)
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        # `load_state_dict(assign=True)` makes a parameter of each entry, though several entries are of one parameter that modules share.
        before = {field: tensor_of(self, field) for field in self._fields.values()}
        super()._load_from_state_dict(*args, **kwargs)
        exchanged(self, before)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields.values()]  # type: ignore[no-untyped-call]

    # Modules made of this one.

    def _derived(self, what: str, wrt: tuple[str, ...]) -> CompiledModule:
        if not all(isinstance(name, str) for name in wrt):
            raise TypeError(f"inputs are given by their names, one by one: .{what}('x', 'y')")
        chosen = positions(self._compiled.inputs, wrt or self._open)
        module = self._with((*self._steps, (what, tuple(chosen))), self._limits)
        if what != "hessian" and any(i.shape is None for i in module._compiled.inputs):
            return module
        if all(i.shape is not None for i in module._compiled.inputs):
            # What has no derivative is said now, not at the first call.
            module._function.result_axes()
        return module

    def _with(self, steps: Steps, limits: LimitsOf | None) -> CompiledModule:
        """The program after these steps, which shares this module's parameters; within limits of its own it runs as torch operations."""
        backend = self.backend if limits is None else "torch"
        return follow(CompiledModule(self.source, self._told, held(self), self.bounds, steps, backend, limits=limits), self)

    def grad(self, *wrt: str) -> CompiledModule:
        """A module that gives the derivative of a scalar program with respect to an input (a tuple of them for several; all inputs
        but parameters when none is named). It shares this module's parameters, also one that
        takes the place of another later, as with `load_state_dict(assign=True)`.

        >>> from neural_compiler import compile_scheme
        >>> compile_scheme("(* x x x)").grad("x")(x=torch.tensor(2.0))
        tensor(12.)
        """
        return self._derived("grad", wrt)

    def jacobian(self, *wrt: str) -> CompiledModule:
        """A module that gives the derivatives of every number of the result: the result's axes, then the input's."""
        return self._derived("jacobian", wrt)

    def hessian(self, *wrt: str) -> CompiledModule:
        """A module that gives all second derivatives of a scalar program; for several inputs the blocks row by row, as a tuple."""
        return self._derived("hessian", wrt)

    def renamed(self, names: Mapping[str, str]) -> CompiledModule:
        """The same program with other names for some inputs or parameters, which it shares with this module.

        >>> from neural_compiler import compile_scheme
        >>> rate = compile_scheme("(* k x)", params={"k": 2.0}).renamed({"k": "rate", "x": "dose"})
        >>> rate(dose=torch.tensor(3.0)).item(), [name for name, _ in rate.named_parameters()]
        (6.0, ['rate'])
        """
        from .build import renamed

        return renamed(self, names)

    def __rshift__(self, other: CompiledModule) -> CompiledModule:
        """`f >> g`: the result of `f` is the only input of `g`, in one program."""
        from .build import joined

        if not isinstance(other, CompiledModule):
            return NotImplemented
        return joined(self, other, None)

    def to_onnx(
        self, path: str | PathLike[str] | None = None, *, dtype: torch.dtype = torch.float64, batch: bool = True, **shapes: Size
    ) -> Any:
        """The program as an ONNX model (`onnx.ModelProto`), written to `path` if one is given. Needs the package `onnx`.

        Inputs keep their names and have an axis `batch` in front, unless `batch` is False; the parameters are constants of the model, the
        results `result`, or `result_0` and so on. `shapes`: sizes of inputs whose shape the program leaves open. What ONNX cannot
        express is an `OnnxError` that says what to do.
        """
        from ..onnx import model_of

        if dtype not in (torch.float32, torch.float64):
            raise TypeError(f"a model computes in float32 or float64, not {dtype}")
        if batch and not self._open:
            raise ValueError("a program without inputs has no batch: say batch=False")
        own = {n: v.detach().cpu().double().ravel().tolist() for n, v in self._own_values().items()}
        told = [sizes(i.name, shapes[i.name]) if i.name in shapes else list(i.shape or ()) for i in self.inputs] if shapes else None
        positions(self.inputs, list(shapes))
        model = model_of(self._function, [own.get(i.name) for i in self.inputs], dtype == torch.float64, batch, told)
        if path is not None:
            import onnx

            onnx.save(model, path)
        return model

    # Parameters.

    def freeze(self) -> CompiledModule:
        """Lets nothing train."""
        self.requires_grad_(False)
        return self

    @torch.no_grad()
    def project_(self) -> CompiledModule:
        """Puts parameters that an optimiser's step took out of their bounds back to the nearest bound."""
        for name, (low, high) in self.bounds.items():
            field = self._fields[name]
            value = getattr(self, field)
            if not parametrize.is_parametrized(self, field):
                value.clamp_(low, high)
            elif not torch.equal(inside := value.clamp(low, high), value):
                # What the bound is made of is the parametrization's to say.
                setattr(self, field, inside)
        return self

    def keep_bounds(self, optimiser: torch.optim.Optimizer) -> Any:
        """Calls `project_` after every step of an optimiser; gives a handle whose `remove()` ends that.

        >>> from neural_compiler import compile_scheme
        >>> module = compile_scheme("(param k 0.5 :min 0) (* k x)")
        >>> optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
        >>> handle = module.keep_bounds(optimiser)
        >>> module(x=torch.tensor(3.0)).backward()
        >>> optimiser.step()  # to 0.5 - 3, which is below 0
        >>> module.k.item()
        0.0
        """

        def project(*_: Any) -> None:
            self.project_()

        return optimiser.register_step_post_hook(project)

    # What it is.

    @property
    def source(self) -> str:
        """The text."""
        return self._compiled.core.source

    @property
    def anf(self) -> str:
        """The text in A-normal form, loops found."""
        return self._compiled.core.anf

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs, in order, parameters included."""
        return self._compiled.inputs

    @property
    def graph(self) -> Graph:
        """What runs, to be printed, drawn or read."""
        return Graph(self._compiled, None)

    def graph_for(self, **shapes: Size) -> Graph:
        """The same for these shapes, where the program does not pin them."""
        positions(self.inputs, list(shapes))
        return Graph(self._compiled, [sizes(i.name, shapes[i.name]) if i.name in shapes else list(i.shape or ()) for i in self.inputs])

    def explain_domain(
        self, ranges: Mapping[str, tuple[float, float]], dtype: torch.dtype = torch.float64, **shapes: Size
    ) -> tuple[Diagnostic, ...]:
        """What may leave the safe domain for inputs in these ranges; empty is a proof that nothing does.

        Inputs left out may be any finite number; parameters have their value.
        """
        positions(self.inputs, list(ranges))
        listed: list[tuple[float, float] | None] = []
        for i in self.inputs:
            if i.name in ranges:
                low, high = ranges[i.name]
                if not low <= high:
                    raise ValueError(f"the range of `{i.name}` is empty: {low} to {high}")
                listed.append((float(low), float(high)))
            elif i.name in self._fields:
                value = getattr(self, self._fields[i.name]).detach()
                listed.append((float(value.min()), float(value.max())))
            else:
                listed.append(None)
        told = self.graph_for(**shapes).shapes if shapes else None
        return tuple(map(_diagnostic, self._function.domain(listed, dtype == torch.float64, told)))

    def extra_repr(self) -> str:
        derived = "".join(f".{what}({', '.join(self._names[i] for i in wrt)})" for what, wrt in self._steps)
        inputs = ", ".join(f"{i.name}: {i.described}" for i in self.inputs)
        return f"({inputs}){derived}: {' '.join(self.source.split())}"

    def _repr_latex_(self) -> str | None:
        # The formula is that of the program: a derivative has none.
        return None if self._steps else f"$$\n{self._compiled.core.latex}\n$$"

    def _repr_html_(self) -> str:
        import html

        drawn = "" if any(i.shape is None for i in self.inputs) else self.graph._repr_svg_()
        return f"<pre>{html.escape(repr(self))}</pre>{drawn}"

    # State: the text stands for the program.

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledModule:
        # Said here, so that `torch.nn.utils.parametrize` does not say it for us.
        other = memo[id(self)] = self.__class__.__new__(self.__class__)
        other.__dict__ = copy.deepcopy(CompiledModule.__getstate__(self), memo)
        other._link(self._spec)
        join_links(other)
        return other

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The class of one program is made again where the module arrives.
        return (_blank, (), self.__getstate__()) if _is_of_one_program(self) else super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for made in ("_compiled", "_function", "_follow", "_caller"):
            state.pop(made, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._link(self._spec)
        join_links(self)


_OF_ONE_PROGRAM = "_of_one_program"
"""The mark of the classes below."""


def _is_of_one_program(module: CompiledModule) -> bool:
    return _OF_ONE_PROGRAM in vars(type(module))


def _blank() -> CompiledModule:
    return CompiledModule.__new__(CompiledModule)


def _class_of(compiled: Compiled) -> type[CompiledModule]:
    """The class of the modules of one program: `CompiledModule`, but with functions of its own. `torch.compile` keeps what it compiles
    by the code of the function that was called, and gives up after eight programs that share one. It goes when the program does."""
    if compiled.called_as is None:
        own: dict[str, Any] = {_OF_ONE_PROGRAM: True, "__module__": CompiledModule.__module__, "__qualname__": CompiledModule.__qualname__}
        own["__doc__"] = CompiledModule.__dict__["__doc__"]
        for name in ("__call__", "forward"):
            shared = CompiledModule.__dict__[name]
            made = FunctionType(shared.__code__.replace(), shared.__globals__, name, shared.__defaults__, shared.__closure__)
            made.__kwdefaults__, made.__annotations__ = shared.__kwdefaults__, shared.__annotations__
            made.__doc__, made.__qualname__, made.__module__ = shared.__doc__, shared.__qualname__, shared.__module__
            own[name] = made
        compiled.called_as = type(CompiledModule.__name__, (CompiledModule,), own)
    found: type[CompiledModule] = compiled.called_as
    return found


class Graph:
    """A graph to look at: `print` it, draw it in a notebook, or read it with `to_dict`."""

    def __init__(self, compiled: Compiled, shapes: list[list[int]] | None) -> None:
        self._compiled = compiled
        self.shapes = shapes

    def __str__(self) -> str:
        return self._compiled.function().graph_text(self.shapes)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Regions, nodes, operations, attributes, constants and shapes as data."""
        found: dict[str, Any] = json.loads(self._compiled.function().graph_json(self.shapes))
        return found

    def _repr_svg_(self) -> str:
        return self._compiled.function().svg(self.shapes)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _lowered_as(spec: str, shapes: Shapes, by_lane: bool) -> tuple[bool, bool, bool, bool]:
    """Lowers a program, while a compiler traces if need be; gives whether its code looks at numbers to go on, whether at all, whether it
    solves equations, and whether its derivatives multiply matrices."""
    lowered = find(spec, hold=True).lowered((), shapes, by_lane)
    return lowered.looks, lowered.may_fail, lowered.solves, lowered.multiplies


def _as_operation(compiled: Compiled, tensors: list[Tensor]) -> Any:
    """Runs as the operation that compilers and tracers see."""
    from .library import run_as_operation

    return run_as_operation(compiled, "[]", tensors)


def _shown(value: Tensor) -> float | None:
    """A number as a signature shows it."""
    return value.item() if value.dim() == 0 and value.is_cpu else None


def _proxy_in(value: Any) -> Proxy | None:
    """What `torch.fx` has put into the arguments of a call, if it looks on."""
    if isinstance(value, Proxy):
        return value
    if isinstance(value, (list, tuple, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            # Numbers, of which there may be many, are passed by here.
            if isinstance(v, (Proxy, list, tuple, dict)) and (found := _proxy_in(v)) is not None:
                return found
    return None


def _in_a_dict(args: tuple[Any, ...]) -> bool:
    return len(args) == 1 and isinstance(args[0], Mapping)


def _any_needs_grad(values: Sequence[Any]) -> bool:
    for v in values:
        if isinstance(v, Tensor) and v.requires_grad:
            return True
    return False
