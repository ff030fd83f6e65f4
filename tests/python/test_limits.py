"""Memory and work are charged before they are spent; what is too much is an exception, and Ctrl-C ends a call."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import neural_compiler as nc
import numpy as np
import pytest


def python(code: str, address_space: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs code in another interpreter, with so many bytes of address space; nothing it does can end this one."""
    head = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({address_space}, {address_space}))\n" if address_space else ""
    run = [sys.executable, "-c", head + textwrap.dedent(code)]
    return subprocess.run(run, capture_output=True, text=True, timeout=600, check=False)


def test_a_value_too_large_for_any_run_is_an_error_not_the_end_of_python() -> None:
    with pytest.raises(nc.CompileError) as caught:
        nc.compile("(total (outer (* x (ones 100000)) (ones 100000)))")
    assert caught.value.diagnostics[0].code == "limit-memory"
    long = f"(vlen (concat {'(zeros 10000000) ' * 430}))"
    with pytest.raises(nc.CompileError) as caught:
        nc.compile(long)
    assert caught.value.diagnostics[0].code == "limit-memory"


def test_derivatives_that_no_value_can_hold_are_refused_before_their_graph_is_made() -> None:
    n = 10_000_000
    square, size = nc.compile("(* v v)", inputs={"v": n}), nc.compile("(vsum (* v v))", inputs={"v": n})
    for call in (lambda: square.jacobian()(v=np.ones(n)), lambda: size.hessian(v=np.ones(n)), lambda: size.grad().jacobian()(v=np.ones(n))):
        with pytest.raises(nc.CompileError) as caught:
            call()
        assert caught.value.diagnostics[0].code == "limit-memory"


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_both_backends_refuse_values_beyond_the_limit_before_they_make_them(backend: str) -> None:
    code = f"""
        import neural_compiler as nc, torch
        v = torch.ones(20000, dtype=torch.float64, requires_grad=True)
        program = nc.compile_scheme("(total (outer v v))", inputs=["v"], backend="{backend}")
        for call in (lambda: program(v.detach()), lambda: program(v).backward()):
            try:
                call()
            except nc.EvaluationError as error:
                print(error.diagnostic.code)
        # Half as many bytes are within the limit; and what a branch does not take is not charged.
        choice = nc.compile_scheme("(if (> (ref v 0) 5) (total (outer v v)) 1)", inputs=["v"], backend="{backend}")
        print(float(choice(v.detach())))
    """
    # An outer product of 20,000 numbers has 3.2 GB, more than the run may hold, and more than there is.
    done = python(code, address_space=5 << 30)
    assert (done.returncode, done.stdout.split()) == (0, ["limit-memory", "limit-memory", "1.0"]), done.stderr[-2000:]


@pytest.mark.parametrize(
    "call",
    [
        'nc.compile("(total (outer v v))", inputs=["v"])(v=np.ones(12000))',
        'nc.compile("(total (matmul m m))", inputs=["m"])(m=np.ones((9000, 9000), np.float32))',
        'nc.compile("(fill x 4000 4000)")(x=np.ones(3000))',
        'nc.compile("(fill x 4000 4000)")(x=np.broadcast_to(1.0, (2**20, 2**20)))',
        'nc.compile("(fill x 4000 4000)")(x=np.broadcast_to(1.0, (2**40, 2**40)))',
        'nc.compile("(* x y)")(x=np.broadcast_to(np.ones(3)[::-1], (2**33, 3))[::-1], y=1.0)',
        'nc.compile("(vsum (* v v))", inputs=["v"]).hessian(v=np.ones(20000))',
        'nc.compile("(total (* m m))", inputs={"m": (3, 3)}).hessian(m=np.broadcast_to(1.0, (2**31, 3, 3)))',
        'nc.compile("(total m)", inputs=["m"])(m=np.broadcast_to(1.0, (2**31, 2**31)))',
        'nc.compile("(det m)", inputs=["m"])(m=np.ones((9000, 9000)))',
    ],
)
def test_no_size_ends_the_process(call: str) -> None:
    code = f"""
        import neural_compiler as nc, numpy as np
        nc.set_num_threads(1)
        try:
            {call}
        except (nc.EvaluationError, nc.CompileError) as error:
            print(type(error).__name__, (error.diagnostics[0] if hasattr(error, "diagnostics") else error.diagnostic).code)
        except (MemoryError, ValueError) as error:
            print(type(error).__name__)
    """
    done = python(code, address_space=2 << 30)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.split()[0] in ("EvaluationError", "CompileError", "MemoryError", "ValueError"), done.stdout


def test_the_work_of_large_operations_counts() -> None:
    program = nc.compile("(total (matmul m m))", inputs=["m"])
    with pytest.raises(nc.EvaluationError, match="loop rounds and calls"):
        program(m=np.ones((4096, 4096), np.float32))
    assert program(m=np.ones((64, 64))) == 64**3


@pytest.mark.parametrize(
    "call",
    [
        'nc.compile("(loop ((i 0) (s x)) (if (= i 4e7) s (recur (+ i 1) (sin s))))")(x=np.linspace(0, 1, 4000))',
        'nc.compile("(loop ((i 0) (s x)) (if (= i 4e7) s (recur (+ i 1) (* s 0.5))))")(x=np.linspace(0, 1, 200000))',
        'nc.compile("(loop ((i 0) (s x)) (if (= i 4e7) s (recur (+ i 1) (sin s))))")(x=np.linspace(0, 1, 20000), check=True)',
        'nc.compile("(total (matmul m m))", inputs=["m"])(m=np.ones((3000, 3000)))',
    ],
)
def test_ctrl_c_ends_a_call(call: str) -> None:
    code = f"""
        import neural_compiler as nc, numpy as np, signal
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            # What Ctrl-C does, as soon as a call has begun.
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            for _ in range(10**9):
                {call}
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = python(code)
    assert done.returncode == 0 and done.stdout == "interrupted\n", done.stderr[-2000:]
