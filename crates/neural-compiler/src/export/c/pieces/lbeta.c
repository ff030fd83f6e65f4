static double nc_lbeta(double a, double b)
{
    const double p = a < b ? a : b, q = a < b ? b : a, s = 9.332636185032189e-302;
    double value;
    nc_scaled factor;
    nc_double log;
    if (nc_beta_edge(a, b, &value)) return value == 0 ? -NC_INFINITY : value;
    if (a == 1 || b == 1) return nc_rounded(nc_minus(nc_one(0), nc_log_words(nc_one(a == 1 ? b : a))));
    if (nc_beta_small(a, b, &factor)) return nc_rounded(nc_scaled_log(factor));
    if (q > 1e290) {
        if (p * s > 1e-3) {
            const nc_double u = nc_one(p * s), v = nc_one(q * s);
            return nc_rounded(nc_minus(nc_times(u, nc_log_words(nc_over(u, nc_one(p * s + q * s)))),
                                       nc_times(v, nc_log1p_words(nc_over(u, v))))) / s;
        }
        if (p > 12) return nc_rounded(nc_lbeta_far(nc_one(p), nc_one(q)));
        return nc_rounded(nc_minus(nc_lgamma_positive(nc_one(p)), nc_times_one(nc_log_words(nc_one(q)), p)));
    }
    factor = nc_beta_parts(a, b, &log);
    return nc_rounded(nc_plus(nc_scaled_log(factor), log));
}
