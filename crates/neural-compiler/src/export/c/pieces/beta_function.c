static double nc_beta(double a, double b)
{
    double value;
    return nc_beta_edge(a, b, &value) ? value : nc_scaled_round(nc_beta_positive(a, b));
}
