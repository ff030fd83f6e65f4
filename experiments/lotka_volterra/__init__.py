"""Experiment 2: predators and prey."""
