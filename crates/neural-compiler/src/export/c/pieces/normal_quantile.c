/* Roots of the normal distribution function, by Halley's method on its logarithm and, in the middle, on erf. */
static double nc_quantile_low(double p)
{
    const nc_double target = nc_log_words(nc_one(p));
    const double t = sqrt(-2.0 * target.hi);
    double x = (0.27061 * t + 2.30753) / ((0.04481 * t + 0.99229) * t + 1.0) - t;
    int i;
    for (i = 0; i < 4; i++) {
        const double g = nc_rounded(nc_minus(nc_log_cdf_negative(x), target));
        const double h = 0.7978845608028654 / nc_plain(nc_erfcx_of(nc_times_one(@SQRT_HALF@, -x))).hi;
        double step = g / h;
        step = step / fma(0.5 * step, x + h, 1.0);
        x -= step;
        if (fabs(step) < 1e-6) break;
    }
    return x;
}

static double nc_quantile_middle(double r)
{
    double x = r * (0.3281 * r * r + 1.2533141373155003);
    int i;
    for (i = 0; i < 4; i++) {
        const double g = nc_rounded(nc_plus_one(nc_erf_near(nc_times_one(@SQRT_HALF@, x)), -r));
        double step = g / (0.7978845608028654 * nc_exp(-0.5 * x * x));
        step = step / fma(0.5 * step, x, 1.0);
        x -= step;
        if (fabs(step) <= 1e-6 * fabs(x)) break;
    }
    return x;
}

static double nc_normal_quantile(double p)
{
    if (!(p >= 0 && p <= 1)) return NC_NAN;
    if (p == 0) return -NC_INFINITY;
    if (p == 1) return NC_INFINITY;
    if (p >= 0.25 && p <= 0.75) return nc_quantile_middle(2.0 * p - 1.0);
    return p < 0.5 ? nc_quantile_low(p) : -nc_quantile_low(1.0 - p);
}
