"""Numbers that carry first and second derivatives, and the operations of the language on them.

A scalar is a `Dual`: value, gradient (list, or None when constant), Hessian (packed rows of the lower triangle, or None when
zero). A vector is a list of scalars, a matrix a list of rows. The context gives arithmetic (`mpf`) and functions.
"""

from mpmath import mp


class Dual:
    """A value with its derivatives."""

    __slots__ = ("g", "h", "v")

    def __init__(self, v, g=None, h=None):
        self.v, self.g, self.h = v, g, h


def depth(x):
    """0 for a scalar, 1 for a vector, 2 for a matrix."""
    return 0 if isinstance(x, Dual) else 1 + depth(x[0])


def flatten(x):
    """All scalars of a value, row by row."""
    return [x] if isinstance(x, Dual) else [s for part in x for s in flatten(part)]


class Numbers:
    """The operations, over one context."""

    def __init__(self, context):
        self.c = context
        self.num = context.mpf
        self.round = getattr(context, "noise", None)
        self.unspecified_second = False

    # ---- building numbers ----

    def constant(self, x):
        return Dual(self.num(x))

    def variable(self, x, index, count):
        g = [self.num(0)] * count
        g[index] = self.num(1)
        return Dual(self.num(x), g)

    def make(self, v, g, h):
        """A result; rounding noise goes in here when the context has any."""
        if self.round is not None:
            noise = self.round
            v = noise(v)
            g = None if g is None else [noise(x) for x in g]
            h = None if h is None else [noise(x) for x in h]
        return Dual(v, g, h)

    def chain(self, v, parts):
        """The value with derivatives by the chain rule. `parts`: (argument, first, [(argument, second)])."""
        parts = [p for p in parts if p[0].g is not None]
        if not parts:
            return self.make(v, None, None)
        count = len(parts[0][0].g)
        g = [self.num(0)] * count
        h = None
        for a, first, seconds in parts:
            if first != 0:
                g = [x + first * y for x, y in zip(g, a.g)]
                if a.h is not None:
                    h = [first * y for y in a.h] if h is None else [x + first * y for x, y in zip(h, a.h)]
            for b, second in seconds:
                if second == 0 or b.g is None:
                    continue
                # Each argument lists all its second partials: rows of the symmetric matrix.
                added = [second * a.g[i] * b.g[j] for i in range(count) for j in range(i + 1)]
                h = added if h is None else [x + y for x, y in zip(h, added)]
        return self.make(v, g, h)

    def unary(self, x, v, first, second):
        return self.chain(v, [(x, first, [(x, second)])])

    def binary(self, x, y, v, fx, fy, fxx, fxy, fyy):
        return self.chain(v, [(x, fx, [(x, fxx), (y, fxy)]), (y, fy, [(x, fxy), (y, fyy)])])

    # ---- scalar operations ----

    def add(self, x, y):
        return self.binary(x, y, x.v + y.v, 1, 1, 0, 0, 0)

    def sub(self, x, y):
        return self.binary(x, y, x.v - y.v, 1, -1, 0, 0, 0)

    def mul(self, x, y):
        return self.binary(x, y, x.v * y.v, y.v, x.v, 0, 1, 0)

    def div(self, x, y):
        r = 1 / y.v
        q = x.v * r
        return self.binary(x, y, x.v / y.v, r, -q * r, 0, -r * r, 2 * q * r * r)

    def flat(self, v):
        """A value whose derivative is zero."""
        return Dual(self.num(v))

    def best(self, x, y, smaller):
        if x.v == y.v:
            half = self.num(1) / 2
            return self.chain(x.v, [(x, half, []), (y, half, [])])
        return x if (x.v < y.v) == smaller else y

    def pow(self, x, y):
        c, a, b = self.c, x.v, y.v
        v = c.power(a, b)
        fx, fxx = b * c.power(a, b - 1) if b != 0 else 0, b * (b - 1) * c.power(a, b - 2) if b not in (0, 1) else 0
        if y.g is None:
            return self.chain(v, [(x, fx, [(x, fxx)])])
        log = c.log(a)
        return self.binary(x, y, v, fx, v * log, fxx, c.power(a, b - 1) * (1 + b * log), v * log * log)

    def atan2(self, y, x):
        r = x.v * x.v + y.v * y.v
        cross = 2 * x.v * y.v / (r * r)
        mixed = (y.v * y.v - x.v * x.v) / (r * r)
        return self.binary(y, x, self.c.atan2(y.v, x.v), x.v / r, -y.v / r, -cross, mixed, cross)

    def modulo(self, x, y):
        k = self.c.floor(x.v / y.v)
        return self.binary(x, y, x.v - k * y.v, 1, -k, 0, 0, 0)

    def remainder(self, x, y):
        k = self.truncated(x.v / y.v)
        return self.binary(x, y, x.v - k * y.v, 1, -k, 0, 0, 0)

    def truncated(self, x):
        return self.c.floor(x) if x >= 0 else self.c.ceil(x)

    def rounded(self, x):
        low = self.c.floor(x)
        if x - low == self.num(0.5):
            return low if low % 2 == 0 else low + 1
        return self.c.floor(x + self.num(0.5))

    def function(self, name, x):
        """A function of one argument by its value, first and second derivative."""
        c, a = self.c, x.v
        sign = (a > 0) - (a < 0)
        if name in ("floor", "ceiling", "round", "truncate", "sign", "not"):
            flat = {
                "floor": lambda: c.floor(a), "ceiling": lambda: c.ceil(a), "round": lambda: self.rounded(a),
                "truncate": lambda: self.truncated(a), "sign": lambda: sign, "not": lambda: a == 0,
            }  # fmt: skip
            return self.flat(flat[name]() * 1)
        two, third = self.num(2), self.num(1) / 3
        if name == "tan":
            t = c.tan(a)
            parts = t, 1 + t * t, 2 * t * (1 + t * t)
        elif name in ("asin", "acos"):
            root = c.sqrt((1 - a) * (1 + a))
            first, second = 1 / root, a / root**3
            parts = (c.asin(a), first, second) if name == "asin" else (c.acos(a), -first, -second)
        elif name == "atan":
            first = 1 / (1 + a * a)
            parts = c.atan(a), first, -2 * a * first * first
        elif name == "tanh":
            t, first = c.tanh(a), 1 / c.cosh(a) ** 2
            parts = t, first, -2 * t * first
        elif name == "sigmoid":
            s, r = 1 / (1 + c.exp(-a)), 1 / (1 + c.exp(a))
            parts = s, s * r, -s * r * c.tanh(a / 2)
        elif name == "softplus":
            s, r = 1 / (1 + c.exp(-a)), 1 / (1 + c.exp(a))
            parts = (c.log1p(c.exp(a)) if a < 0 else a + c.log1p(c.exp(-a))), s, s * r
        elif name == "erf":
            bell = two / c.sqrt(c.pi) * c.exp(-a * a)
            parts = c.erf(a), bell, -2 * a * bell
        elif name in ("erfc", "erfcx", "gamma", "lgamma", "digamma", "trigamma") or name.startswith(("normal-", "bessel-")):
            parts = self.special(name, a)
        elif name == "cbrt":
            v = sign * c.power(abs(a), third)
            parts = v, v / (3 * a), -2 * v / (9 * a * a)
        else:
            parts = {
                "sin": lambda: (c.sin(a), c.cos(a), -c.sin(a)),
                "cos": lambda: (c.cos(a), -c.sin(a), -c.cos(a)),
                "sinh": lambda: (c.sinh(a), c.cosh(a), c.sinh(a)),
                "cosh": lambda: (c.cosh(a), c.sinh(a), c.cosh(a)),
                "exp": lambda: (c.exp(a),) * 3,
                "expm1": lambda: (c.expm1(a), c.exp(a), c.exp(a)),
                "exp2": lambda: (c.power(two, a), c.power(two, a) * c.log(two), c.power(two, a) * c.log(two) ** 2),
                "log": lambda: (c.log(a), 1 / a, -1 / (a * a)),
                "log2": lambda: (c.log(a) / c.log(two), 1 / (a * c.log(two)), -1 / (a * a * c.log(two))),
                "log10": lambda: (c.log(a) / c.log(self.num(10)), 1 / (a * c.log(self.num(10))), -1 / (a * a * c.log(self.num(10)))),
                "log1p": lambda: (c.log1p(a), 1 / (1 + a), -1 / (1 + a) ** 2),
                "sqrt": lambda: (c.sqrt(a), 1 / (2 * c.sqrt(a)), -1 / (4 * a * c.sqrt(a))),
                "square": lambda: (a * a, 2 * a, two),
                "abs": lambda: (abs(a), sign, 0),
                "relu": lambda: (a if a > 0 else a * 0, int(a > 0), 0),
            }[name]()  # fmt: skip
        return self.unary(x, *parts)

    def special(self, name, a):
        """Value, first and second derivative of a special function."""
        c = self.c
        bell = 2 / c.sqrt(c.pi) * c.exp(-a * a)
        density = c.exp(-a * a / 2) / c.sqrt(2 * c.pi)
        if name == "erfc":
            return c.erfc(a), -bell, 2 * a * bell
        if name == "erfcx":
            v = c.exp(a * a) * c.erfc(a)
            first = 2 * a * v - 2 / c.sqrt(c.pi)
            return v, first, 2 * v + 2 * a * first
        if name == "normal-cdf":
            return c.erfc(-a / c.sqrt(self.num(2))) / 2, density, -a * density
        if name == "normal-log-cdf":
            below = c.erfc(-a / c.sqrt(self.num(2))) / 2
            ratio = density / below
            return c.log(below), ratio, -ratio * (a + ratio)
        if name == "normal-quantile":
            v = self.quantile(a)
            first = c.sqrt(2 * c.pi) * c.exp(v * v / 2)
            return v, first, v * first * first
        if name.startswith("bessel-"):
            # Derivatives by the equations of Bessel: x y' = x y(n-1) - n y, y'' from x^2 y'' + x y' = +-(x^2 -+ n^2) y.
            kind, n = name[-2], int(name[-1])
            f = lambda k: {"j": c.besselj, "i": c.besseli, "k": c.besselk}[kind](k, a)
            if a == 0:
                second = {"j": -0.5, "i": 0.5}[kind] if n == 0 else 0.0
                return f(n), self.num(0.5 * n), self.num(second)
            up = {"j": -1, "i": 1, "k": -1}[kind]
            first = up * f(1) if n == 0 else (-f(0) if kind == "k" else f(0)) - f(1) / a
            side = -1 if kind == "j" else 1
            return f(n), first, side * f(n) + self.num(n) * f(n) / (a * a) - first / a
        psi = [c.digamma(a), c.polygamma(1, a), c.polygamma(2, a), c.polygamma(3, a)]
        if name == "gamma":
            v = c.gamma(a)
            return v, v * psi[0], v * (psi[1] + psi[0] ** 2)
        if name == "lgamma":
            return c.log(abs(c.gamma(a))), psi[0], psi[1]
        return (psi[0], psi[1], psi[2]) if name == "digamma" else (psi[1], psi[2], psi[3])

    def quantile(self, p):
        """By Newton's method on the logarithm, from the side where it cannot overshoot."""
        c = self.c
        q = min(p, 1 - p)
        x = -c.sqrt(-2 * c.log(q))
        for _ in range(200):
            below = c.erfc(-x / c.sqrt(self.num(2))) / 2
            step = (c.log(below) - c.log(q)) * below * c.sqrt(2 * c.pi) * c.exp(x * x / 2)
            x -= step
            if abs(step) < 1e-14 * abs(x) + 1e-60:
                break
        return x if p < 1 - p else -x

    def beta(self, x, y, logarithm):
        c, a, b = self.c, x.v, y.v
        v = c.gamma(a) * c.gamma(b) / c.gamma(a + b)
        both = c.digamma(a + b)
        p, q = c.digamma(a) - both, c.digamma(b) - both
        cross = -c.polygamma(1, a + b)
        pp, qq = c.polygamma(1, a) + cross, c.polygamma(1, b) + cross
        if logarithm:
            return self.binary(x, y, c.log(v), p, q, pp, cross, qq)
        return self.binary(x, y, v, v * p, v * q, v * (pp + p * p), v * (cross + p * q), v * (qq + q * q))

    def incomplete(self, shape, place, upper):
        """By mpmath's own, whose derivatives by the shape are differences of many digits."""
        a, x = mp.mpf(shape.v), mp.mpf(place.v)
        with mp.workdps(30):
            lower = lambda s: mp.gammainc(s, 0, x, regularized=True)
            value = mp.gammainc(a, x, mp.inf, regularized=True) if upper else lower(a)
            density = mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))
            mixed = density * (mp.log(x) - mp.digamma(a))
            along = density * ((a - 1) / x - 1)
            parts = mp.diff(lower, a), density, mp.diff(lower, a, 2), mixed, along
        sign = -1 if upper else 1
        return self.binary(shape, place, self.num(value), *(self.num(sign * p) for p in parts))

    def incomplete_beta(self, first, second, place, upper):
        """By mpmath's own likewise; by the place the density and its derivatives."""
        a, b, x = (mp.mpf(d.v) for d in (first, second, place))
        with mp.workdps(30):
            lower = lambda s, t: mp.betainc(s, t, 0, x, regularized=True)
            value = mp.betainc(a, b, x, 1, regularized=True) if upper else lower(a, b)
            density = mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.log(mp.beta(a, b)))
            both = mp.digamma(a + b)
            slopes = mp.log(x) - mp.digamma(a) + both, mp.log1p(-x) - mp.digamma(b) + both, (a - 1) / x - (b - 1) / (1 - x)
            by = {n: mp.diff(lower, (a, b), n) for n in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))}
        sign = -1 if upper else 1
        of = lambda v: self.num(sign * v)
        da, db, dx = (of(density * s) for s in slopes)
        return self.chain(self.num(value), [
            (first, of(by[1, 0]), [(first, of(by[2, 0])), (second, of(by[1, 1])), (place, da)]),
            (second, of(by[0, 1]), [(first, of(by[1, 1])), (second, of(by[0, 2])), (place, db)]),
            (place, of(density), [(first, da), (second, db), (place, dx)]),
        ])  # fmt: skip

    def voigt(self, x, sigma, gamma):
        """From what is differentiable here already: e^(-z^2) erfc(-i z) over the width, its derivative being -2 z w + 2 i/sqrt(pi)."""
        c = self.c
        width = self.mul(self.constant(c.sqrt(self.num(2))), self.function("abs", sigma))
        p, q = self.div(x, width), self.div(gamma, width)
        # always in mpmath's numbers: those of `noise` are real
        z = mp.mpc(p.v, q.v)
        w = mp.exp(-z * z) * mp.erfc(mp.mpc(q.v, -p.v))
        first = -2 * z * w + mp.mpc(0, 2) / mp.sqrt(mp.pi)
        second = -2 * w - 2 * z * first
        parts = (w.real, first.real, -first.imag, second.real, -second.imag, -second.real)
        re = self.binary(p, q, *(self.num(x) for x in parts))
        return self.div(re, self.mul(width, self.constant(c.sqrt(c.pi))))

    # ---- shapes ----

    def each(self, f, *args):
        """Elementwise, scalars combining with anything."""
        lead = max(args, key=depth)
        if depth(lead) == 0:
            return f(*args)
        rows = [[a] * len(lead) if depth(a) == 0 else a for a in args]
        return [self.each(f, *row) for row in zip(*rows)]

    def fold(self, f, args):
        value = args[0]
        for a in args[1:]:
            value = self.each(f, value, a)
        return value

    def sum(self, terms):
        total = terms[0]
        for t in terms[1:]:
            total = self.add(total, t)
        return total

    def dot(self, u, v):
        return self.sum([self.mul(a, b) for a, b in zip(u, v)])

    def transpose(self, m):
        return [list(column) for column in zip(*m)]

    def product(self, a, b):
        if depth(b) == 1:
            return [self.dot(row, b) for row in a]
        columns = self.transpose(b)
        return [[self.dot(row, column) for column in columns] for row in a]

    def det(self, m):
        if len(m) == 1:
            return m[0][0]
        return self.dot(m[0], [self.cofactor_at(m, 0, j) for j in range(len(m))])

    def cofactor_at(self, m, i, j):
        if len(m) == 1:
            return self.constant(1.0)
        minor = self.det([row[:j] + row[j + 1 :] for k, row in enumerate(m) if k != i])
        return minor if (i + j) % 2 == 0 else self.sub(self.constant(0.0), minor)

    def cofactor(self, m):
        return [[self.cofactor_at(m, i, j) for j in range(len(m))] for i in range(len(m))]

    def inv(self, m):
        det = self.det(m)
        return self.each(lambda c: self.div(c, det), self.transpose(self.cofactor(m)))

    def norm(self, v):
        square = self.dot(v, v)
        if square.v == 0:
            self.unspecified_second = True
            return self.flat(0)
        return self.function("sqrt", square)

    # ---- the operations by name ----

    def compare(self, name, args):
        test = {
            "=": lambda a, b: a.v == b.v, "<": lambda a, b: a.v < b.v, ">": lambda a, b: a.v > b.v,
            "<=": lambda a, b: a.v <= b.v, ">=": lambda a, b: a.v >= b.v,
        }[name]  # fmt: skip
        pairs = [self.each(lambda a, b: self.flat(int(test(a, b))), a, b) for a, b in zip(args, args[1:])]
        return self.fold(lambda a, b: self.flat(a.v * b.v), pairs) if pairs else self.constant(1.0)

    def apply(self, name, args):
        special = getattr(self, "op_" + SPECIAL.get(name, ""), None)
        if special is not None:
            return special(*args)
        if name in ("=", "<", ">", "<=", ">="):
            return self.compare(name, args)
        if name in ("+", "*") and not args:
            return self.constant(0.0 if name == "+" else 1.0)
        if (name in FOLDS and len(args) > 1) or name in ("+", "*", "min", "max"):
            return self.fold(getattr(self, "fold_" + FOLDS[name]), args)
        if name == "-":
            return self.each(lambda x: self.unary(x, -x.v, -1, 0), args[0])
        if name == "/":
            return self.each(lambda x: self.div(self.constant(1.0), x), args[0])
        return self.each(lambda x: self.function(name, x), args[0])

    def fold_add(self, x, y):
        return self.add(x, y)

    def fold_sub(self, x, y):
        return self.sub(x, y)

    def fold_mul(self, x, y):
        return self.mul(x, y)

    def fold_div(self, x, y):
        return self.div(x, y)

    def fold_min(self, x, y):
        return self.best(x, y, True)

    def fold_max(self, x, y):
        return self.best(x, y, False)

    def op_pow(self, x, y):
        return self.each(self.pow, x, y)

    def op_beta(self, a, b):
        return self.each(lambda x, y: self.beta(x, y, logarithm=False), a, b)

    def op_gamma_p(self, a, x):
        return self.each(lambda s, p: self.incomplete(s, p, upper=False), a, x)

    def op_gamma_q(self, a, x):
        return self.each(lambda s, p: self.incomplete(s, p, upper=True), a, x)

    def op_beta_p(self, a, b, x):
        return self.each(lambda s, t, p: self.incomplete_beta(s, t, p, upper=False), a, b, x)

    def op_beta_q(self, a, b, x):
        return self.each(lambda s, t, p: self.incomplete_beta(s, t, p, upper=True), a, b, x)

    def op_voigt(self, x, sigma, gamma):
        return self.each(self.voigt, x, sigma, gamma)

    def op_lbeta(self, a, b):
        return self.each(lambda x, y: self.beta(x, y, logarithm=True), a, b)

    def op_atan(self, y, *x):
        return self.each(self.atan2, y, x[0]) if x else self.each(lambda a: self.function("atan", a), y)

    def op_log(self, x, *base):
        log = self.each(lambda a: self.function("log", a), x)
        return self.each(self.div, log, self.each(lambda a: self.function("log", a), base[0])) if base else log

    def op_modulo(self, x, y):
        return self.each(self.modulo, x, y)

    def op_remainder(self, x, y):
        return self.each(self.remainder, x, y)

    def op_quotient(self, x, y):
        return self.each(lambda a, b: self.flat(self.truncated(a.v / b.v)), x, y)

    def op_select(self, test, x, y):
        return self.each(lambda t, a, b: a if t.v != 0 else b, test, x, y)

    def op_clamp(self, x, low, high):
        return self.each(self.fold_min, self.each(self.fold_max, x, low), high)

    def op_vec(self, *items):
        return list(items)

    def op_ref(self, x, *indices):
        for i in indices:
            x = x[int(i.v)]
        return x

    def op_dot(self, u, v):
        return self.dot(u, v)

    def op_cross(self, a, b):
        pairs = ((1, 2), (2, 0), (0, 1))
        return [self.sub(self.mul(a[j], b[k]), self.mul(a[k], b[j])) for j, k in pairs]

    def op_norm(self, v):
        return self.norm(v)

    def op_normalize(self, v):
        length = self.norm(v)
        return [self.div(x, length) for x in v]

    def op_total(self, x):
        return self.sum(flatten(x))

    def op_vlen(self, v):
        return self.constant(len(v))

    def op_scale(self, s, x):
        return self.each(self.mul, s, x)

    def op_slice(self, v, start, end):
        return v[int(start.v) : int(end.v)]

    def op_concat(self, *parts):
        return [x for p in parts for x in flatten(p)]

    def op_matmul(self, a, b):
        return self.product(a, b)

    def op_transpose(self, a):
        return self.transpose(a)

    def op_trace(self, a):
        return self.sum([row[i] for i, row in enumerate(a)])

    def op_det(self, a):
        return self.det(a)

    def op_inv(self, a):
        return self.inv(a)

    def op_solve(self, a, b):
        return self.product(self.inv(a), b)

    def op_outer(self, u, v):
        return [[self.mul(a, b) for b in v] for a in u]

    def op_cofactor(self, a):
        return self.cofactor(a)

    def filled(self, x, sizes):
        sizes = [int(s.v) for s in sizes]
        return [x] * sizes[0] if len(sizes) == 1 else [[x] * sizes[1] for _ in range(sizes[0])]

    def op_fill(self, x, *sizes):
        return self.filled(x, sizes)

    def op_zeros(self, *sizes):
        return self.filled(self.constant(0.0), sizes)

    def op_ones(self, *sizes):
        return self.filled(self.constant(1.0), sizes)

    def op_linspace(self, a, b, n):
        n = int(n.v)
        share = [self.div(self.constant(float(i)), self.constant(float(n - 1))) for i in range(n)]
        return [self.add(self.mul(a, self.sub(self.constant(1.0), w)), self.mul(b, w)) for w in share]

    def op_first_difference(self, u, left, right, h):
        u = [left, *u, right]
        width = self.mul(self.constant(2.0), h)
        return [self.div(self.sub(c, a), width) for a, c in zip(u, u[2:])]

    def op_second_difference(self, u, left, right, h):
        u = [left, *u, right]
        width = self.mul(h, h)
        return [self.div(self.sub(self.sub(c, b), self.sub(b, a)), width) for a, b, c in zip(u, u[1:], u[2:])]

    def op_interpolate(self, u, a, b, x):
        place = self.mul(self.div(self.sub(x, a), self.sub(b, a)), self.constant(float(len(u) - 1)))
        i = min(int(place.v), len(u) - 2)
        right = self.sub(place, self.constant(float(i)))
        return self.add(self.mul(u[i], self.sub(self.constant(1.0), right)), self.mul(u[i + 1], right))

    def op_eye(self, n):
        n = int(n.v)
        return [[self.constant(float(i == j)) for j in range(n)] for i in range(n)]


FOLDS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "min": "min", "max": "max"}
SPECIAL = {
    "beta": "beta", "lbeta": "lbeta", "voigt": "voigt", "gamma-p": "gamma_p", "gamma-q": "gamma_q", "beta-p": "beta_p", "beta-q": "beta_q",
    "pow": "pow", "expt": "pow", "atan": "atan", "log": "log", "modulo": "modulo", "remainder": "remainder",
    "quotient": "quotient", "select": "select", "clamp": "clamp", "vec": "vec", "mat": "vec", "ref": "ref", "dot": "dot",
    "cross": "cross", "norm": "norm", "normalize": "normalize", "vsum": "total", "total": "total", "vlen": "vlen",
    "scale": "scale", "slice": "slice", "concat": "concat", "matmul": "matmul", "matvec": "matmul",
    "transpose": "transpose", "trace": "trace", "det": "det", "inv": "inv", "solve": "solve", "outer": "outer",
    "cofactor": "cofactor", "linspace": "linspace",
    "interpolate": "interpolate", "first-difference": "first_difference", "second-difference": "second_difference",
    "fill": "fill", "zeros": "zeros", "ones": "ones", "eye": "eye",
}  # fmt: skip
