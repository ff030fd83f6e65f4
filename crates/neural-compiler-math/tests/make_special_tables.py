"""Writes src/special/tables.rs: the series and constants of the special functions, two words each.

Run:  python make_special_tables.py   (needs mpmath; gmpy2 makes it faster)
"""

import os

from mpmath import bernoulli, cosh, digamma, euler, exp, factorial, findroot, log, mp, mpf, pi, polygamma, sqrt, zeta

mp.prec = 400

out = [
    "//! Series and constants of the special functions, written by tests/make_special_tables.py; do not edit.",
    "//! In: nothing. Out: numbers of two words, lowest degree first.",
    "#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::unreadable_literal)]",
    "",
    "use super::double::D;",
    "",
]


def word(v):
    hi = float(v)
    return f"D {{ hi: {hi!r}, lo: {float(v - mpf(hi))!r} }}"


def constant(name, what, v):
    out.append(f"/// {what}.")
    out.append(f"pub(super) const {name}: D = {word(v)};")


def table(name, what, values):
    out.append(f"/// {what}.")
    out.append(f"pub(super) const {name}: [D; {len(values)}] = [")
    out.extend(f"    {word(v)}," for v in values)
    out.append("];")


constant("LN2", "ln 2", log(2))
constant("PI", "pi", pi)
constant("HALF_LN_2PI", "ln(2 pi)/2", log(2 * pi) / 2)
constant("EULER", "Euler's constant", +euler)
constant("INV_SQRT_PI", "1/sqrt(pi)", 1 / sqrt(pi))
constant("SQRT_HALF", "sqrt(1/2)", sqrt(mpf(1) / 2))
constant("SIXTH", "1/6", mpf(1) / 6)
table(
    "LGAMMA_NEAR_2",
    "ln Gamma(2 + e)/e in e, |e| <= 0.3: 1 - Euler, then (-1)^k (zeta(k) - 1)/k",
    [1 - euler] + [(-1) ** k * (zeta(k) - 1) / k for k in range(2, 28)],
)
table(
    "STIRLING",
    "B(2k)/(2k (2k - 1)), k = 1, 2, ...: the tail of Stirling's series",
    [bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 14)],
)
table("BERNOULLI", "B(2k), k = 1, 2, ...", [bernoulli(2 * k) for k in range(1, 19)])
root = findroot(digamma, mpf("1.4616321449683622"))
h1 = float(root)
h2 = float(root - h1)
h3 = float(root - h1 - h2)
out.append("/// Where digamma is 0, word by word.")
out.append(f"pub(super) const DIGAMMA_ROOT: [f64; 3] = [{h1!r}, {h2!r}, {h3!r}];")
table("DIGAMMA_NEAR_ROOT", "digamma(root + d)/d in d, |d| <= 1/32", [polygamma(k, root) / factorial(k) for k in range(1, 17)])
STEP = mpf("0.4375")
out.append("/// Step of the trapezoidal sums of erfc and w.")
out.append(f"pub(super) const STEP: f64 = {float(STEP)!r};")
table("BELL_WHOLE", "e^(-(k STEP)^2), k = 1, 2, ...", [exp(-((k * STEP) ** 2)) for k in range(1, 17)])
table("BELL_HALF", "e^(-((k + 1/2) STEP)^2), k = 0, 1, ...", [exp(-(((k + mpf(1) / 2) * STEP) ** 2)) for k in range(16)])
COSH = mpf("0.125")
out.append("/// Step of the trapezoidal sum of K.")
out.append(f"pub(super) const COSH_STEP: f64 = {float(COSH)!r};")
table("COSH_LESS_ONE", "cosh(k COSH_STEP) - 1, k = 1, 2, ...", [cosh(k * COSH) - 1 for k in range(1, 36)])
FALL = mpf(1) / 16
nodes = [k * FALL for k in range(-64, 70)]
out.append("/// e^(v - e^-v) and its slope times the step, v in steps of 1/16: places and weights of an integral from 0 on.")
out.append(f"pub(super) const FALLING: [(D, D); {len(nodes)}] = [")
for v in nodes:
    place = exp(v - exp(-v))
    out.append(f"    ({word(place)}, {word(place * (1 + exp(-v)) * FALL)}),")
out.append("];")
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "src", "special", "tables.rs"), "w") as f:
    f.write("\n".join(out) + "\n")
