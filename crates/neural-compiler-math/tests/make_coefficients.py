"""Writes src/coefficients.rs: every polynomial and constant of the kernels.

Run:  python make_coefficients.py   (needs mpmath; gmpy2 makes it faster)

Polynomials come from the Remez exchange algorithm in 60-digit arithmetic; each is printed with the
largest weighted error it leaves.  Constants of two or three words are the value rounded to double,
then the remainder rounded, and so on.
"""

import os
import struct

from mpmath import (
    asin,
    atan,
    atanh,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    floor,
    log,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    sin,
    sinh,
    sqrt,
    tanh,
)

mp.prec = 260


def remez(g, w, a, b, n, rounds=12):
    """n coefficients of p minimising max |w(z) (g(z) - p(z))| on [a, b]."""
    a, b = mpf(a), mpf(b)
    nodes = [(a + b) / 2 + (b - a) / 2 * cos(pi * (mpf(n) - i) / n) for i in range(n + 1)]
    nodes[0] += (b - a) * mpf(10) ** -20
    grid_n = 24 * (n + 1)
    grid = [(a + b) / 2 - (b - a) / 2 * cos(pi * (mpf(i) + mpf(1) / 2) / grid_n) for i in range(grid_n)]
    grid = [a + (b - a) * mpf(10) ** -20] + grid + [b]
    gv = [(x, g(x), w(x)) for x in grid]
    best = None
    for _ in range(rounds):
        m = matrix(n + 1, n + 1)
        rhs = matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            p = mpf(1)
            for j in range(n):
                m[i, j] = p
                p *= x
            m[i, n] = (-1) ** i / w(x)
            rhs[i] = g(x)
        sol = lu_solve(m, rhs)
        c = [sol[j] for j in range(n)]
        level = abs(sol[n])

        def err(x, gx, wx):
            p = mpf(0)
            for k in reversed(c):
                p = p * x + k
            return wx * (gx - p)

        es = [err(*t) for t in gv]
        top = max(abs(e) for e in es)
        if best is None or top < best[0]:
            best = (top, c)
        if top < level * mpf("1.02"):
            break
        # one extremum per run of equal sign, then drop the smallest ends down to n + 1
        ext = []
        for (x, _, _), e in zip(gv, es):
            if ext and (e > 0) == (ext[-1][1] > 0):
                if abs(e) > abs(ext[-1][1]):
                    ext[-1] = (x, e)
            else:
                ext.append((x, e))
        while len(ext) > n + 1:
            if abs(ext[0][1]) < abs(ext[-1][1]):
                ext.pop(0)
            else:
                ext.pop()
        if len(ext) < n + 1:
            break
        nodes = [x for x, _ in ext]
    return best


def single(x):
    """x rounded to single precision."""
    return struct.unpack("<f", struct.pack("<f", float(x)))[0]


def d(x):
    """x rounded to double (round to nearest even)."""
    return float(mpf(x))


def lit(v):
    return repr(v)


def bits(v):
    return struct.unpack("<Q", struct.pack("<d", v))[0]


out = [
    "//! Polynomials and constants of the kernels, written by tests/make_coefficients.py; do not edit.",
    "//! In: nothing. Out: coefficients, lowest degree first; each comment gives the largest weighted error left.",
    "#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::unreadable_literal)]",
    "",
]


def poly(name, what, g, w, a, b, n, low_name=None, type="f64"):
    top, c = remez(g, w, a, b, n)
    e = float(log(top, 2))
    print(f"{name}: {n} terms, error 2^{e:.2f}", flush=True)
    out.append(f"/// {what}; error 2^{e:.1f}.")
    out.append(f"pub(crate) const {name}: [{type}; {n}] = [")
    for k in c:
        out.append(f"    {lit(single(k) if type == 'f32' else d(k))},")
    out.append("];")
    if low_name:
        out.append(f"/// What the rounding of {name}[0] dropped.")
        out.append(f"pub(crate) const {low_name}: f64 = {lit(d(c[0] - mpf(d(c[0]))))};")


def words(name, what, v, n=2):
    out.append(f"/// {what}, word by word.")
    r = mpf(v)
    for i in range(n):
        f = d(r)
        r -= mpf(f)
        suffix = ["HI", "LO", "LO2"][i]
        out.append(f"pub(crate) const {name}_{suffix}: f64 = {lit(f)};")


NEAR_TANH = 0.96875  # tanh of an f32 is a polynomial below
one = lambda z: mpf(1)
R = log(2) / 2 * (1 + mpf(2) ** -20)
Z = R * R
poly(
    "EXP_EVEN",
    "(cosh r - 1 - r^2/2)/r^4 in r^2, |r| <= ln(2)/2, absolute error of cosh",
    lambda z: (cosh(sqrt(z)) - 1 - z / 2) / z**2,
    lambda z: z * z,
    0,
    Z,
    5,
)
poly(
    "EXP_ODD",
    "(sinh r - r)/r^3 in r^2, |r| <= ln(2)/2, error relative to sinh",
    lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z,
    lambda z: z,
    0,
    Z,
    5,
)
poly("EXP_EVEN_F32", "(cosh r - 1)/r^2 in r^2, for f32", lambda z: (cosh(sqrt(z)) - 1) / z, lambda z: z, 0, Z, 4)
poly("EXP_ODD_F32", "as EXP_ODD, for f32", lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, Z, 3)
T = (pi / 4 * (1 + mpf(2) ** -20)) ** 2
poly("SIN", "(sin r - r)/r^3 in r^2, |r| <= pi/4, error relative to sin", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, T, 6)
poly(
    "COS",
    "(cos r - 1 + r^2/2)/r^4 in r^2, |r| <= pi/4, absolute error",
    lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2,
    lambda z: z * z,
    0,
    T,
    6,
)
poly("SIN_F32", "as SIN, for f32", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, T, 4)
poly("COS_F32", "as COS, for f32", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z * z, 0, T, 4)
poly(
    "EXP_SINGLE",
    "(e^r - 1 - r)/r^2 in r, |r| <= ln(2)/2, absolute error",
    lambda r: (exp(r) - 1 - r) / r**2 if r else mpf("0.5"),
    lambda r: r * r,
    -R,
    R,
    5,
    type="f32",
)
poly("EXP_EVEN_SINGLE", "as EXP_EVEN, in f32", lambda z: (cosh(sqrt(z)) - 1 - z / 2) / z**2, lambda z: z * z, 0, Z, 2, type="f32")
poly("EXP_ODD_SINGLE", "as EXP_ODD, in f32", lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, Z, 3, type="f32")
out.append("/// Where the polynomial of tanh in f32 ends.")
out.append(f"pub(crate) const NEAR_TANH: f32 = {NEAR_TANH};")
N = mpf(NEAR_TANH) ** 2 * (1 + mpf(2) ** -20)
poly(
    "TANH_SINGLE",
    f"(tanh x - x)/x^3 in x^2, |x| <= {NEAR_TANH}, error relative to x, in f32",
    lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z,
    lambda z: z,
    0,
    N,
    8,
    type="f32",
)
poly("SIN_SINGLE", "as SIN, in f32", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, T, 3, type="f32")
poly("COS_SINGLE", "as COS, in f32", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z * z, 0, T, 3, type="f32")
S = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * (1 + mpf(2) ** -20)
poly(
    "LOG",
    "(2 atanh(s)/s - 2)/s^2 in s^2, s = f/(2+f), 1+f in [sqrt(1/2), sqrt(2)], error relative to the logarithm",
    lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z,
    lambda z: z / 2,
    0,
    S,
    7,
)
poly("LOG_F32", "as LOG, for f32", lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, lambda z: z / 2, 0, S, 5)
poly(
    "LOG_POW",
    "(2 atanh(s)/s - 2 - 2 s^2/3)/s^4 in s^2, same range, for pow",
    lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2 - 2 * z / 3) / z**2,
    lambda z: z * z / 2,
    0,
    S,
    8,
)
A = (sqrt(2) - 1) ** 2 * (1 + mpf(2) ** -10)
poly(
    "ATAN", "(atan t - t)/t^3 in t^2, |t| <= tan(pi/8), relative error", lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, A, 11
)
poly("ATAN_F32", "as ATAN, for f32", lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, A, 7)
poly(
    "ASIN",
    "(asin s - s)/s^3 in s^2, |s| <= 1/2, relative error",
    lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z,
    lambda z: z,
    0,
    mpf("0.2501"),
    13,
)
poly("ASIN_F32", "as ASIN, for f32", lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 0, mpf("0.2501"), 8)
C0 = 2 / sqrt(pi) - 1
poly(
    "ERF",
    "(erf(x)/x - 2/sqrt(pi))/x^2 in x^2, |x| <= 1, error relative to erf",
    lambda z: (erf(sqrt(z)) / sqrt(z) - 1 - C0) / z,
    lambda z: z,
    0,
    mpf("1.0001"),
    12,
    "ERF_1_LO",
)
poly("ERF_F32", "erf(x)/x - 1 in x^2, for f32", lambda z: erf(sqrt(z)) / sqrt(z) - 1, one, 0, mpf("1.0001"), 9)
# erfc(x) = exp(-x^2) p(v), v = (x - 2)/(x + 2), well-conditioned; the absolute error of erfc counts
inv = lambda v: 2 * (1 + v) / (1 - v)
erfcx = lambda x: exp(x * x) * erfc(x)
poly(
    "ERFC",
    "exp(x^2) erfc(x) in v = (x-2)/(x+2), 1 <= x <= 6, error weighted by exp(-x^2)",
    lambda v: erfcx(inv(v)),
    lambda v: exp(-(inv(v) ** 2)),
    -mpf(1) / 3,
    mpf(1) / 2,
    13,
)
poly("ERFC_F32", "as ERFC, for f32, 1 <= x <= 4", lambda v: erfcx(inv(v)), lambda v: exp(-(inv(v) ** 2)), -mpf(1) / 3, mpf(1) / 3, 8)
poly("CBRT", "m^(-1/3), 1 <= m <= 8, relative error", lambda m: m ** (-mpf(1) / 3), lambda m: m ** (mpf(1) / 3), 1, 8, 5)

words("ERF_0", "2/sqrt(pi) - 1", C0, 2)
words("LN2", "ln 2", log(2), 2)
words("LOG2E", "1/ln 2", 1 / log(2), 2)
words("LOG10E", "1/ln 10", 1 / log(10), 2)
words("LOG10_2", "log10 2", log(2, 10), 1)
words("TWO_OVER_PI", "2/pi", 2 / pi, 1)
words("PIO2", "pi/2", pi / 2, 3)
words("PIO4", "pi/4", pi / 4, 2)
words("THREE_PIO4", "3 pi/4", 3 * pi / 4, 2)
words("PI", "pi", pi, 2)
words("TWO_THIRDS", "2/3", mpf(2) / 3, 2)
# ln 2 with the low 11 bits of the first word clear: products with an exponent are exact
h = mpf(floor(log(2) * mpf(2) ** 42)) / mpf(2) ** 42
out.append("/// ln 2, first 42 bits: its product with any exponent is exact.")
out.append(f"pub(crate) const LN2_SHORT: f64 = {lit(d(h))};")
out.append("/// ln 2 - LN2_SHORT.")
out.append(f"pub(crate) const LN2_REST: f64 = {lit(d(log(2) - h))};")
h = mpf(floor(log(2, 10) * mpf(2) ** 42)) / mpf(2) ** 42
out.append("/// log10 2, first 42 bits.")
out.append(f"pub(crate) const LOG10_2_SHORT: f64 = {lit(d(h))};")
out.append("/// log10 2 - LOG10_2_SHORT.")
out.append(f"pub(crate) const LOG10_2_REST: f64 = {lit(d(log(2, 10) - h))};")
# the same in single precision: products with an exponent below 2^8, or with a quadrant below 2^12, are exact
out.append("/// 1/ln 2 in f32.")
out.append(f"pub(crate) const LOG2E_SINGLE: f32 = {lit(single(1 / log(2)))};")
h = mpf(floor(log(2) * mpf(2) ** 15)) / mpf(2) ** 15
out.append("/// ln 2, first 15 bits: its product with any exponent of an f32 is exact.")
out.append(f"pub(crate) const LN2_SHORT_SINGLE: f32 = {lit(single(h))};")
out.append("/// ln 2 - LN2_SHORT_SINGLE.")
out.append(f"pub(crate) const LN2_REST_SINGLE: f32 = {lit(single(log(2) - h))};")
out.append("/// 2/pi in f32.")
out.append(f"pub(crate) const TWO_OVER_PI_SINGLE: f32 = {lit(single(2 / pi))};")
r = pi / 2 - mpf(single(pi / 2))
h = mpf(floor(r * mpf(2) ** 34 + mpf(1) / 2)) / mpf(2) ** 34
out.append("/// pi/2 in f32, the next 10 bits, and the rest.")
out.append(f"pub(crate) const PIO2_HI_SINGLE: f32 = {lit(single(pi / 2))};")
out.append(f"pub(crate) const PIO2_MID_SINGLE: f32 = {lit(single(h))};")
out.append(f"pub(crate) const PIO2_LO_SINGLE: f32 = {lit(single(r - h))};")
# 2/pi, first 64*20 bits after the point
mp.prec = 1500
v = int(floor(2 / pi * mpf(2) ** (64 * 20)))
out.append("/// The first 1280 bits of 2/pi after the binary point, most significant word first.")
out.append("pub(crate) const TWO_OVER_PI: [u64; 20] = [")
for i in range(20):
    out.append(f"    0x{(v >> (64 * (19 - i))) & (2**64 - 1):016x},")
out.append("];")
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "src", "coefficients.rs"), "w") as f:
    f.write("\n".join(out) + "\n")
