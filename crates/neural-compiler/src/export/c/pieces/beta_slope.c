static double nc_beta_slope(double a, double b)
{
    double value;
    if (nc_slope_edge(a, b, -NC_INFINITY, -0.0, -0.0, &value)) return value;
    return nc_scaled_round(nc_scaled_neg(nc_scaled_times(nc_beta_positive(a, b), nc_gap(a, b))));
}
