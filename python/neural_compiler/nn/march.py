"""Solutions by steps that choose their lengths. In: methods of a step with error estimates, initial states, times; out: the states at each
time.

Each lane of a batch goes its own way: it has its own time, length of step and, with `auto`, its own method; what it finds does not depend
on the others. Where only one size fits all (a function that is told one time), the whole batch is one lane.
Lengths are chosen from numbers without derivatives, and steps that were not taken leave no trace: gradients are those of the steps taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from .gate import seen, transformed
from .schemes import FAILED, GROW, IMPLICIT, SAFETY, SHRINK
from .steppers import Field, States, over
from .unseen import overlooked

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Pieces: TypeAlias = "list[tuple[Array | None, States]]"
"""Parts of the lanes at a time: which they are (None: all), and their states."""


@dataclass
class Method:
    """A way to take a step: from times, states, lengths and which lanes they are (None: all) to states and error estimates."""

    step: Callable[[Tensor, States, Tensor, Any], tuple[States, States]]
    order: float
    """The power of the step that the error estimate goes with."""
    explicit: bool
    price: float = 1.0
    """What a step costs, in steps of the first method."""
    law: Field | None = None
    """What an implicit method solves, to see what its error estimate does not."""


@dataclass
class Tolerance:
    """How exact, and how long."""

    relative: float
    absolute: float
    most: int
    """Steps of a lane."""
    longest: float | None


HIDDEN = (
    "steps that choose their lengths look at numbers, which `torch.func.vmap` hides: give the batch as leading axes of `y0` or `inputs`, "
    'whose elements have steps of their own, or say method="rk4"'
)
PROBE = 64
"""Steps of the first method after which another is tried."""
TRIES = 8
"""Steps of the other."""


class March:
    """A solution under way."""

    def __init__(self, methods: list[Method], tolerance: Tolerance, y: States, times: Tensor, each: bool, first: Array) -> None:
        self.methods, self.tolerance, self.y, self.times, self.each = methods, tolerance, y, times, each
        self.clock: Array = _numbers(times)
        """The times as numbers."""
        count = len(first)
        self.now = np.full(count, self.clock[0])
        self.size = first.copy()
        self.reached = np.zeros(count, dtype=np.int64)
        """How many of the times behind the first each lane has met."""
        self.tries = np.zeros(count, dtype=np.int64)
        self.method = np.zeros(count, dtype=np.int64)
        self.due = np.full(count, float(PROBE))
        """With two methods: at how many tries of a lane the other is tried next."""
        self.probed = (np.zeros(count), self.now.copy())
        """Tries and time when that was done last."""
        self.pieces: list[Pieces] = [[(None, y)], *([] for _ in self.clock[1:])]

    def run(self, rounds: int | None = None) -> None:
        """Every lane to its end, or so many steps of each."""
        while rounds is None or rounds > 0:
            active = np.flatnonzero(self.reached < len(self.clock) - 1)
            if not len(active):
                return
            for k, method in enumerate(self.methods):
                lanes = active[self.method[active] == k]
                if len(lanes):
                    self._round(method, lanes)
            if len(self.methods) > 1:
                self._reconsider()
            rounds = None if rounds is None else rounds - 1

    def _round(self, method: Method, lanes: Array) -> None:
        """One step of each of these lanes."""
        h, last = self._lengths(lanes)
        after, ratio = self._taken(method, lanes, h, last)
        good = ratio <= 1
        exponent = 1 / method.order
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            grown = np.minimum(GROW, SAFETY / np.maximum(ratio, 1e-10) ** exponent)
            shrunk = np.where(np.isfinite(ratio), np.maximum(SHRINK, SAFETY / ratio**exponent), FAILED)
        self.size[lanes] = np.abs(h) * np.where(good, grown, shrunk)
        self.tries[lanes] += 1
        if not good.any():
            return
        if not good.all():
            lanes, h, last = lanes[good], h[good], last[good]
            # Again without those that failed: what is not finite there would spoil gradients.
            grads = torch.is_grad_enabled() and any(v.requires_grad for v in after)
            after = self._taken(method, lanes, h, last)[0] if grads else [v[torch.from_numpy(good).to(v.device)] for v in after]
        everyone = not self.each or len(lanes) == len(self.now)
        if everyone:
            self.y = after
        else:
            index = self._index(lanes)
            self.y = [v.index_copy(0, index, a) for v, a in zip(self.y, after)]
        ends = self.clock[self.reached[lanes] + 1]
        self.now[lanes] = np.where(last, ends, self.now[lanes] + h)
        met = lanes[last]
        self.reached[met] += 1
        for k in np.unique(self.reached[met]):
            here = last & (self.reached[lanes] == k)
            if here.all():
                self.pieces[k].append((None if everyone else lanes, after))
            else:
                rows = self._index(np.flatnonzero(here))
                self.pieces[k].append((lanes[here], [v.index_select(0, rows) for v in after]))

    def _lengths(self, lanes: Array) -> tuple[Array, Array]:
        """How long the next step of each lane is, and whether it ends at one of the times."""
        now, size = self.now[lanes], self.size[lanes]
        if self.tolerance.longest is not None:
            size = np.minimum(size, self.tolerance.longest)
        gap = self.clock[self.reached[lanes] + 1] - now
        rest = np.abs(gap)
        last = size >= rest * (1 - 1e-9)
        # Two even steps instead of a long and a tiny one.
        h = np.where(last, gap, np.where(size > rest / 2, gap / 2, np.sign(gap) * size))
        # In the numbers the step is computed with.
        h = _in(h, self.times.dtype)
        late = self.tries[lanes] >= self.tolerance.most
        stuck = _in(now + h, self.times.dtype) == _in(now, self.times.dtype)
        if (late | stuck).any():
            at = int(np.argmax(late | stuck))
            why = f"the equation takes more than {self.tolerance.most} steps" if late[at] else "steps become too short to move the time"
            explicit = self.methods[self.method[lanes[at]]].explicit
            stiff = f'it may be stiff (method="{IMPLICIT}" is for such), or ' if explicit else ""
            which = f" for element {lanes[at]} of the batch" if self.each else ""
            raise RuntimeError(f"{why}, at {now[at]:g}{which}: {stiff}its solution may not exist so far")
        return h, last

    def _taken(self, method: Method, lanes: Array, h: Array, last: Array) -> tuple[States, Array]:
        """The states after a step, and its error in units of what is tolerated."""
        everyone = not self.each or len(lanes) == len(self.now)
        pick = None if everyone else self._index(lanes)
        y = self.y if pick is None else [v.index_select(0, pick) for v in self.y]
        t, length = self._tensors(lanes, h, last)
        after, errors = method.step(t, y, length, pick)
        ratio = self._ratio(y, after, errors)
        if method.law is not None and (ratio <= 1).any():
            # A step that fails needs no other look, and its numbers may be none the law takes.
            looked = after
            if not (ratio <= 1).all():
                good = torch.from_numpy(ratio <= 1).to(self.times.device)
                looked = [torch.where(over(good, b), b, a) for a, b in zip(y, after)]
            ratio = np.where(overlooked(method.law, self._allowed, t, y, looked, length, pick, HIDDEN), math.inf, ratio)
        return after, ratio

    def _allowed(self, a: Tensor, b: Tensor) -> Tensor:
        """The error that is tolerated of numbers between which a step leads."""
        return self.tolerance.absolute + self.tolerance.relative * torch.maximum(a.abs(), b.abs())

    def _tensors(self, lanes: Array, h: Array, last: Array) -> tuple[Tensor, Tensor]:
        """Times and lengths as the step takes them. A time the caller may differentiate by moves the steps from it and to it."""
        like = self.times
        t, length = (torch.from_numpy(v).to(like.device, like.dtype) for v in (self.now[lanes], h))
        if moves(like):
            at = self._index(self.reached[lanes])
            before, behind = like[at] - like[at].detach(), like[at + 1] - like[at + 1].detach()
            t = t + before
            length = length + (behind - before) * torch.from_numpy(last).to(like.device)
        return (t, length) if self.each else (t[0], length[0])

    @torch.no_grad()
    def _ratio(self, y: States, after: States, errors: States) -> Array:
        """The largest error of each lane, infinite where a step left the numbers."""
        worst: Any = 0.0
        for a, b, error in zip(y, after, errors):
            ratio = (error / self._allowed(a, b)).abs()
            ratio = ratio.reshape(len(a) if self.each else 1, -1)
            # Infinite beside infinite is not a number, nor is it good.
            largest = ratio.amax(1).nan_to_num(math.inf, math.inf) if ratio.shape[1] else ratio.new_zeros(len(ratio))
            left = ~torch.isfinite(b).reshape(len(ratio), -1).all(1)
            worst = np.maximum(worst, _numbers(torch.where(left, math.inf, largest)))
        return np.asarray(worst)

    def _reconsider(self) -> None:
        """Lanes for which the second method comes further at the same cost change over."""
        running = self.reached < len(self.clock) - 1
        lanes = np.flatnonzero(running & (self.method == 0) & (self.tries >= np.maximum(self.due, TRIES * self.methods[1].price)))
        if not len(lanes):
            return
        tries, since = self.probed
        speed = np.abs(self.now[lanes] - since[lanes]) / (self.tries[lanes] - tries[lanes])
        other = self._part(lanes)
        with torch.no_grad():
            other.run(TRIES)
        gained = np.abs(other.now - self.now[lanes]) / (other.tries * self.methods[1].price)
        better = gained > speed
        self.method[lanes[better]] = 1
        self.size[lanes[better]] = other.size[better]
        tries[lanes], since[lanes] = self.tries[lanes], self.now[lanes]
        self.due[lanes] = 2 * self.tries[lanes]

    def _part(self, lanes: Array) -> March:
        """Some lanes by the second method alone, from where they are."""
        index = None if not self.each or len(lanes) == len(self.now) else self._index(lanes)
        second = self.methods[1]
        law = second.law

        def mine(pick: Any) -> Any:
            return index if pick is None else pick if index is None else index[pick]

        def step(t: Tensor, y: States, h: Tensor, pick: Any) -> tuple[States, States]:
            return second.step(t, y, h, mine(pick))

        method = Method(step, second.order, second.explicit, law=None if law is None else lambda t, y, pick: law(t, y, mine(pick)))
        y = [v.detach() if index is None else v.detach().index_select(0, index) for v in self.y]
        part = March([method], self.tolerance, y, self.times.detach(), self.each, self.size[lanes])
        part.now, part.reached = self.now[lanes].copy(), self.reached[lanes].copy()
        return part

    def _index(self, lanes: Array) -> Tensor:
        return torch.from_numpy(lanes).to(self.times.device)

    def found(self) -> list[States]:
        """The states at each time, lanes in order."""
        return [self._together(pieces) for pieces in self.pieces]

    def _together(self, pieces: Pieces) -> States:
        if pieces[0][0] is None:
            return pieces[0][1]
        order = self._index(np.argsort(np.concatenate([lanes for lanes, _ in pieces if lanes is not None])))
        return [torch.cat(parts).index_select(0, order) for parts in zip(*(states for _, states in pieces))]


def moves(tensor: Tensor) -> bool:
    """Whether a derivative may be taken by a tensor: backward, forward or by a transform."""
    return tensor.requires_grad or forward_ad._current_level >= 0 or transformed()


def _numbers(values: Tensor) -> Array:
    return np.asarray(seen(values.to(torch.float64), HIDDEN))


def _in(values: Array, dtype: torch.dtype) -> Array:
    """Numbers rounded to a type."""
    return values if dtype == torch.float64 else values.astype(np.float32).astype(np.float64)


@torch.no_grad()
def first_sizes(y: States, slope: States, tolerance: Tolerance, span: float, each: bool) -> Array:
    """First steps that move the states by about a hundredth of their scale."""

    def largest(values: list[Tensor]) -> Array:
        rows = [v.reshape(len(v) if each else 1, -1) for v in values]
        found = [_numbers(r.amax(1)) for r in rows if r.shape[1]]
        return np.asarray(np.max(found, axis=0) if found else np.zeros(len(rows[0])))

    scales = [tolerance.absolute + tolerance.relative * v.abs() for v in y]
    most, fastest = (largest([v.abs() / s for v, s in zip(of, scales)]) for of in (y, slope))
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = np.where((most > 1e-5) & (fastest > 1e-5) & np.isfinite(most / fastest), 0.01 * most / fastest, 1e-6)
    return np.minimum(usual, span)
