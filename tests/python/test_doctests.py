"""Every example in a docstring of the package runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import neural_compiler
import pytest

MODULES = [
    "neural_compiler",
    *(m.name for m in pkgutil.walk_packages(neural_compiler.__path__, "neural_compiler.") if "_native" not in m.name),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_there_are_examples() -> None:
    count = sum(
        doctest.testmod(importlib.import_module(n), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).attempted for n in MODULES
    )
    assert count >= 20
