/* The derivative of erfcx of a whole order: near 0 and left of it on the way up, else as quotients on the way down. */
static double nc_erfcx_of_order(double n, double x)
{
    nc_double ratio = nc_one(0);
    nc_scaled result = nc_scaled_one(1), value;
    double sign;
    int order, steps, k;
    if (n == 0) return nc_erfcx(x);
    if (x != x || !(n > 0 && n <= 12 && n - trunc(n) == 0)) return NC_NAN;
    order = (int)n;
    sign = order % 2 ? -1.0 : 1.0;
    if (x < -30) return sign * NC_INFINITY;
    if (x > DBL_MAX) return sign * 0.0;
    if (x < 1.5) {
        const nc_scaled twice = nc_scaled_neg(nc_scaled_one(2 * x));
        nc_scaled below = nc_erfcx_of(nc_one(x));
        nc_scaled here = nc_scaled_plus(nc_to_scaled(nc_scale(@INV_SQRT_PI@, 2)), nc_scaled_times(below, twice));
        for (k = 1; k < order; k++) {
            const nc_scaled next = nc_scaled_plus(nc_scaled_times(here, twice), nc_scaled_times(below, nc_scaled_one(2.0 * k)));
            below = here;
            here = next;
        }
        return sign * nc_scaled_round(here);
    }
    steps = 2 * order + 14 + (int)(500.0 / (x * x));
    for (k = steps; k >= 1; k--) {
        ratio = nc_over(nc_one(k), nc_plus_one(nc_scale(ratio, 0.5), x));
        if (k <= order) result = nc_scaled_times(result, nc_to_scaled(ratio));
    }
    value = x > 1e150 ? nc_scaled_over(nc_to_scaled(@INV_SQRT_PI@), nc_scaled_one(x)) : nc_to_scaled(nc_erfcx_far(nc_one(x)));
    return sign * nc_scaled_round(nc_scaled_times(result, value));
}
