"""Experiment 1: constants of fifteen equations from noisy samples."""
