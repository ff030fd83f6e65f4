static double nc_beta_mixed(double a, double b)
{
    const nc_double up_a = nc_plus_one(nc_one(a), 1), up_b = nc_plus_one(nc_one(b), 1);
    double value;
    nc_scaled whole, skew;
    nc_sums of_a, of_b;
    if (nc_slope_edge(a, b, NC_NAN, 0.0, 0.0, &value)) return value;
    whole = nc_beta_positive(a, b);
    if ((a < b ? b : a) > 1e20) return nc_scaled_round(nc_scaled_times(whole, nc_scaled_times(nc_gap_from(up_a, b), nc_gap_from(up_b, a))));
    of_a = nc_gap_sums(up_a, b);
    of_b = nc_gap_sums(up_b, a);
    skew = nc_scaled_over(nc_to_scaled(nc_plus(of_a.skew, of_b.skew)), nc_whole_sum(a, b));
    return nc_scaled_round(nc_scaled_times(nc_scaled_times(nc_scaled_times(whole, nc_scaled_one(a)), nc_scaled_one(b)),
                                           nc_scaled_plus(skew, nc_to_scaled(nc_times(of_a.slope, of_b.slope)))));
}
