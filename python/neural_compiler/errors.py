"""What can go wrong: `CompileError` for a program without meaning, `EvaluationError` for a run without result, `TableError` and `FitError`
for tables that do not fit a program or a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal acts upon instead of showing it; the command knows them as well (`acts` in `neural-compiler-render`)."""


def _shown(text: str) -> str:
    """A text with words of others in it, for a terminal: what would act there is written as `\\u{1b}`."""
    return _ACTING.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a program: a stable code, where it is, what it is, and how to mend it."""

    code: str
    severity: str
    message: str
    start: int
    """First byte of the place in the source."""
    end: int
    """One past its last byte."""
    line: int
    """Line of the place, from 1."""
    column: int
    """Column of the place in characters, from 1."""
    labels: tuple[tuple[int, int, str], ...] = ()
    """Further places that matter: start, end, text."""
    help: str | None = None
    text: str = field(default="", repr=False)
    """The finding with an excerpt of the source."""

    def __str__(self) -> str:
        return self.text


def _diagnostic(found: dict[str, Any]) -> Diagnostic:
    return Diagnostic(**{**found, "labels": tuple(found["labels"])})


class CompileError(ValueError):
    """A program has no meaning. `diagnostics` says all that is wrong with it; printed, it shows the places in the source.

    >>> import neural_compiler as nc
    >>> try:
    ...     nc.compile("(sin x y)")
    ... except nc.CompileError as error:
    ...     print(error.diagnostics[0].code)
    wrong-arity
    """

    def __init__(self, source: str, found: list[dict[str, Any]]) -> None:
        self.source = source
        self.diagnostics: tuple[Diagnostic, ...] = tuple(map(_diagnostic, found))
        self._found = found
        super().__init__("\n" + "\n".join(d.text for d in self.diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return CompileError, (self.source, self._found)


class FitError(ValueError):
    """A model cannot be fitted to data: a column is missing, a value is no number, there are too few rows. `diagnostics` says all of it,
    with row and column; `code` is the stable code of the first."""

    def __init__(self, source: str, found: list[dict[str, Any]]) -> None:
        self.source = source
        self.diagnostics: tuple[Diagnostic, ...] = tuple(map(_diagnostic, found))
        self.code = self.diagnostics[0].code
        self._found = found
        # Most mistakes are in the data, not at a place in the text.
        words = (d.message + (f"; {d.help}" if d.help else "") if d.end == 0 else f"\n{d.text}" for d in self.diagnostics)
        super().__init__(_shown("\n".join(words)))

    def __reduce__(self) -> tuple[Any, ...]:
        return FitError, (self.source, self._found)


class TableError(ValueError):
    """A table does not fit a program: a column is missing or holds no numbers, a value is missing, a whole number would be rounded.

    `code` is the stable code (docs/tables.md); `column` is the column and `row` the row, counted from 1, where there is one.
    """

    def __init__(self, code: str, message: str, column: str | None = None, row: int | None = None, help: str | None = None) -> None:
        self.code = code
        self.column = column
        self.row = row
        self._told = (code, message, column, row, help)
        super().__init__(_shown(f"{code}: {message}" + (f"; {help}" if help else "")))

    def __reduce__(self) -> tuple[Any, ...]:
        return TableError, self._told


class LibraryError(FitError):
    """A library has no such module, refuses a new one, or holds one that was changed. `diagnostics` says all of it; `code` is the stable
    code of the first."""

    def __reduce__(self) -> tuple[Any, ...]:
        return LibraryError, (self.source, self._found)


class EvaluationError(ArithmeticError):
    """A run has no result: a limit was met, an index was out of range, or a checked run left the safe domain.

    `code` is the stable code, `lane` the index of the batch element (in the flattened batch, or among the rows of a table, from 0) it
    happened in, if any.
    """

    def __init__(self, source: str, found: dict[str, Any], lane: int | None, among: str = "lane") -> None:
        self.source = source
        self.diagnostic = _diagnostic(found)
        self.code = self.diagnostic.code
        self.lane = lane
        self._found = found
        self._among = among
        # Rows of tables are counted from 1, as everywhere.
        where = "" if lane is None else f" (in row {lane + 1})" if among == "row" else f" (in lane {lane})"
        super().__init__(_shown(f"{self.diagnostic.message}{where}\n{self.diagnostic.text}"))

    def __reduce__(self) -> tuple[Any, ...]:
        return EvaluationError, (self.source, self._found, self.lane, self._among)
