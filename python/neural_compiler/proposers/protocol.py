"""The other side of the protocol. In: a function that proposes; out: a loop over standard input. Invariant: nothing else is written to
standard output, whatever the function prints."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a proposer is told; see docs/proposers.md."""

    round: int
    seconds: float
    judged: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    problem: dict[str, Any]


def serve(propose: Callable[[Request], Iterable[tuple[str, str]]]) -> None:
    """Answers requests with the pairs of text and reason that a function gives, until there are no more requests."""
    out = sys.stdout
    problem: dict[str, Any] = {}
    for line in sys.stdin:
        told = json.loads(line)
        problem = told.get("problem", problem)
        with contextlib.redirect_stdout(sys.stderr):
            request = Request(told["round"], told["seconds"], told["judged"], told["failed"], problem)
            proposals = [{"text": text, "why": why} for text, why in propose(request)]
        out.write(json.dumps({"proposals": proposals}) + "\n")
        out.flush()
