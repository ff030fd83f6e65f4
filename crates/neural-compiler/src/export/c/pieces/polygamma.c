/* The derivative of digamma of a whole order. */
static double nc_polygamma(double n, double x)
{
    nc_double sine, cosine, p[62], next[62];
    nc_scaled reflected, c;
    double sign;
    int order, odd, k, step;
    if (n == 0) return nc_digamma(x);
    if (x != x || !(n > 0 && n <= 60 && nc_is_whole(n)) || x < -DBL_MAX) return NC_NAN;
    order = (int)n;
    odd = order % 2;
    sign = odd ? 1.0 : -1.0;
    if (x > DBL_MAX) return 0.0 * sign;
    if (x <= 0 && nc_is_whole(x)) return odd ? NC_INFINITY : NC_NAN;
    if (fabs(x) < 1e-160) return odd || x < 0 ? NC_INFINITY : -NC_INFINITY;
    if (x > 0) return sign * nc_scaled_round(nc_polygamma_positive(order, nc_one(x)));
    nc_sin_cos_pi(nc_one(x - rint(x)), &sine, &cosine);
    for (k = 0; k < 62; k++) p[k] = nc_one(0);
    p[1] = @PI@;
    for (step = 0; step < order; step++) {
        for (k = 0; k < 62; k++) next[k] = nc_one(0);
        for (k = 1; k <= step + 1; k++) {
            const nc_double slope = nc_times(nc_times_one(p[k], k), @PI@);
            next[k - 1] = nc_minus(next[k - 1], slope);
            next[k + 1] = nc_minus(next[k + 1], slope);
        }
        for (k = 0; k < 62; k++) p[k] = next[k];
    }
    reflected = nc_to_scaled(p[order + 1]);
    c = nc_to_scaled(nc_over(cosine, sine));
    for (k = order; k >= 0; k--) reflected = nc_scaled_plus(nc_scaled_times(reflected, c), nc_to_scaled(p[k]));
    return nc_scaled_round(nc_scaled_neg(nc_scaled_plus(nc_polygamma_positive(order, nc_two_sum(1, -x)), reflected)));
}
