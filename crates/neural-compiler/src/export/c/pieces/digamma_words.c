static inline nc_double nc_digamma_positive(nc_double x)
{
    static const double root[] = { @DIGAMMA_ROOT@ };
    static const nc_double near_root[] = { @DIGAMMA_NEAR_ROOT@ };
    const nc_double away = nc_plus_one(nc_plus_one(nc_plus_one(x, -root[0]), -root[1]), -root[2]);
    nc_double z = x, sum = nc_one(0), r, s, inner;
    double tail = 0;
    int k;
    if (fabs(away.hi) <= 0.03125) return nc_times(away, nc_series(away, near_root, (int)(sizeof near_root / sizeof *near_root)));
    while (z.hi < 12) {
        sum = nc_plus(sum, nc_recip(z));
        z = nc_plus_one(z, 1);
    }
    r = nc_recip(z);
    s = nc_squared(r);
    for (k = (int)(sizeof nc_stirling / sizeof *nc_stirling) - 1; k >= 1; k--) tail = fma(tail, s.hi, (2 * k + 1) * nc_stirling[k].hi);
    inner = nc_times(s, nc_plus(nc_stirling[0], nc_exact_product(s.hi, tail)));
    return nc_minus(nc_minus(nc_minus(nc_log_words(z), nc_scale(r, 0.5)), inner), sum);
}
