"""The table of operations as Python sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from . import _native


@dataclass(frozen=True)
class Operation:
    """One operation of the language."""

    op: str
    """Its name in graphs; several operations may share a surface name and differ in the number of arguments."""
    name: str
    """Its name in programs; those without start with @."""
    aliases: tuple[str, ...]
    group: str
    arity: tuple[int, int | None]
    """Least and most arguments; None for any number."""
    elementwise: bool
    composite: bool
    """Whether it is made of other operations while a graph is built, so that no graph holds it."""
    surface: bool
    """Whether programs can name it."""
    usage: str
    doc: str
    derivative: str
    domain: str
    probes: tuple[tuple[float, ...], ...]
    """Scalar arguments that probe it, hard cases included."""
    onnx: bool
    """Whether ONNX models can have it."""
    paper: bool
    """One of the paper's 51."""


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation of the table.

    >>> next(o.doc for o in operations() if o.name == "+")
    'sum, from left to right; 0 without arguments'
    """
    return tuple(
        Operation(**{**row, "aliases": tuple(row["aliases"]), "probes": tuple(map(tuple, row["probes"]))}) for row in _native.operations()
    )
