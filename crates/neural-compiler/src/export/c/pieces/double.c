/* Numbers of two words, and such numbers times a power of two. */
typedef struct {
    double hi, lo;
} nc_double;

typedef struct {
    nc_double value;
    int exponent;
} nc_scaled;

static inline nc_double nc_pair(double hi, double lo)
{
    nc_double out;
    out.hi = hi;
    out.lo = lo;
    return out;
}

/* a + b without error; the second where |a| >= |b|. */
static inline nc_double nc_two_sum(double a, double b)
{
    const double s = a + b, t = s - a;
    return nc_pair(s, (a - (s - t)) + (b - t));
}

static inline nc_double nc_fast_sum(double a, double b)
{
    const double s = a + b;
    return nc_pair(s, b - (s - a));
}

static inline nc_double nc_plus(nc_double a, nc_double b)
{
    const nc_double s = nc_two_sum(a.hi, b.hi), t = nc_two_sum(a.lo, b.lo), u = nc_fast_sum(s.hi, s.lo + t.hi);
    return nc_fast_sum(u.hi, u.lo + t.lo);
}

static inline nc_double nc_times(nc_double a, nc_double b)
{
    const double p = a.hi * b.hi, e = fma(a.hi, b.hi, -p);
    return nc_fast_sum(p, e + fma(a.hi, b.lo, a.lo * b.hi));
}

static inline nc_double nc_times_one(nc_double a, double b)
{
    const double p = a.hi * b, e = fma(a.hi, b, -p);
    return nc_fast_sum(p, fma(a.lo, b, e));
}

static inline nc_double nc_minus(nc_double a, nc_double b)
{
    return nc_plus(a, nc_pair(-b.hi, -b.lo));
}

static inline nc_double nc_over(nc_double a, nc_double b)
{
    const double q = a.hi / b.hi;
    const nc_double rest = nc_minus(a, nc_times_one(b, q));
    const double r = rest.hi / b.hi;
    const nc_double last = nc_minus(rest, nc_times_one(b, r)), sum = nc_fast_sum(q, r), s = nc_two_sum(sum.hi, last.hi / b.hi);
    return nc_fast_sum(s.hi, s.lo + sum.lo);
}

static inline double nc_two_to(int n)
{
    return nc_of_bits((uint64_t)(1023 + n) << 52);
}

/* With a first word between 1/2 and 2. */
static inline nc_scaled nc_normal(nc_double value, int exponent)
{
    nc_scaled out;
    int n, half;
    out.value = value;
    out.exponent = exponent;
    if (value.hi == 0 || !(fabs(value.hi) <= DBL_MAX)) return out;
    if (fabs(value.hi) < 1e-290) {
        value = nc_times_one(value, nc_two_to(200));
        out.exponent -= 200;
    }
    n = (int)(nc_bits(value.hi) >> 52 & 0x7ff) - 1023;
    half = n / 2;
    out.value = nc_pair(value.hi * nc_two_to(-half) * nc_two_to(half - n), value.lo * nc_two_to(-half) * nc_two_to(half - n));
    out.exponent += n;
    return out;
}

static inline nc_scaled nc_scaled_times(nc_scaled a, nc_scaled b)
{
    return nc_normal(nc_times(a.value, b.value), a.exponent + b.exponent);
}

static inline nc_scaled nc_scaled_over(nc_scaled a, nc_scaled b)
{
    return nc_normal(nc_over(a.value, b.value), a.exponent - b.exponent);
}

static inline nc_scaled nc_scaled_plus(nc_scaled a, nc_scaled b)
{
    const int second = a.value.hi == 0 || (b.value.hi != 0 && b.exponent > a.exponent);
    const nc_scaled big = second ? b : a, small = second ? a : b;
    const int apart = big.exponent - small.exponent;
    if (apart > 300 || small.value.hi == 0) return big;
    return nc_normal(nc_plus(big.value, nc_pair(small.value.hi * nc_two_to(-apart), small.value.lo * nc_two_to(-apart))), big.exponent);
}

static inline double nc_scaled_round(nc_scaled a)
{
    const int n = a.exponent < -2200 ? -2200 : a.exponent > 2200 ? 2200 : a.exponent;
    const int first = n / 3, rest = n - 2 * (n / 3);
    return (a.value.hi + a.value.lo) * nc_two_to(first) * nc_two_to(first) * nc_two_to(rest);
}
