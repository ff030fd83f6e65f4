"""The order of the tests, and tests in an interpreter of their own. Files that take minutes come first, so that two workers end at about
the same time. What is marked `fresh` must not depend on what ran before it in a worker."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

COMPILED = tempfile.TemporaryDirectory(prefix="inductor-", ignore_cleanup_errors=True)
# What PyTorch compiles outlives a run by default, and what a broken run kept was wrong in the next ones. Workers inherit it.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", COMPILED.name)
LONG = ["wheel", "torch_onnx", "notebooks", "torch_features", "torch_matrix", "torchrun", "odeint_stiff", "fork", "types", "fx_special"]
"""By how long they take, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {f"test_{name}": k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(Path(item.path).stem, len(LONG)))


@cache
def _dispatch_keys() -> tuple[object, object]:
    """The keys by which PyTorch dispatches operations in this thread, as the first test finds them."""
    keys = sys.modules["torch"]._C
    return keys._dispatch_tls_local_include_set(), keys._dispatch_tls_local_exclude_set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """What a trace that PyTorch refused leaves behind sets its dispatch keys to others when it is collected as garbage, maybe tests later:
    every test begins with the first ones."""
    torch = sys.modules.get("torch")
    if torch is None:
        return (yield)
    with torch._C._ForceDispatchKeyGuard(*_dispatch_keys()):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is marked `fresh` runs in an interpreter of its own."""
    if pyfuncitem.get_closest_marker("fresh") is None or os.environ.get("FRESH_INTERPRETER"):
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", pyfuncitem.nodeid]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        command, cwd=pyfuncitem.config.rootpath, env={**environment, "FRESH_INTERPRETER": "1"}, capture_output=True, text=True
    )
    if run.returncode != 0:
        pytest.fail(run.stdout + run.stderr, pytrace=False)
    return True
