"""The experiments of the paper, each a module of its own: `python -m experiments.NAME [--quick] [--seed N] [--out DIR]`."""

NAMES = (
    "feynman",
    "lotka_volterra",
    "pendulum",
    "heat",
    "vector_mechanics",
    "composition",
    "noise_robustness",
    "throughput",
    "gradient_scaling",
)
