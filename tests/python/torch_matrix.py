"""Every way a module runs in PyTorch times every derivative: the cells, and what a cell gives. In: names of a way, a derivative, a
program and a backend; out: "works", "wrong …" or "refused: …". Each is compared with the same made of hand-written torch in eager mode."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Callable, Iterator
from typing import Any

import neural_compiler as nc
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

F64 = torch.float64
X = torch.tensor([0.3, 0.8, 1.4], dtype=F64)
Y = torch.tensor([0.5, 0.2, 0.9], dtype=F64)
V = torch.tensor([1.0, -0.5, 2.0], dtype=F64)
Of = Callable[[torch.Tensor], torch.Tensor]


def _loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(20):
        x = torch.where(x > 3, x, x * (1 + Y * x))
    return x


def _recursion(x: torch.Tensor, n: int = 3) -> torch.Tensor:
    return x if n == 0 else x * torch.exp(-Y * _recursion(torch.sin(x), n - 1))


PROGRAMS: dict[str, tuple[str, Of]] = {
    "straight": ("(* y (exp (* x (sin x))))", lambda x: Y * torch.exp(x * torch.sin(x))),
    "branch": ("(if (> x y) (* x x y) (sin (/ x y)))", lambda x: torch.where(x > Y, x * x * Y, torch.sin(x / Y))),
    # As many rounds as the numbers ask for, another number in each lane.
    "loop": ("(loop ((a x)) (if (> a 3) a (recur (* a (+ 1 (* y a))))))", _loop),
    "recursion": ("(define (f n a) (if (< n 1) a (* a (exp (* (- y) (f (- n 1) (sin a))))))) (f 3 x)", lambda x: _recursion(x)),
}


def module(program: str, backend: str) -> Of:
    """The program of one variable; the other is fixed."""
    compiled = nc.compile_scheme(PROGRAMS[program][0], inputs=["x", "y"], backend=backend)
    return lambda x: compiled(x, Y)


def _pull(f: Of) -> Of:
    def of(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        return torch.autograd.grad((f(x) * V).sum(), x)[0]

    return of


def _pull_twice(f: Of) -> Of:
    def of(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (first,) = torch.autograd.grad((f(x) * V).sum(), x, create_graph=True)
        return torch.autograd.grad((first * V).sum(), x)[0]

    return of


def _duals(f: Of) -> Of:
    def of(x: torch.Tensor) -> torch.Tensor:
        with torch.autograd.forward_ad.dual_level():
            found = torch.autograd.forward_ad.unpack_dual(f(torch.autograd.forward_ad.make_dual(x, V)))
            assert found.tangent is not None, "the tangent is gone"
            return found.tangent.clone()

    return of


def _sum(f: Of) -> Of:
    return lambda x: (f(x) * V).sum()


def _each(of: Callable[[Of], Of]) -> Callable[[Of], Of]:
    return lambda f: lambda x: vmap(of(f))(torch.stack([x, 1.1 * x]))


def _push(f: Of) -> Of:
    return lambda x: jvp(f, (x,), (V,))[1]


OUTSIDE: dict[str, Callable[[Of], Of]] = {"backward": _pull, "double backward": _pull_twice, "dual numbers": _duals}
"""Derivatives PyTorch's autograd takes of what a tracer or compiler made."""
TRANSFORMS: dict[str, Callable[[Of], Of]] = {
    "grad": lambda f: grad(_sum(f)),
    "jvp": _push,
    "jacfwd": lambda f: jacfwd(f),
    "jacrev": lambda f: jacrev(f),
    "hessian": lambda f: hessian(_sum(f)),
    "vmap": _each(lambda f: f),
    "vmap of grad": _each(lambda f: grad(_sum(f))),
    "vmap of jvp": _each(_push),
    "vmap of jacfwd": _each(lambda f: jacfwd(f)),
    "vmap of jacrev": _each(lambda f: jacrev(f)),
    "vmap of hessian": _each(lambda f: hessian(_sum(f))),
}
"""Derivatives that are functions of functions, inside what is compiled."""
DERIVATIVES = {**OUTSIDE, **TRANSFORMS}


class _Module(torch.nn.Module):
    def __init__(self, f: Of) -> None:
        super().__init__()
        self.f = f

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.f(x)


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    """A tensor that holds another, as many libraries make them."""

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> Wrapped:
        like: dict[str, Any] = {"strides": held.stride(), "dtype": held.dtype, "device": held.device}
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, **like)  # type: ignore[attr-defined, no-any-return]

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        bare = tree_map_only(Wrapped, lambda t: t.held, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, Wrapped, func(*bare[0], **bare[1]))


def _compiled(fullgraph: bool) -> Callable[[str, Of], Of]:
    def way(derivative: str, f: Of) -> Of:
        def compiler(g: Of) -> Of:
            return torch.compile(g, fullgraph=fullgraph, backend="aot_eager")

        return OUTSIDE[derivative](compiler(f)) if derivative in OUTSIDE else compiler(TRANSFORMS[derivative](f))

    return way


def _exported(derivative: str, f: Of) -> Of:
    return DERIVATIVES[derivative](torch.export.export(_Module(f), (X,)).module())


def _traced(derivative: str, f: Of) -> Of:
    """The derivative of a trace, and the trace of the derivative, which must agree."""

    def of(x: torch.Tensor) -> torch.Tensor:
        found = DERIVATIVES[derivative](make_fx(f)(X))(x)
        if derivative not in OUTSIDE:
            again = make_fx(TRANSFORMS[derivative](f))(X)(x)
            assert torch.equal(found, again), f"the trace of the derivative gives {again}, the derivative of the trace {found}"
        return found

    return of


def _watched(derivative: str, f: Of) -> Of:
    def of(x: torch.Tensor) -> torch.Tensor:
        with _Mode():
            return DERIVATIVES[derivative](f)(x)

    return of


def _wrapped(derivative: str, f: Of) -> Of:
    def of(x: torch.Tensor) -> torch.Tensor:
        found = DERIVATIVES[derivative](f)(Wrapped(x))
        assert isinstance(found, Wrapped), f"a {type(found).__name__} came back"
        return found.held

    return of


WAYS: dict[str, Callable[[str, Of], Of]] = {
    "eager": lambda derivative, f: DERIVATIVES[derivative](f),
    "`torch.compile`": _compiled(False),
    "`torch.compile(fullgraph=True)`": _compiled(True),
    "`torch.export`": _exported,
    "`make_fx`": _traced,
    "dispatch mode": _watched,
    "tensor subclass": _wrapped,
}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch logs what its compiler tries in vain."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def verdict(way: str, derivative: str, f: Of, hand: Of) -> str:
    """What a cell gives. What a refused trace leaves behind, of hand-written torch too, sets PyTorch's dispatch keys to others when it is
    collected as garbage: that is done here, where they are put back."""
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()):
        found = _verdict(way, derivative, f, hand)
        if found.startswith("refused"):
            gc.collect()
    return found


def _verdict(way: str, derivative: str, f: Of, hand: Of) -> str:
    torch._dynamo.reset()
    expected = DERIVATIVES[derivative](hand)(X)
    try:
        with _quiet():
            found = WAYS[way](derivative, f)(X)
    except AssertionError as error:
        return f"wrong: {error}"
    except Exception as error:
        return f"refused: {type(error).__name__}: {error}"
    if found.shape == expected.shape and torch.allclose(found, expected, rtol=1e-11, atol=1e-11):
        return "works"
    return f"wrong: {found.tolist()} for {expected.tolist()}"


_PLAIN = frozenset({"straight", "branch"})
"""Programs that the torch backend writes out as torch operations: they are refused what hand-written torch is refused."""
_TWICE = ("does not currently support double backward", "refused by `torch.compile`, as hand-written torch is", None)
_PUSHED = (
    "Dynamo failed to run FX node with fake tensors",
    "works; torch operations without a loop refused, as hand-written torch is",
    _PLAIN,
)
_ASSERTED = ("INTERNAL ASSERT FAILED", _PUSHED[1])
REFUSED: dict[tuple[str, str], tuple[str, str, frozenset[str] | None]] = {
    ("`torch.compile`", "double backward"): _TWICE,
    ("`torch.compile`", "vmap of jacfwd"): (*_ASSERTED, _PLAIN),
    ("`torch.compile`", "vmap of hessian"): (*_ASSERTED, _PLAIN),
    ("`torch.compile(fullgraph=True)`", "double backward"): _TWICE,
    ("`torch.compile(fullgraph=True)`", "dual numbers"): ("dual tensor input", _TWICE[1], None),
    ("`torch.compile(fullgraph=True)`", "vmap of jacfwd"): _PUSHED,
    ("`torch.compile(fullgraph=True)`", "vmap of hessian"): _PUSHED,
}
"""What is refused: words of the message, words for the documentation, and which programs of the torch backend alone (None: all of both)."""


SOMETIMES = {key for key, (words, *_) in REFUSED.items() if words == _ASSERTED[0]}
"""What PyTorch does or does not refuse, an assertion of its own, by what the process has compiled before."""


def refused(way: str, derivative: str, program: str, backend: str) -> str | None:
    """Words of the message a cell is refused with, if it is."""
    words, _, only = REFUSED.get((way, derivative), (None, "", None))
    return None if only is not None and (backend == "native" or program not in only) else words


def table() -> list[str]:
    """The matrix as the documentation shows it."""
    return [
        f"| | {' | '.join(WAYS)} |",
        f"|---|{'---|' * len(WAYS)}",
        *(f"| {d} | {' | '.join(REFUSED.get((w, d), ('', 'works'))[1] for w in WAYS)} |" for d in DERIVATIVES),
    ]
