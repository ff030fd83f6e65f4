static double nc_bessel_i(double n, double x)
{
    const double size = fabs(x);
    double value;
    int order;
    if (!nc_is_order(n)) return NC_NAN;
    if (x != x) return x;
    order = (int)fabs(n);
    if (size == 0) {
        value = order == 0 ? 1.0 : size;
    } else if (size > 2000) {
        value = NC_INFINITY;
    } else if (size < 30) {
        value = nc_scaled_round(nc_bessel_series(order, size, 1));
    } else {
        nc_double even, odd;
        nc_hankel(order, size, 1, &even, &odd);
        value = nc_scaled_round(nc_scaled_times(
            nc_to_scaled(nc_over(nc_minus(even, odd), nc_sqrt_words(nc_scale(nc_times_one(@PI@, size), 2)))), nc_exp_words(nc_one(size))));
    }
    return order % 2 && signbit(x) ? -value : value;
}
