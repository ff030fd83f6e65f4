static double nc_digamma_gap(double a, double b)
{
    double value;
    return nc_slope_edge(a, b, NC_INFINITY, 0.0, NC_INFINITY, &value) ? value : nc_scaled_round(nc_gap(a, b));
}
