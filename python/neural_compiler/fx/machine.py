"""Runs regions lane by lane. In: a control module and its arguments; out: its results. Recursion of the program is no recursion of
Python's: every activation is a computation of `deep`.

Invariants: a region runs for the lanes that reach it and for no others, and not at all when there are none; every round and call is
counted against the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from ..errors import EvaluationError
from .control import Control, Regions
from .deep import Deep, run
from .failures import evaluation_error, relocated
from .lanes import Lanes, Value, take
from .long import LONG, look_ahead
from .records import Packed, Record, Round, Rounds, merge
from .root import Equation, Implicit, bare, differentiated


class Machine:
    """One run."""

    def __init__(self, regions: Regions, like: torch.Tensor) -> None:
        self.regions, self.like = regions, like
        self.depth = self.steps = 0
        self.kinds: dict[str, Callable[[Control, Lanes, list[Value]], Deep]] = {
            "if": self._if,
            "loop": self._loop,
            "back": self._back,
            "call": self._call,
            "root": self._root,
            "pack": self._pack,
            "unpack": self._unpack,
        }

    def run(self, control: Control, lanes: Lanes, args: list[Value]) -> list[Any]:
        """Runs a control module to its end."""
        return run(self.kinds[control.kind](control, lanes, args))

    def _count(self, control: Control) -> None:
        self.steps += 1
        if self.steps == LONG:
            look_ahead()
        if self.steps > self.regions.limits.steps:
            message = f"the run takes more than {self.regions.limits.steps} loop rounds and calls"
            raise self._failure("limit-steps", message, control, None)

    def _failure(self, code: str, message: str, control: Control, lanes: Lanes | None) -> EvaluationError:
        """The error of a limit, met by the first of these lanes."""
        lane = None if lanes is None or lanes.count is None else lanes.whole_batch(0)
        return evaluation_error(code, message, control.span, lane, self.regions.source)

    # ---- kinds of control ----

    def _if(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        """Each lane takes its side."""
        test, given, kinds = args[0], args[1:], control.types[1:]
        where = lanes.split(_tensor(test))
        if isinstance(where, bool):
            return list((yield self._region(control.runs[0 if where else 1], lanes, given)))
        sides = []
        for name, index in zip(control.runs, where):
            inside = lanes.part(index)
            found = yield self._region(name, inside, [take(a, k, index) for a, k in zip(given, kinds)])
            sides.append((index, [inside.full(r, k) for r, k in zip(found, control.results)]))
        return [merge([(index, results[i]) for index, results in sides]) for i in range(len(control.results))]

    def _loop(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        """Rounds until every lane is done; a lane that is done runs no more."""
        (name,), count, taped = control.runs, control.about["carried"], control.about["taped"]
        stores_record = taped and control.about["stores_record"]
        carried, fixed = args[:count], args[count:]
        kinds = control.types
        running: torch.Tensor | None = None  # Which of the loop's lanes still run; None: all.
        inside = lanes
        done: list[tuple[torch.Tensor, list[Any]]] = []
        tape: list[Round] = []
        for _ in range(1, self.regions.limits.iterations + 1):
            self._count(control)
            found = yield self._region(name, inside, [*carried, *fixed])
            results = [inside.full(r, k) for r, k in zip(found[1 + count :], control.results)]
            if taped:
                stored = [inside.full(c, k) for c, k in zip(carried, kinds)]
                tape.append(Round(running, [*stored, results.pop()] if stores_record else stored))
            where = inside.split(_tensor(found[0]))
            following = found[1 : 1 + count]
            if where is False:
                if running is None:
                    return [*results, Rounds(tape)] if taped else results
                done.append((running, results))
                break
            if where is not True:
                go, stop = where
                everyone = torch.arange(inside.count or 1, device=go.device) if running is None else running
                done.append((everyone[stop], [_part(r, stop) for r in results]))
                running = everyone[go]
                inside = inside.part(go)
                following = [take(c, k, go) for c, k in zip(following, kinds)]
                fixed = [take(f, k, go) for f, k in zip(fixed, kinds[count:])]
            carried = following
        else:
            message = f"this loop runs more than {self.regions.limits.iterations} rounds"
            raise self._failure("limit-iterations", message, control, inside)
        merged = [merge([(index, results[i]) for index, results in done]) for i in range(len(done[0][1]))]
        return [*merged, Rounds(tape)] if taped else merged

    def _back(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        """The rounds of a record, last to first; a lane joins at its own last round."""
        (name,), count = control.runs, control.about["carried"]
        record, carried, fixed = args[0], args[1 : 1 + count], args[1 + count :]
        kinds = control.types[1:]
        assert isinstance(record, Record)
        for stored in reversed(record.rounds()):
            self._count(control)
            if stored.index is None:
                carried = yield self._region(name, lanes, [*stored.values, *carried, *fixed])
                continue
            inside = lanes.part(stored.index)
            given = [take(v, k, stored.index) for v, k in zip([*carried, *fixed], kinds)]
            found = yield self._region(name, inside, [*stored.values, *given])
            whole = [_tensor(lanes.full(c, k)) for c, k in zip(carried, kinds)]
            carried = [c.index_copy(0, stored.index, _tensor(inside.full(f, k))) for c, f, k in zip(whole, found, kinds)]
        return carried

    def _call(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        """A function."""
        self._count(control)
        self.depth += 1
        if self.depth > self.regions.limits.depth:
            message = f"calls of `{control.about['name']}` are nested more than {self.regions.limits.depth} deep"
            raise self._failure("limit-depth", message, control, lanes)
        found = yield self._region(control.runs[0], lanes, args)
        self.depth -= 1
        return list(found)

    def _root(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        """An equation: the search has no derivative, the root that of the implicit function."""
        search, *equations = control.runs
        tensors = [_tensor(a) for a in args]
        found = yield self._region(search, lanes, [a.detach() for a in tensors])
        root = _tensor(lanes.full(found[0], control.results[0]))
        given = tensors[control.about["starts"] :]
        if not differentiated(given):
            return [root]
        regions, outside = self.regions, Lanes(lanes.count, None if lanes.ids is None else bare(lanes.ids))

        def equation(name: str, shape: Any) -> Equation:
            def at(x: torch.Tensor, rest: Sequence[torch.Tensor]) -> torch.Tensor:
                # With nothing of the transform the root was looked for in: the derivative may be taken when that is over.
                (value,) = run(Machine(regions, x.new_empty(()))._region(name, outside, [x, *rest]))
                return _tensor(outside.full(value, shape))

            return at

        sizes: Any = control.results[0]
        zero, slope = equations
        return [Implicit.apply((equation(zero, sizes), equation(slope, (*sizes, *sizes))), root, *given)]

    def _pack(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        yield from ()
        return [Packed([lanes.full(a, k) for a, k in zip(args, control.types)])]

    def _unpack(self, control: Control, lanes: Lanes, args: list[Value]) -> Deep:
        yield from ()
        assert isinstance(args[0], Record)
        return [args[0].unpack(control.about["index"])]

    # ---- regions ----

    def _region(self, name: str, lanes: Lanes, args: Sequence[Value]) -> Deep:
        code = self.regions.code[name]
        try:
            if next(code.children(), None) is None:
                return list(code(self.like, *args))
            return (yield from self._walk(code, lanes, [self.like, *args]))
        except EvaluationError as error:
            raise relocated(error, lanes.whole_batch(error.lane), self.regions.source) from None

    def _walk(self, code: torch.fx.GraphModule, lanes: Lanes, args: Sequence[Any]) -> Deep:
        """Runs torch code node by node, so that control modules inside run on this machine."""
        values: dict[torch.fx.Node, Any] = {}
        given = iter(args)
        for node in code.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
                continue
            found = torch.fx.node.map_arg(node.args, values.__getitem__)
            if node.op == "output":
                return list(found[0])
            if node.op == "call_module":
                control: Any = code.get_submodule(node.target)
                results = yield self.kinds[control.kind](control, lanes, list(found[1:]))
                values[node] = results[0] if control.kind in ("pack", "unpack") else results
            else:
                options = torch.fx.node.map_arg(node.kwargs, values.__getitem__)
                act = node.target if node.op == "call_function" else getattr(found[0], node.target)
                values[node] = act(*(found if node.op == "call_function" else found[1:]), **options)
        raise AssertionError("torch code ends with its output")


def _tensor(value: Value) -> torch.Tensor:
    assert isinstance(value, torch.Tensor), "a record is no number"
    return value


def _part(value: Any, index: torch.Tensor) -> Any:
    """Some lanes of a value that has an axis of lanes."""
    return value.take(index) if isinstance(value, Record) else value.index_select(0, index)
