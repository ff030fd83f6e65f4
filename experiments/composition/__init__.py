"""Experiment 6: chains of operations, compiled, by hand, and out of networks trained for each operation."""
