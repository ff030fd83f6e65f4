"""`refine`: models found from data, without PyTorch."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native
from .columns import Columns


@dataclass(frozen=True)
class Hypothesis:
    """A model that was fitted and judged."""

    text: str
    """The model, its constants fitted."""
    loglik: float | None
    """The log-likelihood of the rows fitted."""
    complexity: int
    """Operations, names and numbers of its formulas; functions count thrice."""
    params: list[dict[str, Any]]
    """Its constants: `name`, `value`, `stderr`, `ci95`."""
    holdout: dict[str, Any] | None
    """What the rows held out say: `n`, `loglik`, `stderr`, `r2`."""


@dataclass(frozen=True)
class Refinement:
    """What `refine` found."""

    best: Hypothesis
    """The hypothesis with the shortest description of itself and the data."""
    front: list[Hypothesis]
    """Hypotheses that no simpler one equals, the simplest first."""
    tried: int
    """Hypotheses tried."""
    seconds: float
    """Seconds it took."""


def refine(
    data: Any,
    *,
    target: str | None = None,
    inputs: Sequence[str] | None = None,
    states: Sequence[str] | None = None,
    time: str = "t",
    group: str | None = None,
    models: Sequence[str] = (),
    proposers: Sequence[str] = (),
    budget: float = 300.0,
    holdout: float = 0.2,
    seed: int = 0,
) -> Refinement:
    """Finds models from data: hypotheses are proposed, compiled, fitted, judged, and proposed anew.

    `data`: as for `fit`; headers may have units, `"T [K]"`. Either `target`, a column that a formula of the `inputs` (left out: all others)
    is to explain, or `states`, the columns that are states of a differential equation, with the columns of `time` and `group`. `models`:
    texts to begin with, in Scheme. `proposers`: `terms`, `search`, `person:FILE` or commands (docs/proposers.md); left out: the one built
    in. `budget`: seconds there are. `holdout`: the share of rows that judges and fits nothing.

    >>> x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    >>> refine({"x": x, "y": [0.5 * v**2 for v in x]}, target="y", holdout=0).best.params[0]["value"]
    0.5
    """
    if (target is None) == (states is None):
        raise ValueError("say what to explain: either `target`, for a formula, or `states`, for a differential equation")
    columns = Columns(data, (group,))
    numbers = columns.numbers
    if target is not None:
        bare = [header.split("[")[0].split("(")[0].strip() or header for header in numbers]
        others = list(inputs) if inputs is not None else [name for name in bare if name != target]
        wanted: Any = ((target, others), None)
    else:
        wanted = (None, (list(states or ()), time, group))
    answer = _native.refine_models(list(numbers.items()), wanted, list(models), list(proposers), (float(budget), float(holdout), seed))
    told = json.loads(answer)
    for warning in told["warnings"]:
        warnings.warn(warning, stacklevel=2)
    front = [Hypothesis(**one) for one in told["front"]]
    return Refinement(Hypothesis(**told["best"]), front, told["tried"], told["seconds"])
