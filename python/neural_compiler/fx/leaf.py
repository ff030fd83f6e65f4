"""Functions that appear in torch code as one call, because they look at numbers or sizes while they run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch.fx


def leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a call with a proxy among its arguments a node of the graph, not a trace of the function's inside."""

    @wraps(function)
    def call(*args: Any) -> Any:
        for arg in args:
            if isinstance(arg, torch.fx.Proxy):
                return arg.tracer.create_proxy("call_function", call, args, {})
        return function(*args)

    return call
