"""Modules made of another keep their link: in copies of both, and where PyTorch puts other tensors in the place of all."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable

import pytest
import torch
from neural_compiler import CompiledModule, compile_scheme
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
