"""The native fit behind one small face. In: a model as text and columns of numbers; out: values and standard errors of its constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import neural_compiler
import numpy as np


@dataclass(frozen=True)
class Fitted:
    values: dict[str, float]
    errors: dict[str, float | None]
    result: Any


def fit(model: str, columns: Mapping[str, Any], **options: Any) -> Fitted:
    """One thread, as every run of the experiments."""
    table = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    result = neural_compiler.fit(model, table, threads=1, **options)
    return Fitted({n: float(p) for n, p in result.params.items()}, {n: p.stderr for n, p in result.params.items()}, result)
