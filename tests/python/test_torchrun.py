"""The recipe of docs/engines.md for training on several processes: examples/torchrun/train.py under torchrun, two processes with gloo."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "torchrun" / "train.py"


def torchrun(folder: pathlib.Path, *options: str) -> list[float]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(SCRIPT), *options]
    done = subprocess.run(
        [*command, "--losses", "losses.json"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "losses.json").read_text())


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torchrun_recipe", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def alone(recipe: ModuleType) -> list[float]:
    return recipe.train(30)


def test_two_processes_have_the_losses_of_one(tmp_path: pathlib.Path, recipe: ModuleType, alone: list[float]) -> None:
    assert alone[-1] < alone[0] / 2
    # Sums in another order: 30 steps of Adam in float64 keep ten digits.
    whole = torchrun(tmp_path, "--steps", "30")
    assert whole == pytest.approx(alone, rel=1e-10)
    torchrun(tmp_path, "--steps", "20", "--checkpoint", "run.pt", "--every", "20")
    for name in ("sharded.pt", "single.pt"):
        shutil.copy(tmp_path / "run.pt", tmp_path / name)
    # Gone on from a checkpoint, to the bit; sharded, and in one process, from the same checkpoint.
    assert torchrun(tmp_path, "--steps", "30", "--checkpoint", "run.pt") == whole[20:]
    assert torchrun(tmp_path, "--steps", "30", "--checkpoint", "sharded.pt", "--fsdp") == pytest.approx(alone[20:], rel=1e-10)
    assert recipe.train(30, tmp_path / "single.pt") == pytest.approx(alone[20:], rel=1e-10)


def test_one_process_goes_on_to_the_bit(tmp_path: pathlib.Path, recipe: ModuleType, alone: list[float]) -> None:
    checkpoint = tmp_path / "run.pt"
    assert recipe.train(10, checkpoint) + recipe.train(30, checkpoint) == alone
