static nc_scaled nc_bend_from(nc_double x, double b)
{
    return b > 1e290 ? nc_polygamma_positive(1, x) : nc_scaled_times(nc_to_scaled(nc_gap_sums(x, b).bend), nc_scaled_one(b));
}

static double nc_trigamma_gap(double a, double b)
{
    nc_scaled near, far;
    double value;
    if (a > 0 && a <= DBL_MAX && b > DBL_MAX) return nc_polygamma(1, a);
    if (nc_slope_edge(a, b, NC_INFINITY, 0.0, NC_NAN, &value)) return value;
    if (a > 1e20) return nc_scaled_round(nc_scaled_over(nc_scaled_over(nc_scaled_one(b), nc_whole_sum(a, b)), nc_scaled_one(a)));
    if (a >= 1) return nc_scaled_round(nc_bend_from(nc_one(a), b));
    near = nc_scaled_over(nc_scaled_one(1), nc_scaled_one(a));
    far = nc_scaled_over(nc_scaled_one(1), nc_whole_sum(a, b));
    return nc_scaled_round(nc_scaled_plus(
        nc_scaled_times(nc_scaled_times(nc_scaled_times(nc_scaled_one(b), far), near), nc_scaled_plus(near, far)),
        nc_bend_from(nc_plus_one(nc_one(a), 1), b)));
}
