"""Each feature of PyTorch with each backend: it works, or it is refused in words. The table in docs/torch-features.md is what this
file finds; when they differ, NEURAL_COMPILER_WRITE_DOCS=1 writes the new one."""

from __future__ import annotations

import copy
import io
import os
import pathlib
import pickle
import tempfile
from collections.abc import Callable
from queue import Empty

import neural_compiler as nc
import pytest
import torch
import torch.distributed as distributed
import torch.multiprocessing as processes
import torch_matrix
from torch.utils.data import DataLoader, Dataset

F64 = torch.float64
SOURCE = "(loop ((i 0) (a x)) (if (>= i 2) (if (> a y) (* k a) (sin a)) (recur (+ i 1) (* a (cos (* y a))))))"
X = torch.tensor([0.3, 0.8, 1.4], dtype=F64)
Y = torch.tensor([0.5, 0.2, 0.9], dtype=F64)
DOCS = pathlib.Path(__file__).parents[2] / "docs" / "torch-features.md"
NOTES = "## Where torch itself differs or refuses"


def make(backend: str) -> nc.CompiledModule:
    return nc.compile_scheme(SOURCE, params={"k": 2.0}, backend=backend)


def hand(x: torch.Tensor, y: torch.Tensor, k: torch.Tensor | float = 2.0) -> torch.Tensor:
    a = x
    for _ in range(2):
        a = a * torch.cos(y * a)
    return torch.where(a > y, k * a, torch.sin(a))


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.shape == expected.shape and torch.allclose(found, expected, rtol=1e-12, atol=1e-12)


def backward(m: nc.CompiledModule) -> None:
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    found = torch.autograd.grad(m(x, y).sum(), (x, y, m.k))
    k = torch.tensor(2.0, dtype=F64, requires_grad=True)
    for f, e in zip(found, torch.autograd.grad(hand(x, y, k).sum(), (x, y, k))):
        same(f, e)


def double_backward(m: nc.CompiledModule) -> None:
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    assert torch.autograd.gradcheck(m, (x, y)) and torch.autograd.gradgradcheck(m, (x, y))


class Plain(torch.Tensor):
    """A class that changes nothing."""


def plain_subclass(m: nc.CompiledModule) -> None:
    found = m(X.as_subclass(Plain), Y)
    assert type(found) is Plain
    same(found.detach().as_subclass(torch.Tensor), hand(X, Y))


def own_results(m: nc.CompiledModule) -> None:
    x = X.clone()
    with torch.no_grad():
        found = m(x, Y)
        expected = found.clone()
        found.zero_()
        assert found.is_contiguous() and torch.equal(x, X) and torch.equal(m(x, Y), expected)


def batched_cotangents(m: nc.CompiledModule) -> None:
    x = X.clone().requires_grad_()
    eye = torch.eye(3, dtype=F64)
    found, expected = (torch.autograd.grad(f(x, Y), x, eye, is_grads_batched=True)[0] for f in (m, hand))
    same(found, expected)


def forward_mode(m: nc.CompiledModule) -> None:
    # Forward modes do not nest, so what is expected is computed outside.
    expected = torch.func.jvp(lambda x: hand(x, Y), (X,), (torch.ones_like(X),))[1]
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(X, torch.ones_like(X))
        same(torch.autograd.forward_ad.unpack_dual(m(dual, Y)).tangent, expected)


def _transform(of: Callable[[Callable[..., torch.Tensor]], torch.Tensor]) -> Callable[[nc.CompiledModule], None]:
    return lambda m: same(of(lambda x, y: m(x, y)), of(lambda x, y: hand(x, y)))


def compiled(m: nc.CompiledModule) -> None:
    torch._dynamo.reset()
    f = torch.compile(m, fullgraph=True, backend="aot_eager")
    x = X.clone().requires_grad_()
    out = f(x, Y)
    same(out.detach(), hand(X, Y))
    got = torch.autograd.grad(out.sum(), (x, m.k))
    k = torch.tensor(2.0, dtype=F64, requires_grad=True)
    for f_, e in zip(got, torch.autograd.grad(hand(x, Y, k).sum(), (x, k))):
        same(f_, e)


def exported(m: nc.CompiledModule) -> None:
    program = torch.export.export(m, (X, Y))
    same(program.module()(X + 0.1, Y).detach(), hand(X + 0.1, Y))


def deep_copied(m: nc.CompiledModule) -> None:
    other = copy.deepcopy(m)
    same(other(X, Y).detach(), hand(X, Y))
    assert other.k is not m.k


def pickled(m: nc.CompiledModule) -> None:
    same(pickle.loads(pickle.dumps(m))(X, Y).detach(), hand(X, Y))


def state_dict(m: nc.CompiledModule) -> None:
    with torch.no_grad():
        m.k.fill_(3.0)
    other = make(m.backend)
    other.load_state_dict(m.state_dict())
    same(other(X, Y).detach(), hand(X, Y, 3.0))


def saved_weights_only(m: nc.CompiledModule) -> None:
    file = io.BytesIO()
    torch.save(m.state_dict(), file)
    file.seek(0)
    other = make(m.backend)
    other.load_state_dict(torch.load(file, weights_only=True))
    same(other(X, Y).detach(), hand(X, Y))


class Rows(Dataset):  # type: ignore[type-arg]
    """A data set whose rows a worker process computes with the module."""

    def __init__(self, m: nc.CompiledModule) -> None:
        self.m = m

    def __len__(self) -> int:
        return 3

    def __getitem__(self, k: int) -> torch.Tensor:
        return self.m(X[k], Y[k]).detach()


def data_loader(m: nc.CompiledModule) -> None:
    for context in ("fork", "spawn"):
        rows = DataLoader(Rows(m), batch_size=3, num_workers=2, multiprocessing_context=context)
        same(next(iter(rows)), hand(X, Y))


def _rank(rank: int, meeting: str, m: nc.CompiledModule, queue: object) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    wrapped = torch.nn.parallel.DistributedDataParallel(m)
    wrapped(X + rank, Y).sum().backward()
    queue.put((rank, m.k.grad.item()))  # type: ignore[attr-defined]
    distributed.barrier()
    distributed.destroy_process_group()


def distributed_training(m: nc.CompiledModule) -> None:
    context = processes.get_context("spawn")
    queue, found = context.Queue(), {}
    # They meet in a file: no port another process could take first. However slow the machine, only a dead worker ends the wait.
    with tempfile.TemporaryDirectory() as folder:
        workers = [context.Process(target=_rank, args=(r, f"{folder}/meeting", m, queue)) for r in range(2)]
        [w.start() for w in workers]
        while len(found) < 2:
            try:
                rank, gradient = queue.get(timeout=1)
                found[rank] = gradient
            except Empty:
                assert all(w.exitcode in (None, 0) for w in workers), "a worker ended"
        [w.join() for w in workers]
    k = torch.tensor(2.0, dtype=F64, requires_grad=True)
    mean = sum(torch.autograd.grad(hand(X + r, Y, k).sum(), k)[0].item() for r in range(2)) / 2
    assert found[0] == found[1] == pytest.approx(mean, rel=1e-12)


def per_sample_gradients(m: nc.CompiledModule) -> None:
    def of(k: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(m, {"k": k}, (x, y))

    k = m.k.detach()
    found = torch.func.vmap(torch.func.grad(of), (None, 0, 0))(k, X, Y)
    same(found, torch.stack([torch.func.grad(lambda k: hand(x, y, k))(k) for x, y in zip(X, Y)]))


class Positive(torch.nn.Module):
    """e^z for a parameter."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return torch.exp(z)

    def right_inverse(self, value: torch.Tensor) -> torch.Tensor:
        return torch.log(value)


def parametrized(m: nc.CompiledModule) -> None:
    torch.nn.utils.parametrize.register_parametrization(m, "k", Positive())
    composed = m >> nc.compile_scheme("(* 2 t)", backend=m.backend)
    with torch.no_grad():
        m.parametrizations.k.original.fill_(1.0)
    k = torch.tensor(1.0, dtype=F64, requires_grad=True)
    for f, factor in ((m, 1.0), (composed, 2.0)):
        expected = factor * hand(X, Y, k.exp())
        same(f(X, Y).detach(), expected.detach())
        same(torch.autograd.grad(f(X, Y).sum(), list(f.parameters()))[0], torch.autograd.grad(expected.sum(), k)[0])


def anomaly_mode(m: nc.CompiledModule) -> None:
    with torch.autograd.detect_anomaly(check_nan=True):
        backward(m)
        # Each guards against what the other lanes have, also where no lane takes a side.
        for source, at in (
            ("(if (> x 0) (log x) x)", [1.0, 0.0]),
            ("(if (= x 2) x (/ x (- 2 x)))", [2.0, 3.0]),
            ("(if (> x 0) (sqrt x) 0)", [0.0]),
        ):
            x = torch.tensor(at, dtype=F64, requires_grad=True)
            nc.compile_scheme(source, backend=m.backend)(x).sum().backward()


def functionalized(m: nc.CompiledModule) -> None:
    def of(x: torch.Tensor) -> torch.Tensor:
        return torch.func.functionalize(m)(x, Y)

    same(of(X).detach(), hand(X, Y))
    same(torch.func.grad(lambda x: of(x).sum())(X).detach(), torch.func.grad(lambda x: hand(x, Y).sum())(X))
    inside = torch.func.functionalize(torch.func.vmap(torch.func.grad(lambda x, y: m(x, y))))
    same(inside(X, Y).detach(), torch.func.grad(lambda x: hand(x, Y).sum())(X))


FEATURES: dict[str, Callable[[nc.CompiledModule], None]] = {
    "`backward`": backward,
    "double backward (`gradgradcheck`)": double_backward,
    "forward mode (`torch.autograd.forward_ad`)": forward_mode,
    "gradients of a batch of cotangents (`is_grads_batched=True`)": batched_cotangents,
    "`torch.func.grad`": _transform(lambda f: torch.func.grad(lambda x: f(x, Y).sum())(X)),
    "`torch.func.vjp`": _transform(lambda f: torch.func.vjp(f, X, Y)[1](torch.ones_like(X))[0]),
    "`torch.func.jvp`": _transform(lambda f: torch.func.jvp(f, (X, Y), (Y, X))[1]),
    "`torch.func.vmap`": _transform(lambda f: torch.func.vmap(f, (0, None))(X, Y)),
    "`torch.func.jacrev`": _transform(lambda f: torch.func.jacrev(f)(X, Y)),
    "`torch.func.jacfwd`": _transform(lambda f: torch.func.jacfwd(f)(X, Y)),
    "`torch.func.hessian`": _transform(lambda f: torch.func.hessian(lambda x: f(x, Y).sum())(X)),
    "gradients per sample (`vmap` of `grad` of `functional_call`)": per_sample_gradients,
    "`torch.func.functionalize`, gradients included": functionalized,
    "`torch.autograd.detect_anomaly`": anomaly_mode,
    "`torch.nn.utils.parametrize`, shared by modules made of the module": parametrized,
    "`torch.compile(fullgraph=True)`, gradients included": compiled,
    "`torch.export`": exported,
    "`copy.deepcopy`": deep_copied,
    "pickle": pickled,
    "`state_dict`": state_dict,
    "`torch.save`, `torch.load(weights_only=True)`": saved_weights_only,
    "tensors of a plain subclass": plain_subclass,
    "results contiguous, in memory of their own": own_results,
    "`DataLoader` workers": data_loader,
    "`DistributedDataParallel`, gloo, two processes": distributed_training,
}

# What a backend refuses, and how it says so: (feature, backend) -> (start of the message, words for the documentation).
REFUSED: dict[tuple[str, str], tuple[str, str]] = {}

_found: dict[tuple[str, str], str] = {}


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature: str, backend: str) -> None:
    refused = REFUSED.get((feature, backend))
    if refused is None:
        FEATURES[feature](make(backend))
        _found[feature, backend] = "works"
    else:
        with pytest.raises(Exception, match=refused[0]):
            FEATURES[feature](make(backend))
        _found[feature, backend] = refused[1]


STRAIGHT = "(if (> (* x (cos (* x y))) y) (* k (exp (- y x))) (sin (/ x y)))"


def straight(x: torch.Tensor, y: torch.Tensor, k: torch.Tensor | float = 2.0) -> torch.Tensor:
    return torch.where(x * torch.cos(x * y) > y, k * torch.exp(y - x), torch.sin(x / y))


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("feature", [f for f in FEATURES if "vmap" in f or "compile" in f or "export" in f])
def test_feature_without_a_loop(feature: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_torch_features.hand", straight)
    FEATURES[feature](nc.compile_scheme(STRAIGHT, params={"k": 2.0}, backend=backend))


def test_torch_code_is_open_to_compilers() -> None:
    # Straight programs become torch operations a compiler can fuse, not one closed operation.
    program = torch.export.export(nc.compile_scheme(STRAIGHT, params={"k": 2.0}, backend="torch"), (X, Y))
    called = {str(n.target) for n in program.graph.nodes if n.op == "call_function"}
    assert {"aten.cos.default", "aten.where.self"} <= called and not any("neural_compiler" in c for c in called)


def test_the_table_in_the_documentation() -> None:
    if len(_found) < 2 * len(FEATURES):
        pytest.skip("not every feature was tried")
    lines = [
        "# What works with PyTorch",
        "",
        "Found by `tests/python/test_torch_features.py` with a program that has a loop, a branch and a parameter. `native` is the",
        "default on the CPU; `torch` is what runs on other devices, or when asked for.",
        "",
        "| feature | native | torch |",
        "|---|---|---|",
        *(f"| {f} | {_found[f, 'native']} | {_found[f, 'torch']} |" for f in FEATURES),
        "",
        "## Every derivative, every way to run",
        "",
        "Found by `tests/python/test_torch_matrix.py` (all of it with NEURAL_COMPILER_FULL_MATRIX=1): each "
        "cell with a straight program, one with a",
        "branch, one with a loop as long as the numbers ask for, and one with recursion, with both backends, "
        "compared with hand-written torch. All of",
        "it was run with PyTorch 2.15 (784 cells in 804 tests: none silently wrong, 28 to 32 refused by "
        "name, the others right); the tests of every",
        "change try every cell of eager, dispatch mode and subclass so, of the others each with one program "
        "and one backend. `backward`, double",
        "backward and dual numbers (`torch.autograd.forward_ad`) go through what was compiled or traced; "
        "function transforms are inside of what is",
        "compiled, and both inside and outside of what is traced.",
        "",
        *torch_matrix.table(),
        "",
    ]
    # Behind the tables: what was found by hand.
    notes = DOCS.read_text().partition(NOTES)
    text = "\n".join(lines) + "\n" + notes[1] + notes[2]
    assert notes[1]
    if os.environ.get("NEURAL_COMPILER_WRITE_DOCS"):
        DOCS.write_text(text)
    assert DOCS.read_text() == text
