"""Writes tests/reference/<function>.txt: true values of the f64 functions at hard and random points.

Run:  python make_reference.py [function...]   (needs mpmath; gmpy2 makes it faster; without names it writes all)

One line per point: the bits of each argument, then hi, lo and e with the true value = (hi + lo) 2^e
(hi, lo as bits of f64, e a decimal that keeps both words clear of the ends of the exponent range).
"""

import math
import os
import random
import struct
import sys

import mpmath
from mpmath import mp, mpf

mp.prec = 400
HERE = os.path.dirname(os.path.abspath(__file__))
POINTS = 2000
MAX = 1.7976931348623157e308
MIN = 5e-324


def bits(v):
    return struct.unpack("<Q", struct.pack("<d", v))[0]


def unbits(b):
    return struct.unpack("<d", struct.pack("<Q", b & (2**64 - 1)))[0]


def near(v, n=3):
    """v and n neighbours either side."""
    b = bits(v)
    return [unbits(b + i) for i in range(-n, n + 1)]


def wide(rng, lo=MIN, hi=MAX, sign=True):
    """Log-uniform over [lo, hi]."""
    v = unbits(rng.randint(bits(lo), bits(hi)))
    return -v if sign and rng.random() < 0.5 else v


def frexp_exponent(v):
    return mpmath.frexp(v)[1] if v else 0


def to_double(v):
    """Nearest f64 of an mpf well inside the normal range."""
    return float(v)


def words(v):
    """hi, lo, e of an mpf."""
    e = 0
    x = frexp_exponent(v)
    if v and x < -800:
        e = -400
    elif v and x > 900:
        e = 400
    v = mpmath.ldexp(v, -e)
    if v and frexp_exponent(v) < -1000:
        return 0.0, 0.0, e
    if v and frexp_exponent(v) > 1000:
        return math.copysign(math.inf, v), 0.0, e
    hi = to_double(v)
    return hi, to_double(v - mpf(hi)), e


def mixed(*makers):
    return lambda rng: rng.choice(makers)(rng)


def uniform(a, b):
    return lambda rng: rng.uniform(a, b)


def logs(a, b, sign=True):
    return lambda rng: wide(rng, a, b, sign)


def close_to_half_pi(rng):
    """f64 closest to a random multiple of pi/2."""
    n = int(2 ** rng.uniform(0, 60))
    with mpmath.workprec(200):
        v = float(n * mp.pi / 2)
    return unbits(bits(v) + rng.randint(-1, 1))


TRIG = mixed(uniform(-7, 7), uniform(-1, 1), logs(1e-9, 1e9), logs(MIN, MAX), close_to_half_pi, uniform(-1e6, 1e6))
# the f64 closest of all to a multiple of pi/2, and other known hard ones
TRIG_HARD = [
    6381956970095103.0 * 2.0**797,
    5.319372648326541e255,
    6134899525417045.0,
    1e22,
    1e300,
    MAX,
    2.0**30,
    2.0**30 + 0.5,
    2.0**31,
    355.0,
    103993.0,
    0.7853981633974483,
    2.356194490192345,
    3.141592653589793,
]


def trig(f):
    def g(x):
        with mpmath.workprec(1600):
            return +f(mpf(x))

    return g


def sigmoid(x):
    return 1 / (1 + mp.exp(-mpf(x)))


def softplus(x):
    return mp.log1p(mp.exp(mpf(x)))


def expm1(x):
    return mp.expm1(mpf(x))


EXP = mixed(uniform(-1, 1), uniform(-50, 50), uniform(-745, 709.7), uniform(-760, -700), logs(1e-20, 1), uniform(700, 709.78))
EXP_HARD = near(709.782712893384) + near(-708.3964185322641) + near(-745.1332191019411) + near(0.34657359027997264) + [MIN, -MIN, 1e-300]
EXP_HARD = [x for x in EXP_HARD if x < 709.7827128933841]
LOG = mixed(
    logs(MIN, MAX, False),
    uniform(0.5, 2),
    uniform(0.99, 1.01),
    logs(1e-3, 1e3, False),
    logs(MIN, 3e-308, False),
    lambda r: 1 + wide(r, 2.3e-16, 1e-3),
)
LOG_HARD = (
    near(1.0)
    + near(1.4142135623730951)
    + near(0.7071067811865476)
    + [MIN, MAX, 2.2250738585072014e-308, 10.0, 1000.0, 8.0, 1e22]
    + near(math.e)
)
UNIT = mixed(uniform(-1, 1), logs(MIN, 1), lambda r: math.copysign(1 - wide(r, 2.3e-16, 0.5, False), r.random() - 0.5), uniform(0.45, 0.55))
UNIT_HARD = [1.0, -1.0, 0.5, -0.5] + near(0.5) + [-v for v in near(0.5)] + [unbits(bits(1.0) - i) for i in range(1, 9)]

UNARY = {
    "sin": (trig(mp.sin), TRIG, TRIG_HARD),
    "cos": (trig(mp.cos), TRIG, TRIG_HARD),
    "tan": (trig(mp.tan), TRIG, TRIG_HARD),
    "asin": (lambda x: mp.asin(mpf(x)), UNIT, UNIT_HARD),
    "acos": (lambda x: mp.acos(mpf(x)), UNIT, UNIT_HARD),
    "atan": (
        lambda x: mp.atan(mpf(x)),
        mixed(uniform(-3, 3), logs(MIN, MAX), logs(1e-3, 1e3)),
        near(0.41421356237309503) + near(2.414213562373095) + near(1.0) + [2.0**60, 2.0**61],
    ),
    "sinh": (
        lambda x: mp.sinh(mpf(x)),
        mixed(uniform(-2, 2), uniform(-710.4, 710.4), logs(MIN, 710)),
        near(0.34657359027997264) + near(710.4758600739439)[:4] + [22.0, 45.0],
    ),
    "cosh": (
        lambda x: mp.cosh(mpf(x)),
        mixed(uniform(-2, 2), uniform(-710.4, 710.4), logs(MIN, 710)),
        near(0.34657359027997264) + near(710.4758600739439)[:4] + [22.0, 45.0],
    ),
    "tanh": (lambda x: mp.tanh(mpf(x)), mixed(uniform(-2, 2), uniform(-25, 25), logs(MIN, 710)), near(0.34657359027997264) + near(22.0)),
    "exp": (lambda x: mp.exp(mpf(x)), EXP, EXP_HARD),
    "exp2": (
        lambda x: mpf(2) ** mpf(x),
        mixed(uniform(-1, 1), uniform(-1080, 1023.9), uniform(-1080, -1000), logs(1e-20, 1)),
        near(0.5) + near(-1022.0) + near(-1074.0) + near(-1075.0),
    ),
    "expm1": (expm1, mixed(EXP, logs(MIN, 1), uniform(-40, 2)), EXP_HARD + near(-37.42994775023705) + near(1.0)),
    "log": (lambda x: mp.log(mpf(x)), LOG, LOG_HARD),
    "log2": (lambda x: mp.log(mpf(x)) / mp.log(2), LOG, LOG_HARD),
    "log10": (lambda x: mp.log(mpf(x)) / mp.log(10), LOG, LOG_HARD),
    "log1p": (
        lambda x: mp.log1p(mpf(x)),
        mixed(logs(MIN, MAX, False), uniform(-0.9999, 3), logs(MIN, 0.999), logs(1e-20, 0.5)),
        [-1 + 2.0**-53, -0.5, -0.29289321881345254, 0.41421356237309503, 1.0, MAX, 2.0**53, 2.0**54] + near(2.0**-53),
    ),
    "sqrt": (lambda x: mp.sqrt(mpf(x)), logs(MIN, MAX, False), [MIN, MAX, 2.0]),
    "cbrt": (
        lambda x: mp.sign(mpf(x)) * mp.cbrt(abs(mpf(x))),
        mixed(logs(MIN, MAX), uniform(-8, 8)),
        [1.0, 8.0, 27.0, 1000.0, MIN, MAX] + near(1.0) + near(8.0),
    ),
    "sigmoid": (
        sigmoid,
        mixed(uniform(-40, 40), uniform(-745, 0), uniform(-2, 2), logs(MIN, 700)),
        near(-36.7) + near(-708.4) + near(-745.1),
    ),
    "softplus": (
        softplus,
        mixed(uniform(-40, 40), uniform(-745, 10), uniform(-2, 2), logs(MIN, 700)),
        near(-40.0) + near(-708.4) + near(-36.7) + near(36.7) + [900.0],
    ),
    "erf": (lambda x: mp.erf(mpf(x)), mixed(uniform(-6, 6), uniform(0, 1.2), logs(MIN, 6)), near(1.0) + near(5.9) + near(6.0) + near(0.5)),
}


def pow_ref(x, y):
    if x < 0:
        r = mpf(-x) ** mpf(y)
        return -r if abs(y) < 2.0**53 and int(y) % 2 else r
    return mpf(x) ** mpf(y)


def pow_args(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return wide(rng, 1e-3, 1e3, False), rng.uniform(-100, 100)
    if kind == 1:  # towards the ends of the range
        x = wide(rng, sign=False)
        if x == 1:
            x = 2.0
        t = rng.choice([rng.uniform(-745, 709.7), rng.uniform(690, 709.7), rng.uniform(-745, -700)])
        return x, t / float(mp.log(mpf(x)))
    if kind == 2:  # near 1
        x = 1 + wide(rng, 2.3e-16, 1e-3)
        return x, rng.uniform(-700, 700) / float(mp.log(mpf(x)))
    if kind == 3:
        return -wide(rng, 1e-3, 1e3, False), float(rng.randint(-60, 60))
    if kind == 4:
        return wide(rng, MIN, 2e-308, False), rng.uniform(-0.95, 1)
    return rng.uniform(0, 20), rng.choice([0.5, 2.0, 3.0, -1.0, 1 / 3, 1.5, -0.5, 10.0])


def atan2_ref(y, x):
    return mp.atan2(mpf(y), mpf(x))


def atan2_args(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.uniform(-1, 1), rng.uniform(-1, 1)
    if kind == 1:
        return wide(rng), wide(rng)
    if kind == 2:
        y = wide(rng)
        f = wide(rng, 1e-20, 1e20)
        x = y * f
        return y, (x if 0 < abs(x) < math.inf else 1.0)
    return wide(rng, 1e-3, 1e3), wide(rng, 1e-3, 1e3)


def log_base_args(rng):
    kind = rng.randrange(3)
    if kind == 0:
        b = float(rng.randint(2, 20))
        return b ** rng.randint(1, 10), b
    if kind == 1:
        return wide(rng, sign=False), wide(rng, sign=False)
    return 1 + wide(rng, 2.3e-16, 0.4), 1 + wide(rng, 2.3e-16, 0.4)


BINARY = {
    "pow": (
        pow_ref,
        pow_args,
        [(2.0, 0.5), (10.0, 308.0), (10.0, -323.0), (1.0000000000000002, 1e18), (0.9999999999999999, 1e18), (-3.0, 5.0)],
    ),
    "atan2": (atan2_ref, atan2_args, [(1.0, 1.0), (1.0, -1.0), (MIN, MAX), (MAX, MIN), (MIN, -1.0), (MIN, MIN), (MAX, MAX), (-MAX, -MAX)]),
    "log_base": (
        lambda x, b: mp.log(mpf(x)) / mp.log(mpf(b)),
        log_base_args,
        [(1000.0, 10.0), (8.0, 2.0), (1e22, 10.0), (2.0, 8.0), (MIN, 2.0)],
    ),
}


def special(f, bits=400):
    """A function of mpmath with enough digits for what cancels inside it."""

    def g(*x):
        with mpmath.workprec(bits):
            return +mp.re(f(*(mpf(v) for v in x)))

    return g


def next_to_whole(rng):
    """Left of 0, next to a pole of gamma and far from one."""
    return -float(rng.randint(0, 180)) + wide(rng, 1e-12, 0.5)


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def hazard(x):
    # the continued fraction where the quotient of two tiny numbers is out of reach
    if x > -100:
        return mp.npdf(x) / normal_cdf(x)
    f = mpf(0)
    for k in range(60, 0, -1):
        f = k / (-x + f)
    return -x + f


def normal_quantile(p):
    """By Newton's method from the library's own f64 value."""
    from statistics import NormalDist

    q = min(p, 1 - p)
    x = mpf(NormalDist().inv_cdf(float(q))) if q > 1e-300 else -mp.sqrt(-2 * mp.log(q))
    for _ in range(60):
        step = (mp.log(normal_cdf(x)) - mp.log(q)) * normal_cdf(x) / mp.npdf(x)
        x -= step
        if abs(step) < abs(x) * mpf(10) ** -60:
            break
    return x if p < 0.5 else -x


GAMMA = mixed(uniform(1e-3, 20), uniform(0.5, 171.6), logs(1e-300, 170, False), uniform(-20, 0), next_to_whole, uniform(0.6, 2.4))
GAMMA_HARD = (
    near(1.0)
    + near(2.0)
    + near(0.7)
    + near(1.3)
    + near(1.7)
    + near(2.3)
    + near(12.0)
    + near(171.62)
    + near(1.4616321449683622)
    + [0.5, 1.5, -0.5, 23.0, -170.5]
)
GAMMA_HARD = [x for x in GAMMA_HARD if x < 171.6243769563027]
POSITIVE = mixed(uniform(1e-3, 20), logs(1e-290, 1e290, False), logs(1e-3, 1e3, False), uniform(0.6, 2.4))


def beta_args(rng):
    make = rng.choice([uniform(0.01, 30), logs(1e-3, 1e3, False), logs(1e-12, 1e6, False)])
    return make(rng), make(rng)


BESSEL_J = mixed(uniform(-40, 40), logs(1e-10, 1e3), uniform(1, 3), logs(1e3, 1e12), uniform(25, 35))


def order_and(make):
    return lambda r: (float(r.randint(-6, 6)), make(r))


def lines(r):
    """Places and widths: next to the real axis, far out, on the nodes of the trapezoidal rule, and with one of the three nearly nothing."""
    sigma = r.choice([1.0, 1.0, r.uniform(0.1, 3), wide(r, 1e-8, 1e8, False)])
    x = r.choice(
        [r.uniform(-12, 12), r.uniform(-30, 30), wide(r, 1e-3, 1e3), 0.3093592167691145 * r.randint(-30, 30), wide(r, 1e-30, 1e10)]
    )
    y = [r.uniform(0, 14), wide(r, 1e-12, 1e3, False), wide(r, 1e-200, 1, False), r.uniform(0, 1), wide(r, 1, 1e9, False)]
    return x * sigma, sigma * r.choice([1, -1]), sigma * r.choice(y)


def voigt(order, across):
    """By the derivatives of w, each of the two before; far out, where those cancel, by the asymptotic series."""

    def f(x, sigma, gamma):
        width = abs(sigma) * mp.sqrt(2)
        z = mp.mpc(x, gamma) / width
        if abs(z) > (12 if z.imag > 1e-3 else 25):
            w = sum(mp.fac2(2 * k - 1) / mpf(2) ** k * mp.rf(2 * k + 1, order) / z ** (2 * k + 1 + order) for k in range(60))
            w *= mp.mpc(0, (-1) ** order) / mp.sqrt(mp.pi)
        else:
            # on the axis w is e^(-x^2) and an integral: the difference of huge numbers needs their digits
            with mpmath.workprec(int(300 + 4 * abs(z) ** 2 + 2 * max(0, -mp.log(z.imag + mpf(2) ** -700, 2)))):
                before, w = mp.mpc(0), mp.exp(-z * z) * mp.erfc(mp.mpc(z.imag, -z.real))
                for k in range(order):
                    before, w = w, -2 * z * w - 2 * k * before + (mp.mpc(0, 2) / mp.sqrt(mp.pi) if k == 0 else 0)
        return (-w.imag if across else w.real) / (mp.sqrt(mp.pi) * width ** (order + 1))

    return special(f, 3000)


def shape_and_place(r):
    """Shapes of every size, and places left of them, next to them and right of them."""
    a = r.choice([r.uniform(0.1, 8), r.uniform(0.5, 60), wide(r, 1e-6, 1e5, False), r.uniform(25, 35), wide(r, 1, 1e3, False)])
    spread = a**0.5 + 1
    x = r.choice([a + spread * r.uniform(-6, 6), a * r.uniform(0, 3), r.uniform(7, 9), wide(r, 1e-6, 1e3, False)])
    return a, abs(x)


def incomplete(upper, order=0):
    def f(a, x):
        def p(s):
            return mp.gammainc(s, 0, x, regularized=True)

        return mp.diff(p, a, order) if order else 1 - p(a) if upper else p(a)

    return special(f, 2500 if upper else 700)


def erfcx_order(n, x):
    """The n-th derivative of exp(x^2) erfc x."""
    if x > 20:
        # the fraction of the quotients of one and the one before
        value, ratio = mpf(1), mpf(0)
        for k in range(400, 0, -1):
            ratio = 2 * k / (2 * x + ratio)
            if k <= n:
                value *= -ratio
        fraction = mpf(0)
        for k in range(400, 0, -1):
            fraction = mpf(k) / 2 / (x + fraction)
        return value / (x + fraction) / mp.sqrt(mp.pi)
    y = mp.exp(x * x) * mp.erfc(x)
    if n == 0:
        return y
    slope = 2 * x * y - 2 / mp.sqrt(mp.pi)
    for k in range(1, int(n)):
        y, slope = slope, 2 * x * slope + 2 * k * y
    return slope


def both_positive(r):
    return beta_args(r) if r.random() < 0.5 else (wide(r, 1e-30, 1e30, False), wide(r, 1e-30, 1e30, False))


def beta_mixed(a, b):
    first, second = (mp.digamma(x) - mp.digamma(a + b) for x in (a, b))
    return mp.beta(a, b) * (first * second - mp.polygamma(1, a + b))


def shapes_and_place(r):
    """Two shapes of every size, and places left of the mean, next to it and right of it."""
    make = r.choice([uniform(0.1, 8), uniform(0.5, 100), logs(1e-6, 1e4, False), uniform(25, 65), logs(1, 1e3, False)])
    a, b = make(r), make(r)
    mean = a / (a + b)
    spread = (mean * (1 - mean) / (a + b + 1)) ** 0.5
    places = [mean + spread * r.uniform(-5, 5), r.random(), wide(r, 1e-6, 1, False), 1 - wide(r, 1e-12, 1, False), r.uniform(0.65, 0.75)]
    x = r.choice(places)
    return (a, b, x) if 0 < x < 1 else shapes_and_place(r)


def incomplete_beta(upper, *orders):
    """By the hypergeometric function without alternating terms, from the end where they are fewer."""

    def part(a, b, x):
        factor = mp.exp(a * mp.log(x) + b * mp.log1p(-x) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b))
        return factor / a * mp.hyp2f1(a + b, 1, a + 1, x, maxterms=10**6)

    def f(a, b, x):
        def few(y):
            return y < 0.3 and (a + b) * y < 500

        left = not few(1 - x) if x <= a / (a + b) else few(x)

        def p(s, t):
            return part(s, t, x) if left else part(t, s, 1 - x)

        if any(orders):
            return mp.diff(p, (a, b), orders) * (1 if left else -1)
        return p(a, b) if left != upper else 1 - p(a, b)

    return special(f, 900)


# mpmath takes long for the derivative of digamma with so many digits, and for derivatives by shapes.
FEW = {"trigamma-gap": 200, "beta-mixed": 200, "beta-p-aa": 100, "beta-p-ab": 100, "beta-p-bb": 100, "beta-p-a": 200, "beta-p-b": 200}
FEW |= {f"voigt-{name}": 200 for name in ["x", "g", "xx", "xg", "xxx", "xxg", "xxxx", "xxxg"]}


SPECIAL = {
    "bell": (
        lambda x: mp.exp(-(mpf(x) ** 2)),
        mixed(uniform(-26, 26), uniform(-1, 1), uniform(26, 27.3), logs(1e-20, 26)),
        near(27.0) + [MIN, 26.6],
    ),
    "half-bell": (
        lambda x: mp.exp(-(mpf(x) ** 2) / 2),
        mixed(uniform(-37, 37), uniform(-1, 1), uniform(37, 38.6), logs(1e-20, 37)),
        near(38.0) + [MIN, 37.6],
    ),
    "half-growth": (lambda x: mp.exp(mpf(x) ** 2 / 2), mixed(uniform(-37, 37), uniform(-1, 1), logs(1e-20, 37)), [MIN, 37.6]),
    "erfcx-slope": (
        special(lambda x: erfcx_order(1, x), 4000),
        mixed(uniform(-26, 26), uniform(-1.2, 2), logs(1e-20, 26), logs(1, 1e150, False)),
        near(1.5) + near(12.0) + [100.0, 1e8, 1e149],
    ),
    "erfc": (
        special(mp.erfc),
        mixed(uniform(-6, 27), uniform(-1.2, 1.2), uniform(25, 27.2), logs(1e-20, 27)),
        near(1.0) + near(-1.0) + near(12.0) + near(26.5) + [5.0, 0.5],
    ),
    "erfcx": (
        special(lambda x: mp.exp(x * x) * mp.erfc(x), 4000),
        mixed(uniform(-26, 26), uniform(-1.2, 1.2), logs(1e-20, 26), logs(1, 40, False)),
        near(1.0) + near(12.0) + [26.5, 30.0],
    ),
    "gamma": (special(mp.gamma), GAMMA, GAMMA_HARD),
    "lgamma": (special(lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 1e5 else mp.loggamma(x), 2000), mixed(GAMMA, POSITIVE), GAMMA_HARD),
    "digamma": (
        special(mp.digamma),
        mixed(uniform(-20, 20), POSITIVE, uniform(1.4, 1.5)),
        near(1.4616321449683622, 20) + near(1.0) + near(12.0),
    ),
    "trigamma": (
        special(lambda x: mp.polygamma(1, x)),
        mixed(uniform(-20, 20), logs(1e-150, 1e300, False), uniform(0.01, 15)),
        near(1.0) + near(13.0),
    ),
    "normal-cdf": (
        special(normal_cdf),
        mixed(uniform(-38, 8), uniform(-1.5, 1.5), logs(1e-20, 8)),
        near(-1.4142135623730951) + near(1.4142135623730951) + [-37.5, -38.4],
    ),
    "normal-log-cdf": (
        special(lambda x: mp.log1p(-normal_cdf(-x)) if x > 0 else mp.log(normal_cdf(x)), 3000),
        mixed(uniform(-40, 37), uniform(-2, 2), uniform(-200, 0), logs(1e-20, 30)),
        near(-1.5) + near(-1.4142135623730951) + [37.5, 38.4, -1000.0],
    ),
    "normal-quantile": (
        special(normal_quantile),
        mixed(
            uniform(0.0001, 0.9999), logs(1e-300, 0.5, False), lambda r: 0.5 + wide(r, 1e-16, 0.3), lambda r: 1 - wide(r, 2e-16, 0.3, False)
        ),
        near(0.25) + near(0.75) + [MIN, 1e-310, unbits(bits(0.5) + 1)],
    ),
    "normal-hazard": (special(hazard, 3000), mixed(uniform(-40, 37), logs(1e-10, 1e12), uniform(-2, 2)), [-1e10, -1000.0]),
    "normal-excess": (
        special(lambda x: x + hazard(x), 3000),
        mixed(uniform(-40, 37), uniform(-1100, 0), logs(1e-10, 1e6), uniform(-2, 2)),
        near(-1000.0),
    ),
    "bessel-j0": (
        special(lambda x: mp.besselj(0, x), 400),
        BESSEL_J,
        near(2.0) + near(30.0) + near(2.404825557695773) + near(5.520078110286311) + near(2.0**30) + [1e15],
    ),
    "bessel-j1": (
        special(lambda x: mp.besselj(1, x), 400),
        BESSEL_J,
        near(2.0) + near(30.0) + near(3.831705970207512) + near(7.015586669815619) + [1e15, 1e-300],
    ),
    "bessel-i0": (special(lambda x: mp.besseli(0, x)), mixed(uniform(-40, 40), uniform(-713, 713), logs(1e-10, 30)), near(30.0) + [713.0]),
    "bessel-i1": (special(lambda x: mp.besseli(1, x)), mixed(uniform(-40, 40), uniform(-713, 713), logs(1e-300, 30)), near(30.0) + [713.0]),
    "bessel-k0": (
        special(lambda x: mp.besselk(0, x), 300),
        mixed(uniform(0.01, 40), uniform(0.1, 705), logs(1e-300, 30, False)),
        near(2.0) + near(30.0),
    ),
    "bessel-k1": (
        special(lambda x: mp.besselk(1, x), 300),
        mixed(uniform(0.01, 40), uniform(0.1, 705), logs(1e-300, 30, False)),
        near(2.0) + near(30.0),
    ),
}
SPECIAL_2 = {
    "polygamma": (
        special(lambda n, x: mp.polygamma(int(n), x)),
        lambda r: (float(r.randint(0, 6)), r.choice([r.uniform(-9, 20), wide(r, 1e-3, 1e3, False)])),
        [(2.0, 1.0), (3.0, 0.5), (9.0, 3.5)],
    ),
    "beta": (special(mp.beta, 800), beta_args, [(0.5, 0.5), (1.0, 1.0), (300.0, 400.0), (1e-200, 3.0)]),
    "lbeta": (
        special(lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), 3000),
        lambda r: beta_args(r) if r.random() < 0.6 else (wide(r, 1e-200, 1e200, False), wide(r, 1e-200, 1e200, False)),
        [(1.0, 1.0), (0.5, 0.5), (1e15, 2.0), (1e8, 1e8), (1.0, 1.0000000001)],
    ),
    "inverse-part": (
        special(lambda x, y: x / (x * x + y * y), 6000),
        lambda r: (wide(r), wide(r)) if r.random() < 0.3 else (wide(r, 1e-3, 1e3), wide(r, 1e-3, 1e3)),
        [(1e-200, 1e-200), (1e300, 1e300), (MIN, 1.0), (1.0, 0.0)],
    ),
    "erfcx-of-order": (
        special(erfcx_order, 4000),
        lambda r: (float(r.randint(0, 6)), r.choice([r.uniform(-20, 26), r.uniform(0, 3), wide(r, 1, 1e40, False)])),
        [(2.0, 1e4), (2.0, 1e6), (2.0, 100.0), (12.0, 1.6), (2.0, 1.5)],
    ),
    "digamma-gap": (
        special(lambda a, b: mp.digamma(a + b) - mp.digamma(a), 600),
        both_positive,
        [(1e12, 2.0), (1e-6, 1e-6), (1.0, 1e-10), (20.0, 0.39), (20.0, 0.41)],
    ),
    "trigamma-gap": (
        special(lambda a, b: mp.polygamma(1, a) - mp.polygamma(1, a + b), 450),
        both_positive,
        [(1e12, 2.0), (1e-6, 1e-6), (1.0, 1e-10)],
    ),
    "beta-slope": (
        special(lambda a, b: mp.beta(a, b) * (mp.digamma(a) - mp.digamma(a + b)), 600),
        both_positive,
        [(1e-6, 1e-6), (1.0, 1e-10), (300.0, 400.0)],
    ),
    "beta-mixed": (special(beta_mixed, 500), both_positive, [(1e-6, 1e-6), (1.0, 1e-10), (300.0, 400.0), (19.0, 0.41)]),
    "gamma-p": (incomplete(False), shape_and_place, [(1e6, 1e6), (1e6, 1.002e6), (30.0, 30.0), (5.0, 8.0), (0.5, 1e-300)]),
    "gamma-q": (incomplete(True), shape_and_place, [(1e6, 1e6), (1e6, 1.002e6), (30.0, 30.0), (5.0, 8.0), (3.0, 700.0)]),
    **{f"gamma-p-{n}": (incomplete(False, n), shape_and_place, [(30.0, 30.0), (5.0, 8.0)]) for n in (1, 2, 3)},
    "gamma-density": (
        special(lambda a, x: mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a)), 700),
        shape_and_place,
        [(1e6, 1e6), (1e9, 1e9), (2.0, 700.0)],
    ),
    "bessel-j": (
        special(lambda n, x: mp.besselj(int(n), x), 400),
        order_and(mixed(uniform(-40, 40), logs(1e-3, 1e3))),
        [(2.0, 0.5), (20.0, 35.0), (20.0, 3.0)],
    ),
    "bessel-i": (
        special(lambda n, x: mp.besseli(int(n), x)),
        order_and(mixed(uniform(-40, 40), uniform(-700, 700))),
        [(2.0, 0.5), (20.0, 35.0)],
    ),
    "bessel-k": (
        special(lambda n, x: mp.besselk(int(n), x), 300),
        order_and(mixed(uniform(0.01, 40), uniform(0.1, 700))),
        [(2.0, 0.5), (20.0, 35.0)],
    ),
}
SHAPES_HARD = [
    (0.5, 0.5, 0.5),
    (80.0, 120.0, 0.4),
    (1e-3, 1e-3, 0.3),
    (5e5, 5e5, 0.5),
    (20.0, 1e-3, 0.9),
    (1e9, 90.0, 1 - 1e-7),
    (1e6, 2.5, 1 - 1e-6),
]


def beta_density(a, b, x):
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b))


SPECIAL_3 = {
    "beta-p": (incomplete_beta(False), shapes_and_place, SHAPES_HARD),
    "beta-q": (incomplete_beta(True), shapes_and_place, SHAPES_HARD),
    "beta-density": (special(beta_density, 700), shapes_and_place, SHAPES_HARD),
    "beta-p-a": (incomplete_beta(False, 1, 0), shapes_and_place, SHAPES_HARD[:5]),
    "beta-p-b": (incomplete_beta(False, 0, 1), shapes_and_place, SHAPES_HARD[:5]),
    "beta-p-aa": (incomplete_beta(False, 2, 0), shapes_and_place, SHAPES_HARD[:3]),
    "beta-p-ab": (incomplete_beta(False, 1, 1), shapes_and_place, SHAPES_HARD[:3]),
    "beta-p-bb": (incomplete_beta(False, 0, 2), shapes_and_place, SHAPES_HARD[:3]),
    **{
        f"voigt{name and '-' + name}": (voigt(len(name), name.endswith("g")), lines, [(0.0, 1.0, 0.5), (24.0, 1.0, 5.0), (1.0, 1e-8, 1.0)])
        for name in ["", "x", "g", "xx", "xg", "xxx", "xxg", "xxxx", "xxxg"]
    },
}


def main():
    names = sys.argv[1:]
    os.makedirs(os.path.join(HERE, "reference"), exist_ok=True)
    for name, (f, make, hard) in {**UNARY, **BINARY, **SPECIAL, **SPECIAL_2, **SPECIAL_3}.items():
        if names and name not in names:
            continue
        rng = random.Random(name)
        args = [h if isinstance(h, tuple) else (h,) for h in hard]
        points = FEW.get(name, POINTS // 2) if name in {**SPECIAL, **SPECIAL_2, **SPECIAL_3} else POINTS
        while len(args) < points:
            a = make(rng)
            args.append(a if isinstance(a, tuple) else (a,))
        with open(os.path.join(HERE, "reference", name + ".txt"), "w") as out:
            for a in args:
                hi, lo, e = words(f(*a))
                out.write(" ".join(f"{bits(v):016x}" for v in (*a, hi, lo)) + f" {e}\n")
        print(name, flush=True)


if __name__ == "__main__":
    main()
