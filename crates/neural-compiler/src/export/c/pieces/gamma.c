/* Gamma, its logarithm and the derivatives of that: Stirling's series from 12 on, below it the recurrence, left of 0 the reflection. */
static const nc_double nc_stirling[] = { @STIRLING@ };

static inline nc_double nc_stirling_tail(nc_double z)
{
    const nc_double r = nc_recip(z);
    const double s = r.hi * r.hi;
    double rest = 0;
    int i;
    for (i = (int)(sizeof nc_stirling / sizeof *nc_stirling) - 1; i >= 1; i--) rest = fma(rest, s, nc_stirling[i].hi);
    return nc_times(r, nc_plus(nc_stirling[0], nc_exact_product(s, rest)));
}

static inline nc_double nc_stirling_log(nc_double z)
{
    const nc_double log = nc_log_words(z);
    const nc_double first = nc_times(nc_plus_one(z, -0.5), nc_plus_one(log, -1));
    return nc_plus(nc_plus(first, nc_plus_one(@HALF_LN_2PI@, -0.5)), nc_stirling_tail(z));
}

/* Whole steps that bring x to 12, and the product of what is passed on the way. */
static inline nc_double nc_climb(nc_double x, nc_double *product)
{
    *product = nc_one(1);
    while (x.hi < 12) {
        *product = nc_times(*product, x);
        x = nc_plus_one(x, 1);
    }
    return x;
}

static inline nc_scaled nc_gamma_positive(nc_double x)
{
    nc_double product;
    const nc_double z = nc_climb(x, &product);
    return nc_scaled_over(nc_exp_words(nc_stirling_log(z)), nc_to_scaled(product));
}

static inline nc_double nc_lgamma_positive(nc_double x)
{
    static const nc_double near_two[] = { @LGAMMA_NEAR_2@ };
    const int n = (int)(sizeof near_two / sizeof *near_two);
    nc_double near = nc_plus_one(x, -2), product, z, far;
    if (fabs(near.hi) <= 0.3) return nc_times(near, nc_series(near, near_two, n));
    near = nc_plus_one(x, -1);
    if (fabs(near.hi) <= 0.3) return nc_minus(nc_times(near, nc_series(near, near_two, n)), nc_log1p_words(near));
    z = nc_climb(x, &product);
    far = nc_stirling_log(z);
    return x.hi < 12 ? nc_minus(far, nc_log_words(product)) : far;
}

static inline int nc_is_whole(double x)
{
    return x - trunc(x) == 0;
}

static inline int nc_is_odd(double x)
{
    return !nc_is_whole(x * 0.5);
}
