"""Fits side by side. One file per contender with `LABEL`, `version()` and `prepare(problem)`, which gives a function that fits once from
scratch and returns the constants by name, or raises `NotSupported`. What a user would compile anew for a new model is part of the fit.
"""

from __future__ import annotations

NAMES = ("ours", "ours_many_starts", "scipy_curve_fit", "torch_adam", "torch_shooting", "diffrax_jit")
"""Contenders in the order of the tables."""
