"""Many fits at once, on whatever runs them: threads, processes, a cluster of Dask or Ray.

`fit_many` is the one way: independent fits through an executor as `concurrent.futures` has them. Groups (`fit_groups`), starts
(`fit_starts`), bootstrap replicates (`bootstrap`) and points of a profile (`profile`) are lists of such fits.
"""

from .executors import RayExecutor
from .studies import Bootstrap, bootstrap, fit_groups, fit_starts, profile
from .tasks import fit_many

__all__ = ["Bootstrap", "RayExecutor", "bootstrap", "fit_groups", "fit_many", "fit_starts", "profile"]
