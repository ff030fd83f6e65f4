"""The table of schemes, as the extension has it: names, orders, numbers. In: a name; out: a row. A new row is a new method here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _native

AUTO = "auto"
"""The name under which the solver chooses between `EXPLICIT` and `IMPLICIT` itself."""
EXPLICIT, IMPLICIT = "dopri5", "rosenbrock"
SAFETY, SHRINK, GROW, FAILED = _native.step_control()
"""How long the next step may be: the share of the best guess that is taken, how far a step shrinks and grows at most, how far one shrinks
that has left the numbers."""


@dataclass(frozen=True, eq=False)
class Scheme:
    """A row of the table."""

    name: str
    kind: str
    """`explicit` or `rosenbrock`."""
    order: int
    embedded: int | None
    """Order of the solution the error estimate compares with; None: steps are given."""
    numbers: dict[str, Any]

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its steps."""
        return self.embedded is not None

    @property
    def error_order(self) -> float:
        """The power of the step that the error estimate goes with."""
        return float((self.embedded or 0) + 1)


SCHEMES: dict[str, Scheme] = {}
"""Every scheme by its name and its other names."""
NAMES = [AUTO]
"""What a method may be called."""
for _row in _native.schemes():
    _scheme = Scheme(_row["name"], _row["kind"], _row["order"], _row["embedded"], _row)
    NAMES.append(_scheme.name)
    SCHEMES |= dict.fromkeys([_scheme.name, *_row["aliases"]], _scheme)


def chosen(method: str) -> list[Scheme]:
    """The schemes a solution goes through, in order."""
    if method == AUTO:
        return [SCHEMES[EXPLICIT], SCHEMES[IMPLICIT]]
    if method not in SCHEMES:
        raise ValueError(f"the method is one of {', '.join(NAMES)}, not {method!r}")
    return [SCHEMES[method]]
