/* Beta, its logarithm and their derivatives: both arguments climb to 12, then Stirling's series without the logarithms that cancel. */
static inline nc_scaled nc_whole_sum(double a, double b)
{
    return nc_scaled_plus(nc_scaled_one(a), nc_scaled_one(b));
}

static inline nc_double nc_lbeta_far(nc_double p, nc_double q)
{
    nc_double ratio, log, falls;
    if (!(p.hi <= q.hi)) {
        const nc_double other = p;
        p = q;
        q = other;
    }
    if (q.hi > 1e100 && p.hi < 1e50) {
        const nc_double first = nc_times(nc_plus_one(p, -0.5), nc_minus(nc_log_words(p), nc_log_words(q)));
        return nc_plus(nc_plus(nc_minus(nc_minus(first, p), nc_scale(nc_log_words(q), 0.5)), @HALF_LN_2PI@), nc_stirling_tail(p));
    }
    ratio = nc_over(p, q);
    log = nc_log1p_words(ratio);
    falls = nc_minus(nc_minus(nc_times(nc_plus_one(p, -0.5), nc_minus(nc_log_words(ratio), log)), nc_times(q, log)),
                     nc_scale(nc_log_words(q), 0.5));
    return nc_plus(nc_plus(falls, @HALF_LN_2PI@),
                   nc_minus(nc_plus(nc_stirling_tail(p), nc_stirling_tail(q)), nc_stirling_tail(nc_plus(p, q))));
}

/* B(a, b) = factor e^log. */
static inline nc_scaled nc_beta_parts(double a, double b, nc_double *log)
{
    nc_double p = nc_one(a), q = nc_one(b);
    nc_scaled factor = nc_scaled_one(1);
    while (p.hi < 12) {
        factor = nc_scaled_over(nc_scaled_times(factor, nc_to_scaled(nc_plus(p, q))), nc_to_scaled(p));
        p = nc_plus_one(p, 1);
    }
    while (q.hi < 12) {
        factor = nc_scaled_over(nc_scaled_times(factor, nc_to_scaled(nc_plus(p, q))), nc_to_scaled(q));
        q = nc_plus_one(q, 1);
    }
    *log = nc_lbeta_far(p, q);
    return factor;
}

/* Whether an argument is at an end of the range, and the value of beta there. */
static inline int nc_beta_edge(double a, double b, double *value)
{
    const int zero = a == 0 || b == 0, infinite = fabs(a) > DBL_MAX || fabs(b) > DBL_MAX;
    if (a != a || b != b || a < 0 || b < 0 || (zero && infinite)) {
        *value = NC_NAN;
        return 1;
    }
    *value = zero ? NC_INFINITY : 0.0;
    return zero || infinite;
}

/* Whether an argument is tiny, and the value of beta there. */
static inline int nc_beta_small(double a, double b, nc_scaled *value)
{
    const double least = a < b ? a : b, most = a < b ? b : a;
    if (most < 1e-20) {
        *value = nc_scaled_over(nc_scaled_over(nc_whole_sum(a, b), nc_scaled_one(a)), nc_scaled_one(b));
        return 1;
    }
    *value = nc_scaled_over(nc_scaled_one(1), nc_scaled_one(least));
    return least < 1e-280;
}

static inline nc_scaled nc_beta_positive(double a, double b)
{
    nc_scaled value;
    nc_double log;
    if (nc_beta_small(a, b, &value)) return value;
    if ((a < b ? b : a) > 1e150 && (a < b ? a : b) > 1e3) return nc_scaled_one(0);
    value = nc_beta_parts(a, b, &log);
    return nc_scaled_times(value, nc_exp_words(log));
}
