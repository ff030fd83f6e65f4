"""From a model's text and data to constants with error bars: `fit`, `FitResult`, `predict`, `simulate`; and models from data: `refine`."""

from .fit import fit
from .predict import predict
from .refine import Hypothesis, Refinement, refine
from .result import Band, ColumnFit, Combination, Estimate, FitResult, Undetermined
from .simulate import simulate

__all__ = [
    "Band",
    "ColumnFit",
    "Combination",
    "Estimate",
    "FitResult",
    "Hypothesis",
    "Refinement",
    "Undetermined",
    "fit",
    "predict",
    "refine",
    "simulate",
]
