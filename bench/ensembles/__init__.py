"""Ensembles side by side: many trajectories of one model with different constants. One file per contender with `LABEL`, `version()` and
`prepare(problem, tolerance)`, which gives a function that solves all sets once and returns an array (sets, times, states). Compiling is
not part of the time.
"""

from __future__ import annotations

NAMES = ("ours", "heyoka_batch", "diffrax_vmap", "torchdiffeq_vmap", "scipy_loop")
"""Contenders in the order of the tables."""
