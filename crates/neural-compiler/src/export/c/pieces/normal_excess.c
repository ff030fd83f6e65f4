/* x and the hazard of the normal distribution. */
static double nc_normal_excess(double x)
{
    if (x != x) return x;
    if (x > 40) return x;
    if (x < -1e100) return -1.0 / x;
    if (x < -1e3) {
        const nc_double r = nc_recip(nc_one(-x));
        const double s = r.hi * r.hi;
        return nc_rounded(nc_times(r, nc_plus(nc_one(1), nc_exact_product(s, fma(-74.0 * s + 10.0, s, -2.0)))));
    }
    return nc_scaled_round(nc_scaled_plus(nc_scaled_one(x), nc_hazard_of(x)));
}
