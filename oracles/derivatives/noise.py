"""Stochastic arithmetic: doubles whose every result is moved by up to one rounding error at random.

Results of several runs scatter as far as rounding can move them: that is how well conditioned a program is.
"""

import math

import mpmath


class Noisy:
    """A context of doubles with noise; functions come from `math`, those it lacks from mpmath's doubles."""

    mpf = float
    pi = math.pi

    def __init__(self, random):
        self.random = random

    def __getattr__(self, name):
        return getattr(math, name, None) or getattr(mpmath.fp, name)

    def noise(self, x):
        # Whole numbers come of counting, which does not round: moving them would break loops and indices.
        if float(x).is_integer():
            return x
        return x * (1.0 + self.random.uniform(-1.0, 1.0) * 2.0**-53)

    @staticmethod
    def power(x, y):
        return math.pow(x, y)
