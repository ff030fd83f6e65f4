/* Functions of numbers of two words: what the special functions are made of. */
static inline nc_double nc_one(double x)
{
    return nc_pair(x, 0);
}

static inline nc_double nc_neg(nc_double a)
{
    return nc_pair(-a.hi, -a.lo);
}

static inline nc_double nc_plus_one(nc_double a, double b)
{
    const nc_double s = nc_two_sum(a.hi, b);
    return nc_fast_sum(s.hi, s.lo + a.lo);
}

static inline nc_double nc_over_one(nc_double a, double b)
{
    return nc_over(a, nc_one(b));
}

static inline nc_double nc_exact_product(double a, double b)
{
    const double p = a * b;
    return nc_pair(p, fma(a, b, -p));
}

static inline nc_double nc_scale(nc_double a, double p)
{
    return nc_pair(a.hi * p, a.lo * p);
}

static inline nc_double nc_recip(nc_double a)
{
    return nc_over(nc_one(1), a);
}

static inline nc_double nc_squared(nc_double a)
{
    return nc_times(a, a);
}

static inline nc_scaled nc_to_scaled(nc_double a)
{
    return nc_normal(a, 0);
}

static inline nc_scaled nc_scaled_one(double x)
{
    return nc_normal(nc_one(x), 0);
}

static inline nc_scaled nc_scaled_neg(nc_scaled a)
{
    a.value = nc_neg(a.value);
    return a;
}

/* As a plain number, which must be a normal one. */
static inline nc_double nc_plain(nc_scaled a)
{
    const int n = a.exponent < -1000 ? -1000 : a.exponent > 1000 ? 1000 : a.exponent;
    return nc_scale(a.value, nc_two_to(n));
}

static inline double nc_rounded(nc_double a)
{
    return a.hi + a.lo;
}

/* e^x - 1 for |x| <= ln(2)/2 and a little more. */
static inline nc_double nc_expm1_small(nc_double a)
{
    static const double tail[] = { 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0 };
    const nc_double s = nc_scale(a, 0.0625);
    const double x = s.hi;
    double q = 0;
    nc_double e;
    int i;
    for (i = 6; i >= 0; i--) q = fma(q, x, tail[i]);
    e = nc_plus(s, nc_times(nc_squared(s), nc_plus_one(nc_times(nc_plus(@SIXTH@, nc_exact_product(x, q)), s), 0.5)));
    for (i = 0; i < 4; i++) e = nc_times(e, nc_plus_one(e, 2));
    return e;
}

/* e^x - 1 for |x| <= 0.7. */
static inline nc_double nc_expm1_more(nc_double a)
{
    const nc_double e = nc_expm1_small(nc_scale(a, 0.5));
    return nc_times(e, nc_plus_one(e, 2));
}

static inline nc_scaled nc_exp_words(nc_double a)
{
    nc_scaled out;
    double n;
    if (fabs(a.hi) > 1e5) {
        out.value = nc_one(1);
        out.exponent = a.hi > 0 ? 200000 : -200000;
        return out;
    }
    n = round(a.hi * 1.4426950408889634);
    out.value = nc_plus_one(nc_expm1_small(nc_minus(a, nc_times_one(@LN2@, n))), 1);
    out.exponent = (int)n;
    return out;
}

/* log x away from 1. */
static inline nc_double nc_log_far(nc_double a)
{
    const nc_scaled x = nc_to_scaled(a);
    const double y = nc_log(x.value.hi);
    const nc_double t = nc_plus_one(nc_times(x.value, nc_plus_one(nc_expm1_more(nc_one(-y)), 1)), -1);
    return nc_plus(nc_plus_one(nc_times_one(@LN2@, x.exponent), y), nc_minus(t, nc_scale(nc_squared(t), 0.5)));
}

static inline nc_double nc_log1p_words(nc_double a)
{
    const double y = nc_log1p(a.hi);
    nc_double e, t;
    if (fabs(y) > 0.34) return nc_log_far(nc_plus_one(a, 1));
    e = nc_expm1_small(nc_one(-y));
    t = nc_plus(nc_plus(a, e), nc_times(a, e));
    return nc_plus_one(nc_minus(t, nc_scale(nc_squared(t), 0.5)), y);
}

static inline nc_double nc_log_words(nc_double a)
{
    const nc_double less = nc_plus_one(a, -1);
    return fabs(less.hi) < 0.25 ? nc_log1p_words(less) : nc_log_far(a);
}

static inline nc_double nc_scaled_log(nc_scaled a)
{
    if (a.exponent >= -1 && a.exponent <= 1) return nc_log_words(nc_scale(a.value, nc_two_to(a.exponent)));
    return nc_plus(nc_log_words(a.value), nc_times_one(@LN2@, a.exponent));
}

static inline void nc_sin_cos_small(nc_double x, nc_double *sine, nc_double *cosine)
{
    const nc_double z = nc_squared(x);
    nc_double s = nc_one(1), c = nc_one(1);
    double k;
    for (k = 26; k > 1; k -= 2) {
        c = nc_minus(nc_one(1), nc_over_one(nc_times(z, c), k * (k - 1)));
        s = nc_minus(nc_one(1), nc_over_one(nc_times(z, s), k * (k + 1)));
    }
    *sine = nc_times(x, s);
    *cosine = c;
}

/* The sine and cosine of pi x, |x| <= 1/2. */
static inline void nc_sin_cos_pi(nc_double x, nc_double *sine, nc_double *cosine)
{
    nc_double s, c;
    nc_sin_cos_small(nc_scale(nc_times(@PI@, x), 0.5), &s, &c);
    *sine = nc_scale(nc_times(s, c), 2);
    *cosine = nc_times(nc_minus(c, s), nc_plus(c, s));
}

static inline nc_double nc_series(nc_double x, const nc_double *c, int n)
{
    nc_double p = c[n - 1];
    int i;
    for (i = n - 2; i >= 0; i--) p = nc_plus(nc_times(p, x), c[i]);
    return p;
}

static inline nc_double nc_sqrt_words(nc_double a)
{
    const double s = sqrt(a.hi);
    const nc_double rest = nc_minus(a, nc_exact_product(s, s));
    return nc_two_sum(s, rest.hi / (2.0 * s));
}
