"""Frozen modules: programs with their signature, proved domain, examples and hash, in a folder of plain files.

In: a folder, texts, queries; out: modules as `LibraryModule`. The rules are those of `neuralc library` (docs/library.md): the same crate
keeps them.
"""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _native
from .program import Program, compile


@dataclass(frozen=True)
class LibraryModule:
    """A module of a library; it never changes."""

    name: str
    version: int
    hash: str
    description: str
    inputs: tuple[dict[str, Any], ...]
    """Name, shape, unit and range of each input."""
    output: dict[str, Any]
    """Shape and unit of the value."""
    text: str = field(repr=False)
    proved: bool
    """No operation leaves its domain for inputs in their ranges."""
    record: dict[str, Any] = field(repr=False, compare=False)
    """Everything else that was recorded: `params`, `domain`, `uses`, `examples`, `probes`, `provenance`."""

    @property
    def id(self) -> str:
        """`name@version`"""
        return f"{self.name}@{self.version}"


def _module(text: str) -> LibraryModule:
    record = json.loads(text)
    names = ("name", "version", "hash", "description", "output", "text")
    inputs = tuple(record["inputs"])
    return LibraryModule(**{n: record[n] for n in names}, inputs=inputs, proved=record["domain"]["proved"], record=record)


@dataclass(frozen=True)
class Found:
    """A module that was searched for."""

    module: LibraryModule
    columns: dict[str, str]
    """By behaviour: the column that is each input."""
    error: float | None
    """By behaviour: the largest error, in units of the spread of the column."""


class Library:
    """A folder of frozen modules.

    >>> import neural_compiler as nc, tempfile
    >>> library = nc.Library.init(tempfile.mkdtemp() + "/library")
    >>> library.add("kinetic", "(* 0.5 m (square v))", examples=["m = 2, v = 3 => 9"]).id
    'kinetic@1'
    >>> float(library.program("kinetic@1")(m=2.0, v=3.0))
    9.0
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._native = _native.Library(os.fspath(folder), False)

    @classmethod
    def init(cls, folder: str | os.PathLike[str]) -> Library:
        """Makes a library of a folder, which is made where it is missing."""
        _native.Library(os.fspath(folder), True)
        return cls(folder)

    @classmethod
    def nearest(cls, folder: str | os.PathLike[str] = ".") -> Library | None:
        """The library that programs of a folder mean by `(use name@2)`."""
        found = _native.Library.nearest(os.path.abspath(folder))
        return None if found is None else cls(found.folder)

    @property
    def folder(self) -> Path:
        """Where it is."""
        return Path(self._native.folder)

    def __iter__(self) -> Iterator[LibraryModule]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self._native.modules())

    def __getitem__(self, name: str) -> LibraryModule:
        return _module(self._native.get(name))

    def list(self) -> builtins.list[LibraryModule]:
        """All modules, by name and version."""
        return [_module(m) for m in self._native.modules()]

    def add(
        self,
        name: str,
        text: str,
        *,
        description: str = "",
        examples: Sequence[str] = (),
        ranges: Mapping[str, tuple[float, float]] | None = None,
        provenance: Mapping[str, Any] | None = None,
        allow_unproved: bool = False,
        allow_equal: bool = False,
    ) -> LibraryModule:
        """Freezes a program as the next version of a module. It must compile, its examples (`"x = 1, y = 2 => 3"`, `~>` to 1e-12) must
        hold, its domain must be proved for inputs in `ranges`, and the library must not have its equal."""
        bounds = [(n, (float(lo), float(hi))) for n, (lo, hi) in (ranges or {}).items()]
        origin = json.dumps(dict(provenance or {}))
        return _module(self._native.add(name, text, description, list(examples), bounds, origin, (allow_unproved, allow_equal)))

    def search(
        self,
        text: str | None = None,
        *,
        signature: str | None = None,
        units: str | None = None,
        samples: Mapping[str, Any] | None = None,
        target: str | None = None,
        tolerance: float = 1e-6,
    ) -> builtins.list[Found]:
        """Modules by words, by shapes (`"scalar, [3] -> scalar"`), by units (`"kg, kg, m -> N"`), or by behaviour: those that compute the
        column `target` (the last, unless it is named) of `samples` from the others."""
        asked = None
        if samples is not None:
            columns = [(str(n), [float(x) for x in column]) for n, column in samples.items()]
            asked = (columns, columns[-1][0] if target is None and columns else str(target), tolerance)
        return [Found(_module(m), dict(c), e) for m, c, e in self._native.search(text, signature, units, asked)]

    def test(self, *names: str) -> dict[str, builtins.list[str]]:
        """What is wrong with modules (all, unless some are named): nothing, or sentences."""
        return dict(self._native.test(list(names)))

    def remove(self, name: str) -> None:
        """Takes a module out; its number stays taken. A module that another uses stays."""
        self._native.remove(name)

    def export(self, name: str) -> str:
        """A module as one program, with everything it uses in place."""
        return self._native.export(name)

    def program(self, name: str) -> Program:
        """A module, compiled."""
        return compile(self.export(name))
