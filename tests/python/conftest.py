"""The order of the tests: files that take minutes come first, so that two workers end at about the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = ["wheel", "torch_onnx", "notebooks", "torch_features", "torch_matrix", "torchrun", "odeint_stiff", "fork", "types", "fx_special"]
"""By how long they take, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {f"test_{name}": k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(LONG)))
