"""From a model's text and data to constants with error bars: `fit`, `FitResult`, `compare`, `predict`,
`simulate`; and models from data: `refine`."""

from .compare import Comparison, compare
from .fit import fit
from .predict import predict
from .refine import Hypothesis, Refinement, refine
from .result import Band, ColumnFit, Combination, Estimate, FitResult, Undetermined
from .simulate import simulate

__all__ = [
    "Band",
    "ColumnFit",
    "Combination",
    "Comparison",
    "Estimate",
    "FitResult",
    "Hypothesis",
    "Refinement",
    "Undetermined",
    "compare",
    "fit",
    "predict",
    "refine",
    "simulate",
]
