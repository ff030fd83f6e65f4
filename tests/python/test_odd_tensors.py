"""Tensors that are not what they seem: read by what they mean, copied, or refused; never read as they lie in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from neural_compiler import compile_scheme
from torch import Tensor

TEXT = "(* x (sin (* x y)))"
X, Y = torch.linspace(0.1, 2, 24, dtype=torch.float64), torch.linspace(-1, 1, 24, dtype=torch.float64)


def misaligned(x: Tensor) -> Tensor:
    """The same numbers, one byte beside where they should be."""
    room = bytearray(x.numel() * x.element_size() + 1)
    found = torch.frombuffer(room, dtype=x.dtype, offset=1, count=x.numel())
    found.copy_(x)
    assert found.data_ptr() % x.element_size()
    return found


def from_dlpack(x: Tensor) -> Tensor:
    room = np.empty(x.numel() * x.element_size() + 1, np.uint8)
    array = room[1:].view(x.numpy().dtype)
    array[...] = x.numpy()
    return torch.from_dlpack(array)


ODD: dict[str, Callable[[Tensor], Tensor]] = {
    "misaligned": misaligned,
    "misaligned by dlpack": from_dlpack,
    "negated": lambda x: torch._neg_view(-x),
    "imaginary part of a conjugate": lambda x: torch.complex(torch.zeros_like(x), -x).conj().imag,
    "expanded": lambda x: x[None].expand(3, -1)[1],
    "every second": lambda x: x.repeat_interleave(2)[::2],
    "offset": lambda x: torch.cat([x, x])[24:],
    "parameter": lambda x: torch.nn.Parameter(x),
}


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("what", ODD)
def test_odd_tensors_mean_what_they_mean(what: str, dtype: torch.dtype, backend: str) -> None:
    module = compile_scheme(TEXT, backend=backend)
    x, y = X.to(dtype), Y.to(dtype)
    odd = ODD[what](x)
    assert torch.equal(odd, x)
    expected = module(x=x, y=y)
    assert torch.equal(module(x=odd, y=y), expected) and torch.equal(module(odd, y), expected)
    leaf = y.clone().requires_grad_()
    (found,) = torch.autograd.grad(module(x=odd, y=leaf).sum(), leaf)
    (wanted,) = torch.autograd.grad(module(x=x, y=leaf).sum(), leaf)
    assert torch.equal(found, wanted)
    # As a cotangent.
    result = module(x=x, y=leaf)
    (found,) = torch.autograd.grad(result, leaf, odd)
    (wanted,) = torch.autograd.grad(module(x=x, y=leaf), leaf, x)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_zero_tensors_are_zeros(backend: str) -> None:
    module = compile_scheme("(+ y (* x x))", backend=backend)
    zero = torch._efficientzerotensor(24, dtype=torch.float64)
    assert torch.equal(module(x=zero, y=Y), Y)
    leaf = Y.clone().requires_grad_()
    (found,) = torch.autograd.grad(module(x=X, y=leaf), leaf, zero)
    assert torch.equal(found, torch.zeros_like(Y))


def test_nothing_at_all() -> None:
    module = compile_scheme(TEXT)
    assert module(x=X[:0], y=Y[:0]).shape == (0,)
    assert module(x=X[0], y=Y[0]).shape == ()


@pytest.mark.parametrize(
    "odd",
    [
        torch.eye(3, dtype=torch.float64).to_sparse(),
        torch.eye(3, dtype=torch.float64).to_sparse_csr(),
        torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
        torch.ones(3, dtype=torch.complex128),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        torch.ones(3, device="meta"),
        torch.ones(3, dtype=torch.float32).to_mkldnn(),
    ],
    ids=["sparse", "sparse csr", "quantised", "complex", "nested", "meta", "mkldnn"],
)
def test_what_has_no_numbers_in_memory_is_refused(odd: Tensor) -> None:
    module = compile_scheme("(* x x)", backend="native")
    with pytest.raises((TypeError, ValueError, RuntimeError, NotImplementedError)):
        module(x=odd)


@pytest.mark.parametrize("sizes", [(2**31, 2**31), (2**30, 2**30), (2**20, 2**20)])
def test_batches_no_memory_could_hold_are_refused(sizes: tuple[int, int]) -> None:
    large = torch.ones((), dtype=torch.float64).expand(sizes)
    with pytest.raises((MemoryError, RuntimeError, ValueError)):
        compile_scheme("(* x y)")(x=large, y=torch.ones((), dtype=torch.float64))
    # A parameter that follows the type of a batch is converted; its own size must not be taken for small.
    follows = compile_scheme("(vsum (* w x))", inputs={"w": 3, "x": ()}, params={"w": [1.0, 2.0, 3.0]})
    with pytest.raises((MemoryError, RuntimeError, ValueError)):
        follows(x=torch.ones(()).expand(sizes))


class Sub(Tensor):
    """A class that changes nothing."""


class Silent(Tensor):
    """A class whose results are plain tensors."""

    __torch_function__ = torch._C._disabled_torch_function_impl


@pytest.mark.parametrize("backend", ["native", "torch"])
@pytest.mark.parametrize("of", [Sub, Silent])
@pytest.mark.parametrize("text", [TEXT, "(loop ((i 0) (s x)) (if (>= i 3) (* s y) (recur (+ i 1) (sin s))))"])
def test_classes_that_only_python_sees(text: str, of: type[Tensor], backend: str) -> None:
    module = compile_scheme(text, ["x", "y"], backend=backend)
    x = X.clone().requires_grad_()
    expected = module(x, Y)
    (slope,) = torch.autograd.grad(expected.sum(), x)
    given = X.clone().as_subclass(of).requires_grad_()
    found = module(given, Y)
    assert type(found) is (Sub if of is Sub else Tensor)
    assert torch.equal(found.detach().as_subclass(Tensor), expected.detach())
    assert torch.equal(torch.autograd.grad(found.sum(), given)[0].as_subclass(Tensor), slope)
    assert torch.equal(module(given, Y, check=True).detach().as_subclass(Tensor), expected.detach())


def test_parameters_of_other_classes() -> None:
    module = compile_scheme("(* k x)", params={"k": torch.nn.Parameter(torch.tensor(2.0).as_subclass(Sub))})
    found = module(torch.ones(3))
    found.sum().backward()
    assert found.tolist() == [2.0] * 3
    assert module.k.grad is not None and module.k.grad.item() == 3.0


def test_arrays_pytorch_does_not_take_as_they_are() -> None:
    module = compile_scheme("(* x 2)")
    for array in (np.arange(3.0)[::-1], np.arange(2.0, -1, -1).astype(">f8"), np.arange(2, -1, -1).astype(">i4")):
        assert module(array).tolist() == [4.0, 2.0, 0.0]
    assert compile_scheme("(dot k x)", {"x": 2}, {"k": np.array([1.0, 2.0])[::-1]}).k.tolist() == [2.0, 1.0]
    for array in (np.array(["a"]), np.array([object()])):
        with pytest.raises(TypeError, match="`x` is a tensor or a number, not ndarray of"):
            module(array)


def test_masks_and_imaginary_parts_are_not_lost() -> None:
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    for backend in ("native", "torch"):
        module = compile_scheme("(* k x)", params={"k": 2.0}, backend=backend)
        with pytest.raises(TypeError, match="the input `x` is a masked array"):
            module(masked)
        module.k = torch.nn.Parameter(torch.tensor(1 + 2j))
        with pytest.raises(TypeError, match="the parameter `k` is complex"):
            module(X)
    with pytest.raises(TypeError, match="the parameter `k` is a masked array"):
        compile_scheme("(dot k x)", {"x": 2}, {"k": masked})
    for value in (1 + 2j, torch.tensor(1 + 2j), torch.nn.Parameter(torch.tensor(1 + 2j))):
        with pytest.raises(TypeError, match="the parameter `k` is complex"):
            compile_scheme("(* k x)", params={"k": value})


@pytest.mark.parametrize("name", ["inputs", "graph", "source", "anf", "_spec", "_compiled", "_caller", "backend", "grad", "training"])
def test_parameters_have_no_names_of_the_module(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` has the name of an attribute of modules"):
        compile_scheme(f"(* {name} x)", params={name: 2.0})
