# Functions as IEEE 754 has them: NaN and infinities instead of exceptions.
def quiet(f, outside=math.nan):
    def g(*x):
        try:
            return f(*x)
        except ValueError:
            return outside
        except OverflowError:
            return math.inf

    return g


sin, cos, tan, sqrt, exp, expm1, cosh = map(quiet, (math.sin, math.cos, math.tan, math.sqrt, math.exp, math.expm1, math.cosh))
asin, acos, atan, tanh, atan2, erf, erfc = map(quiet, (math.asin, math.acos, math.atan, math.tanh, math.atan2, math.erf, math.erfc))
fmod = quiet(math.fmod)


def at_zero(f, zero):
    g = quiet(f)
    return lambda x: zero if x == 0 else g(x)


log, log2, log10 = at_zero(math.log, -math.inf), at_zero(math.log2, -math.inf), at_zero(math.log10, -math.inf)
gamma = lambda x: math.copysign(math.inf, x) if x == 0 else quiet(math.gamma)(x)
lgamma = quiet(math.lgamma, math.inf)


def log1p(x):
    return -math.inf if x == -1 else quiet(math.log1p)(x)


def sinh(x):
    return math.copysign(cosh(x), x) if abs(x) > 700 else math.sinh(x)


def exp2(x):
    return power(2.0, x)


def cbrt(x):
    if x == 0 or not math.isfinite(x):
        return x
    y = math.copysign(abs(x) ** (1 / 3), x)
    return y - (y - x / y / y) / 3


def divide(x, y):
    if y != 0:
        return x / y
    return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


def power(x, y):
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and math.fmod(y, 2) != 0 else math.inf
    except ValueError:
        if x != 0:
            return math.nan
        return math.copysign(math.inf, x) if abs(math.fmod(y, 2)) == 1 else math.inf


def whole(f):
    return lambda x: math.copysign(float(f(x)), x) if math.isfinite(x) else x


floor, ceiling, truncate, nearest = whole(math.floor), whole(math.ceil), whole(math.trunc), whole(round)


def sign(x):
    return math.copysign(1.0, x) if abs(x) > 0 else x


def sigmoid(x):
    e = math.exp(-abs(x))
    return 1 / (1 + e) if x >= 0 else e / (1 + e)


def softplus(x):
    return (x if x > 0 else 0.0) + math.log1p(math.exp(-abs(x))) if x == x else x


def gauss(x, factor):
    # exp(factor x^2), the square in two parts so that no digits of it are lost
    y = max(-60.0, min(60.0, x)) if x == x else x
    h = math.trunc(y * 1048576) / 1048576 if x == x else x
    return exp(factor * h * h) * exp(factor * (y - h) * (y + h))


def smaller(x, y):
    return math.nan if x != x or y != y else (min(x, y, key=lambda z: (z, math.copysign(1.0, z))))


def larger(x, y):
    return math.nan if x != x or y != y else (max(x, y, key=lambda z: (z, math.copysign(1.0, z))))


def modulo(x, y):
    r = fmod(x, y)
    if r == 0:
        return math.copysign(0.0, y)
    return r + y if (r < 0) != (y < 0) else r


# Whole values are lists of their numbers, row by row.
def flat(x):
    return [n for part in x for n in flat(part)] if hasattr(x, "__len__") else [float(x)]


def rows(x, columns):
    return [x[i : i + columns] for i in range(0, len(x), columns)]


def index(i, n):
    if not (0 <= i < n and i == math.trunc(i)):
        raise IndexError(f"the index {i} is outside a value of length {n}")
    return int(i)


def dot(x, y):
    return sum((a * b for a, b in zip(x, y)), 0.0)


def norm(x):
    return math.hypot(*x)


def cross(a, b):
    return [a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3] for i in range(3)]


def product(a, b, inner, columns):
    turned = [b[j::columns] for j in range(columns)]
    return [dot(row, column) for row in rows(a, inner) for column in turned]


def transpose(a, columns):
    return [x for j in range(columns) for x in a[j::columns]]


def placed(x, start, n):
    return [0.0] * start + x + [0.0] * (n - start - len(x))


def factored(a, n):
    # Elimination with exchanges of rows: the rows, the determinant's sign, and the order of the rows.
    m, odd, order = rows(list(a), n), False, list(range(n))
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(m[i][k]))
        if p != k:
            m[k], m[p], order[k], order[p], odd = m[p], m[k], order[p], order[k], not odd
        if m[k][k] == 0:
            continue
        for i in range(k + 1, n):
            f = m[i][k] = m[i][k] / m[k][k]
            for j in range(k + 1, n):
                m[i][j] -= f * m[k][j]
    return m, odd, order


def det(a, n):
    if n == 0:
        return 1.0  # as the minors of a matrix of one number
    m, odd, _ = factored(a, n)
    return math.prod((m[k][k] for k in range(n)), start=-1.0 if odd else 1.0)


def solve(a, b, n, columns):
    m, _, order = factored(a, n)
    if any(m[k][k] == 0 for k in range(n)):
        return [math.nan] * (n * columns)
    x = [list(rows(b, columns)[i]) for i in order]
    for i in range(n):
        for k in range(i):
            x[i] = [p - m[i][k] * q for p, q in zip(x[i], x[k])]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = [p - m[i][k] * q for p, q in zip(x[i], x[k])]
        x[i] = [divide(p, m[i][i]) for p in x[i]]
    return flat(x)


def eye(n, columns):
    return [1.0 if i == j else 0.0 for i in range(n) for j in range(columns)]


def cofactor(a, n):
    without = lambda i, j: [a[r * n + c] for r in range(n) for c in range(n) if r != i and c != j]
    return [(-1.0) ** (i + j) * det(without(i, j), n - 1) for i in range(n) for j in range(n)]
