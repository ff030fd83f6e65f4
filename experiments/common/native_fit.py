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


def available() -> bool:
    return hasattr(neural_compiler, "fit")


def fit(model: str, columns: Mapping[str, Any], **options: Any) -> Fitted:
    table = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    result = neural_compiler.fit(model, table, **options)
    return Fitted({p.name: p.value for p in result.parameters}, {p.name: p.stderr for p in result.parameters}, result)
