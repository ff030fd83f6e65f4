"""Inputs of a program: what the caller says about them and how a call's arguments find them. Shared by both faces."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from keyword import iskeyword
from typing import Any, Protocol, TypeAlias

from . import _native

Size: TypeAlias = "int | Sequence[int] | None"
"""A shape as callers write it: None or () for a scalar, 3 or (3,) for a vector, (3, 3) for a matrix."""

Inputs: TypeAlias = "Iterable[str] | Mapping[str, Size]"


RESERVED = frozenset({"self", "check", "out", "wrt"})
"""Names that calls give a meaning where no input has them."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program."""

    name: str
    rank: int
    """0 for a scalar, 1 for a vector, 2 for a matrix."""
    shape: tuple[int, ...] | None
    """Its sizes, where the program pins them."""
    kind: str
    """`free`, `declared`, `param`, `state` or `weight`."""
    info: dict[str, Any]
    """What its declaration says."""

    @property
    def described(self) -> str:
        """What it is, in words."""
        what = ("scalar", "vector", "matrix")[self.rank]
        return what if not self.shape else f"{what}({','.join(map(str, self.shape))})"


def sizes(name: str, size: Size) -> list[int]:
    """A shape as callers write it, as a list of sizes."""
    if size is None:
        return []
    listed = [size] if isinstance(size, int) else list(size)
    if any(isinstance(n, bool) or not isinstance(n, int) for n in listed):
        raise TypeError(f"the shape of `{name}` is None, a number or a tuple of numbers, not {size!r}")
    return listed


def described_inputs(inputs: Inputs | None) -> list[tuple[str, list[int] | None]] | None:
    """Names with sizes where the caller gives any."""
    if inputs is None:
        return None
    if isinstance(inputs, str):
        raise TypeError(f"`inputs` is a list of names or a mapping from name to shape, not the text {inputs!r}")
    if isinstance(inputs, Mapping):
        return [(name, sizes(name, size)) for name, size in inputs.items()]
    return [(name, None) for name in inputs]


def read_inputs(core: _native.Core) -> tuple[Input, ...]:
    """The inputs of a compiled program, in order."""
    return tuple(map(_read, core.inputs))


def warn_of_groups(core: _native.Core, given: Container[str]) -> None:
    """Warns where the text of a saved fit has the mean over groups in the place of a value nobody gives."""
    for name in core.by_group:
        if name not in given:
            text = f"the fit of this model has a value of `{name}` for each group; here it begins at their mean"
            warnings.warn(f"{text}: give the one to compute with, params={{{name!r}: …}}, or use `neural_compiler.predict`", stacklevel=3)


def _read(said: dict[str, Any]) -> Input:
    name, rank, shape, kind = said.pop("name"), said.pop("rank"), said.pop("shape"), said.pop("kind")
    return Input(name, rank, None if shape is None else tuple(shape), kind, said)


def bind(names: Sequence[str], values: dict[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments of a call in the order of `names`; `values` has those that need not be given.

    Arguments come by position, by keyword, or in one dict.
    """
    given: dict[str, Any] = {}
    listed = list(args)
    if len(listed) == 1 and isinstance(listed[0], Mapping):
        given = dict(listed.pop())
    required = [n for n in names if n not in values]
    if len(listed) > len(required):
        raise TypeError(
            f"{len(listed)} arguments were given by position, the program has {len(required)} inputs: {', '.join(required) or 'none'}"
        )
    for name, value in [*zip(required, listed), *kwargs.items()]:
        if name in given:
            raise TypeError(f"the input `{name}` was given twice")
        given[name] = value
    known = set(names)
    for name in given:
        if name not in known:
            raise TypeError(_no_input(name, names))
    missing = [n for n in required if n not in given]
    if missing:
        raise TypeError(
            f"the input{'s' if len(missing) > 1 else ''} {', '.join(f'`{n}`' for n in missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing"
        )
    return [given[n] if n in given else values[n] for n in names]


def call_signature(inputs: Sequence[Input], values: Mapping[str, Any], options: Mapping[str, Any]) -> inspect.Signature:
    """The signature of a call, as editors and `help` show it: inputs with what they are, those of `values` optional, then options.

    Values with axes are shown as `...`."""
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    # An input whose name is no word of Python is given by position or in one dict.
    plain = [i for i in inputs if i.name.isidentifier() and not iskeyword(i.name)]
    required = [inspect.Parameter(i.name, keyword, annotation=i.described) for i in plain if i.name not in values]
    given = [
        inspect.Parameter(
            i.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=i.described,
            default=values[i.name] if isinstance(values[i.name], float) else ...,
        )
        for i in plain
        if i.name in values
    ]
    inputs_named = {i.name for i in inputs}
    listed = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=v) for n, v in options.items() if n not in inputs_named]
    return inspect.Signature([*required, *given, *listed])


class Called(Protocol):
    """What calls and `help` describe: a program or a module."""

    inputs: tuple[Input, ...]
    source: str

    def _call_signature(self) -> inspect.Signature: ...


class OwnSignature:
    """`__signature__` of an object; its class has none of its own, so that `inspect` looks at how one is made."""

    def __get__(self, of: Called | None, _: type) -> inspect.Signature:
        if of is None:
            raise AttributeError("__signature__")
        return of._call_signature()


class OwnDoc:
    """`__doc__` of a class and of its objects: `help(program)` tells its inputs and its text, and where the rest is told."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, of: Called | None, owner: type) -> str:
        return self.text if of is None else _told(of, owner.__name__)


def _told(of: Called, kind: str) -> str:
    signature = of._call_signature()
    lines = [f"Call it as {signature}: by position, by name or in one dict, with any leading batch sizes.", ""]
    for i in of.inputs:
        known = signature.parameters.get(i.name)
        value = known.default if known is not None and isinstance(known.default, float) else None
        low, high = i.info.get("min"), i.info.get("max")
        said = [
            {"param": "a parameter", "state": "a state", "weight": "a weight of a net"}.get(i.kind, "an input"),
            i.described,
            *([f"{value:.6g} unless given"] if value is not None else []),
            *([f"at least {low:.6g}"] if low is not None else []),
            *([f"at most {high:.6g}"] if high is not None else []),
        ]
        lines.append(f"{i.name}: {', '.join(said)}")
    return "\n".join(
        [*lines, "", "The text:", *("    " + line for line in of.source.strip().splitlines()), "", f"Its methods: help({kind})."]
    )


def positions(inputs: Sequence[Input], wrt: Sequence[str]) -> list[int]:
    """Where the named inputs stand; an error names one the program does not have."""
    places = {i.name: k for k, i in enumerate(inputs)}
    for name in wrt:
        if name not in places:
            raise ValueError(_no_input(name, list(places)))
    if len(set(wrt)) != len(wrt):
        raise ValueError(f"an input is named twice: {', '.join(wrt)}")
    return [places[name] for name in wrt]


def _no_input(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"the program has no input `{name}`" + (
        f"; did you mean `{near[0]}`?" if near else f"; its inputs are {', '.join(names) or 'none'}"
    )
