"""Experiment 5: gravity between two masses in space, and gravity with an unknown drag."""
