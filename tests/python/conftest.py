"""The order of the tests: files that take minutes come first, so that two workers end at about the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = ["wheel", "notebooks", "torch_onnx", "torch_features", "types", "torchrun", "native_ulp", "fork", "torch_matrix", "odeint_stiff"]
"""By how long they take, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {f"test_{name}": k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(LONG)))
