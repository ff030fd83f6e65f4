"""Makes sir-incidence.csv: daily new cases of an epidemic, of which a share is reported, scattered as a negative binomial.

python examples/likelihood/simulate.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

BETA, GAMMA, RHO, I0, N, K = 0.5, 0.2, 0.3, 20.0, 50_000.0, 8.0


def main() -> None:
    days = np.arange(0.0, 70.0, 2.0)
    law = lambda _, y: [-BETA * y[0] * y[1] / N, BETA * y[0] * y[1] / N - GAMMA * y[1]]
    found = solve_ivp(law, (0.0, days[-1]), [N - I0, I0], t_eval=days, rtol=1e-10, atol=1e-8)
    mean = RHO * BETA * found.y[0] * found.y[1] / N
    cases = np.random.default_rng(7).negative_binomial(K, K / (K + mean))
    lines = ["day,cases", *(f"{day:.0f},{count}" for day, count in zip(days, cases))]
    Path(__file__).with_name("sir-incidence.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
