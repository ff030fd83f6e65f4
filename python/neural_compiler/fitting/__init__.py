"""From a model's text and data to constants with error bars: `fit`, `FitResult`, `predict` and `simulate`."""

from .fit import fit
from .predict import predict
from .result import Band, ColumnFit, Combination, Estimate, FitResult, Undetermined
from .simulate import simulate

__all__ = ["Band", "ColumnFit", "Combination", "Estimate", "FitResult", "Undetermined", "fit", "predict", "simulate"]
