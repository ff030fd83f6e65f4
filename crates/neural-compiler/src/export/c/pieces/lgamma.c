static double nc_lgamma(double x)
{
    nc_double sine, cosine;
    if (x != x) return x;
    if (fabs(x) > DBL_MAX || x == 0 || (x < 0 && nc_is_whole(x))) return NC_INFINITY;
    if (x > 1e300) {
        const double unit = nc_two_to(20);
        return nc_rounded(nc_times_one(nc_plus_one(nc_log_words(nc_one(x)), -1), x / unit)) * unit;
    }
    if (x > 0) return nc_rounded(nc_lgamma_positive(nc_one(x)));
    if (x > -1e-8) return nc_rounded(nc_minus(nc_neg(nc_log_words(nc_one(-x))), nc_times_one(nc_one(-x), -@EULER@.hi)));
    nc_sin_cos_pi(nc_one(fabs(x - rint(x))), &sine, &cosine);
    return nc_rounded(nc_minus(nc_neg(nc_log_words(nc_over(sine, @PI@))), nc_lgamma_positive(nc_two_sum(1, -x))));
}
