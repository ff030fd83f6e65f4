static double nc_gamma_density(double a, double x)
{
    double side;
    if (a != a || x != x || a <= 0 || x < 0 || (a == x && x > DBL_MAX)) return NC_NAN;
    if (x == 0) return a < 1 ? NC_INFINITY : a == 1 ? 1.0 : 0.0;
    if (x > DBL_MAX || a > DBL_MAX) return 0;
    if (nc_gamma_beyond(a, x, &side)) return side == 0 ? 0.3989422804014327 / sqrt(a) : 0.0;
    return nc_scaled_round(nc_scaled_over(nc_scaled_times(nc_gamma_factor(a, x), nc_scaled_one(a)), nc_scaled_one(x)));
}
