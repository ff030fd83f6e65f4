static double nc_normal_cdf(double x)
{
    nc_scaled twice;
    if (x != x) return x;
    if (x < -40) return 0;
    if (x > 9) return 1;
    twice = nc_erfc_of(nc_times_one(@SQRT_HALF@, -x));
    twice.exponent -= 1;
    return nc_scaled_round(twice);
}
