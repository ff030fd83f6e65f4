"""From a model's text and data to constants with error bars: `fit` and `FitResult`."""

from .fit import fit
from .result import Estimate, FitResult

__all__ = ["Estimate", "FitResult", "fit"]
