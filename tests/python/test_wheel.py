"""A wheel installed where nothing else is: library and command work, and the command ends as the one that Cargo builds does.

The wheel is made as pip makes it, of the build that the other tests use (profile dev); `make wheel` makes the one to give away.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import venv
from types import ModuleType

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# A loop that nothing but a signal or the limit on steps ends: hours.
ENDLESS = "(loop ((i 0) (x 0.5)) (if (< i 1e15) (recur (+ i 1) (* 4 (* x (- 1 x)))) x))"


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    path = {"PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    settings = ["-C", "profile=dev", "-C", "compatibility=manylinux_2_34"]
    done = subprocess.run([*build, *settings, str(ROOT)], env=os.environ | path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder of commands of a virtual environment that has NumPy and the wheel."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    # NumPy from the environment of the tests: nothing is fetched.
    import numpy

    (site,) = folder.glob("lib/python*/site-packages")
    for name in ("numpy", "numpy.libs"):
        if (there := pathlib.Path(numpy.__file__).parents[1] / name).exists():
            (site / name).symlink_to(there)
    return folder / "bin"


def run(installed: pathlib.Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([installed / "neuralc", *args], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})


def test_the_wheel_holds_what_it_should(wheel: pathlib.Path) -> None:
    assert tool("check_wheel").faults(wheel) == []


def test_a_wheel_with_a_wrong_tag_or_without_the_command_is_found_out(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    import zipfile

    check = tool("check_wheel")
    other = tmp_path / wheel.name.replace("manylinux", "linux")
    assert "another tag" in check.faults(other)[0]
    less = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(less, "w") as part:
        for member in whole.infolist():
            if not member.filename.endswith("scripts/neuralc"):
                part.writestr(member, whole.read(member))
        part.writestr("neural_compiler/stray.txt", "")
    assert [f.split(":")[0] for f in check.faults(less)] == ["missing", "too much"]


def test_the_library_works(installed: pathlib.Path) -> None:
    fit = "nc.fit('(param a 1) (* a x)', {'x': [1, 2], 'y': [2, 4]})"
    code = f"import neural_compiler as nc; print(nc.__version__, float({fit}.params['a']))"
    done = subprocess.run([installed / "python", "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, a = done.stdout.split()
    assert abs(float(a) - 2) < 1e-12
    assert run(installed, "--version").stdout == f"neuralc {version}\n"


def test_exit_codes(installed: pathlib.Path) -> None:
    fine, wrong, usage = run(installed, "run", "-e", "(+ 1 2)"), run(installed, "run", "-e", "(+ 1"), run(installed, "run", "--nonsense")
    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "3\n", "")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "unbalanced-parenthesis" in wrong.stderr
    assert (usage.returncode, usage.stdout) == (2, "")


def test_streams_that_end(installed: pathlib.Path) -> None:
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", line, installed / "neuralc"], capture_output=True, text=True, check=False)

    enough = shell('"$0" ops | head -c 1 > /dev/null; exit ${PIPESTATUS[0]}')
    assert (enough.returncode, enough.stderr) == (0, "")
    for lost in (">&-", "> /dev/full"):
        done = shell(f'"$0" ops {lost}')
        assert done.returncode == 1
        assert "cannot write the output" in done.stderr


def test_control_c_ends_it_at_once(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    table, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("x\n" + "1\n" * 10)
    args = ["eval", "-e", f"(+ x {ENDLESS})", "--data", str(table), "--out", str(out), "--max-steps", str(10**18)]
    child = subprocess.Popen([installed / "neuralc", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The unfinished file is there once the rows are being computed; the signal takes it away again.
    while child.poll() is None and len(list(tmp_path.iterdir())) < 2:
        pass
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    assert (child.returncode, said) == (-signal.SIGINT, "")
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]
