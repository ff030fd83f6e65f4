static double nc_normal_log_cdf(double x)
{
    nc_scaled upper;
    if (x != x) return x;
    if (x < -1e150) return x < -1.9e154 ? -NC_INFINITY : -(x * 0.5) * x;
    if (x < 0) return nc_rounded(nc_log_cdf_negative(x));
    if (x > 40) return x > DBL_MAX ? 0.0 : -0.0;
    upper = nc_erfc_of(nc_times_one(@SQRT_HALF@, x));
    upper.exponent -= 1;
    return upper.exponent < -70 ? -nc_scaled_round(upper) : nc_rounded(nc_log1p_words(nc_neg(nc_plain(upper))));
}
