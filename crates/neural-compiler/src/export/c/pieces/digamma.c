static double nc_digamma(double x)
{
    nc_double sine, cosine;
    if (x == 0) return -1 / x;
    if (x > DBL_MAX) return x;
    if (x != x || x < -DBL_MAX || (x < 0 && nc_is_whole(x))) return NC_NAN;
    if (x > 0) {
        if (x > 1e300) return nc_log(x);
        return x < 1e-290 ? -1 / x : nc_rounded(nc_digamma_positive(nc_one(x)));
    }
    if (x > -1e-290) return -1 / x;
    nc_sin_cos_pi(nc_one(x - rint(x)), &sine, &cosine);
    return nc_rounded(nc_minus(nc_digamma_positive(nc_two_sum(1, -x)), nc_over(nc_times(@PI@, cosine), sine)));
}
