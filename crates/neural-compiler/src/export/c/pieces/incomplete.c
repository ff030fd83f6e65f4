/* x^a e^-x/Gamma(a + 1). */
static inline nc_scaled nc_gamma_factor(double a, double x)
{
    nc_double m, fall;
    if (a < 30)
        return nc_scaled_over(nc_exp_words(nc_plus_one(nc_times_one(nc_log_words(nc_one(x)), a), -x)), nc_gamma_positive(nc_two_sum(a, 1)));
    m = nc_over_one(nc_two_sum(x, -a), a);
    fall = nc_minus(m, m.hi > -0.5 ? nc_log1p_words(m) : nc_minus(nc_log_words(nc_one(x)), nc_log_words(nc_one(a))));
    return nc_scaled_over(nc_exp_words(nc_minus(nc_neg(nc_times_one(fall, a)), nc_stirling_tail(nc_one(a)))),
                          nc_to_scaled(nc_sqrt_words(nc_scale(nc_times_one(@PI@, a), 2))));
}

/* Whether x is so far from a, or both so large, that only the side counts; the side. */
static inline int nc_gamma_beyond(double a, double x, double *side)
{
    const double most = x > a ? x : a;
    *side = x - a;
    return (fabs((x - a) / sqrt(most)) > 60 && most > 4000) || most > 1e36;
}
