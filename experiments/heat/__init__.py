"""Experiment 4: diffusion on ten points, alone and with an unknown source."""
