"""Modules made of another keep their link: in copies of both, and where PyTorch puts or loads other tensors in the place of all."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable

import pytest
import torch
from neural_compiler import CompiledModule, compile_scheme, compose
from torch import nn

BACKENDS = ["native", "torch"]
AT_0 = torch.tensor(0.0, dtype=torch.float64)
NEW = {"a": torch.tensor(10.0, dtype=torch.float64), "w": torch.tensor(1.0, dtype=torch.float64)}


class Net(nn.Module):
    """A wave, and its slope at 0, which is a w."""

    u: CompiledModule
    du: CompiledModule

    def __init__(self, backend: str = "native", derivative_first: bool = False) -> None:
        super().__init__()
        u = compile_scheme("(* a (sin (* w x)))", params={"a": 2.0, "w": 3.0}, backend=backend)
        pair = {"u": u, "du": u.grad("x")}
        for name in sorted(pair, reverse=not derivative_first):
            setattr(self, name, pair[name])


def _saved(net: Net) -> Net:
    written = io.BytesIO()
    torch.save(net, written)
    written.seek(0)
    read: Net = torch.load(written, weights_only=False)
    return read


COPIES: dict[str, Callable[[Net], Net]] = {
    "itself": lambda net: net,
    "deepcopy": copy.deepcopy,
    "pickle": lambda net: pickle.loads(pickle.dumps(net)),
    "torch.save": _saved,
    "copy of a copy": lambda net: copy.deepcopy(pickle.loads(pickle.dumps(net))),
    "averaged": lambda net: torch.optim.swa_utils.AveragedModel(net).module,  # type: ignore[dict-item, return-value]
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("derivative_first", [False, True])
def test_copies_keep_the_link(way: str, backend: str, derivative_first: bool) -> None:
    original = Net(backend, derivative_first)
    net = COPIES[way](original)
    assert net.du(AT_0).item() == 6.0
    net.u.load_state_dict(NEW, assign=True)
    assert net.du(AT_0).item() == 10.0
    net.u.a = nn.Parameter(torch.tensor(4.0, dtype=torch.float64))
    assert net.du.a is net.u.a and net.du(AT_0).item() == 4.0
    assert len(list(net.parameters())) == 2
    if net is not original:
        # Copies are linked to one another, not to what they were made of.
        assert original.du(AT_0).item() == 6.0 and original.du.a is original.u.a


def test_what_is_made_of_a_copy_follows_it() -> None:
    net = copy.deepcopy(Net())
    again = net.du.grad("x")
    net.u.load_state_dict(NEW, assign=True)
    assert again.a is net.u.a
    assert pickle.loads(pickle.dumps(net.du))(AT_0).item() == 10.0  # By itself, without what it was made of.


def test_the_link_leads_through_a_module_that_is_not_copied() -> None:
    u = compile_scheme("(* a x x)", params={"a": 2.0})
    pair = copy.deepcopy(nn.ModuleList([u, u.grad("x").grad("x")]))
    pair[0].a = nn.Parameter(torch.tensor(5.0, dtype=torch.float64))
    assert pair[1](AT_0).item() == 10.0


MOVES: dict[str, Callable[[nn.Module], object]] = {
    "meta": lambda m: m.to("meta").to_empty(device="cpu"),
    "empty": lambda m: m.to_empty(device="cpu"),
    "type": lambda m: m.float().double(),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("moved", ["whole", "u", "du"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_moved_modules_keep_the_link(move: str, moved: str, overwrite: bool, backend: str) -> None:
    for derivative_first in (False, True):
        for net in (Net(backend, derivative_first), copy.deepcopy(Net(backend, derivative_first))):
            torch.__future__.set_overwrite_module_params_on_conversion(overwrite)
            try:
                MOVES[move](net if moved == "whole" else getattr(net, moved))
            finally:
                torch.__future__.set_overwrite_module_params_on_conversion(False)
            assert net.u.a is net.du.a and net.u.w is net.du.w
            net.u.load_state_dict(NEW)
            assert net.du(AT_0).item() == 10.0


def test_buffers_are_shared_after_a_move() -> None:
    u = compile_scheme("(* a x x)", inputs=["x"], params={"a": 2.0})
    u.a = nn.Parameter(u.a.detach(), requires_grad=False)
    del u.a
    u.register_buffer("a", torch.tensor(2.0, dtype=torch.float64))
    pair = nn.ModuleList([u.grad("x"), u]).float()
    assert pair[0].a is pair[1].a and pair[0].a.dtype == torch.float32
    with torch.no_grad():
        u.a.fill_(3.0)
    assert pair[0](torch.tensor(1.0)).item() == 6.0


def test_what_a_module_put_there_itself_stays_its_own() -> None:
    net = Net()
    net.du.a = nn.Parameter(torch.tensor(7.0, dtype=torch.float64))
    net = copy.deepcopy(net)
    net.to("meta").to_empty(device="cpu")
    net.u.load_state_dict(NEW)
    net.du.load_state_dict({"a": torch.tensor(7.0)}, strict=False)
    assert net.du(AT_0).item() == 7.0 and net.u.a.item() == 10.0


def _double(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("derivative_first", [False, True])
def test_what_is_loaded_into_a_made_module_is_loaded_into_what_it_was_made_of(way: str, backend: str, derivative_first: bool) -> None:
    net = COPIES[way](Net(backend, derivative_first))
    new = {name: value.clone() for name, value in NEW.items()}
    net.du.load_state_dict(new, assign=True)
    assert net.u.a is net.du.a and net.u.w is net.du.w
    assert net.u(_double(torch.pi / 2)).item() == 10.0 and net.du(AT_0).item() == 10.0
    # The whole, whose entries are twice there: one parameter each, as before.
    net.load_state_dict({f"{which}.{name}": value for which in ("u", "du") for name, value in new.items()}, assign=True)
    assert net.u.a is net.du.a and net.u.w is net.du.w and len(list(net.parameters())) == 2
    with torch.no_grad():
        net.u.a.fill_(3.0)
    assert net.du(AT_0).item() == 3.0
    # Without `assign`, and with entries that do not fit, nothing is exchanged.
    before = net.u.a
    net.du.load_state_dict(NEW)
    assert net.u.a is before and net.u.a.item() == 10.0
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.du.load_state_dict({"a": torch.zeros(3), "w": NEW["w"]}, assign=True)
    assert net.u.a is net.du.a and net.u.w is net.du.w


def test_what_is_loaded_reaches_all_that_were_composed() -> None:
    inner = compile_scheme("(* k x)", params={"k": 2.0})
    outer = compile_scheme("(+ y b)", params={"b": 1.0})
    made = {
        "joined": inner >> outer,
        "composed": compose({"y": inner, "z": outer}, prefix=True),
        "slope": inner.grad("x"),
        "renamed": inner.renamed({"k": "rate"}),
        "curve": (inner >> outer).jacobian("x").jacobian("x"),
    }
    for name, module in {"inner": inner, "outer": outer, **made}.items():
        new = {n: _double(5.0 + n_th) for n_th, n in enumerate(module.state_dict())}
        module.load_state_dict(new, assign=True)
        k, b = inner.k, outer.b
        assert all(p is k or p is b for m in made.values() for p in m.parameters()), name
        assert {p.item() for p in module.parameters()} == {v.item() for v in new.values()}, name
        assert made["joined"](_double(2.0)).item() == 2 * k.item() + b.item() == made["composed"](_double(2.0)).item(), name


def test_a_parameter_of_the_users_stays_one_where_a_module_is_made_of_all_that_have_it() -> None:
    k = nn.Parameter(_double(2.0))
    first, second = compile_scheme("(* k x)", params={"k": k}), compile_scheme("(+ y k)", params={"k": k})
    both = compose({"y": first, "z": second})
    first.load_state_dict({"k": _double(3.0)}, assign=True)
    assert first.k is second.k and first.k is both.k and both(_double(1.0)).item() == 6.0


def test_two_names_of_one_parameter_stay_so() -> None:
    p = nn.Parameter(_double(2.0))
    u = compile_scheme("(+ (* k x) (* l x x))", params={"k": p, "l": p})
    du = u.grad("x")
    for module in (u, du):
        module.load_state_dict({"k": _double(7.0), "l": _double(7.0)}, assign=True)
        assert u.k is u.l and du.k is u.k and du.l is u.k


@pytest.mark.parametrize("as_buffer", [False, True])
@pytest.mark.parametrize("delete", [False, True])
def test_a_field_that_is_registered_anew_is_handed_on(as_buffer: bool, delete: bool) -> None:
    net = Net()
    if delete or as_buffer:
        del net.u.a
    if as_buffer:
        net.u.register_buffer("a", _double(5.0))
    else:
        net.u.register_parameter("a", nn.Parameter(_double(5.0)))
    assert net.du.a is net.u.a and net.du(AT_0).item() == 15.0


@pytest.mark.parametrize("loaded", ["u", "du"])
def test_what_parametrizations_are_made_of_is_loaded_into_all(loaded: str) -> None:
    class Twice(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

    u = compile_scheme("(* a x)", params={"a": 2.0})
    torch.nn.utils.parametrize.register_parametrization(u, "a", Twice(), unsafe=True)
    pair = {"u": u, "du": u.grad("x")}
    pair[loaded].load_state_dict({"parametrizations.a.original": _double(4.0)}, assign=True)
    assert u(_double(1.0)).item() == 8.0 and pair["du"](_double(1.0)).item() == 8.0
