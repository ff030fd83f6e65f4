"""What the experiments share: jobs, training loops, networks, integrators, tables, figures, checks."""
