"""Our PyTorch module against hand-written eager PyTorch, and against a Function that computes nothing: one lane and 10^4; and linear
algebra against hand-written batched PyTorch, eager and compiled."""

from __future__ import annotations

from typing import Any

from suites import batches, linear

PROGRAMS = ("quadratic", "discriminant", "dist_sq", "dot4", "gaussian", "barometric", "three_body", "soft_clamp", "newton20")
"""Those of at least five operations and at most a few inputs."""


def run(job: dict[str, Any]) -> dict[str, Any]:
    """As `batches`, with these contenders and sizes."""
    chosen = [p for p in job["programs"] if p in PROGRAMS]
    # With several threads only linear algebra has something to show.
    chosen = chosen if job["threads"] == 1 else []
    found = batches.run(job | {"programs": chosen, "peers": ["module", "eager", "empty_function"], "batches": [1, 10**4]})
    # Comparisons alone have no backward pass in PyTorch.
    found["records"] = [r for r in found["records"] if not (r["program"] == "discriminant" and r["gradient"])]
    found["labels"] |= linear.LABELS
    found["records"] += linear.measured(job)
    return found
