"""Experiment 3: a damped pendulum, with and without a known push."""
