static double nc_gamma(double x)
{
    nc_double sine, cosine;
    double whole;
    if (x == 0) return 1 / x;
    if (x != x || x < -DBL_MAX || (x < 0 && nc_is_whole(x))) return NC_NAN;
    if (fabs(x) < 1e-20) return 1 / x;
    if (x > 200) return NC_INFINITY;
    if (x > 0) return nc_scaled_round(nc_gamma_positive(nc_one(x)));
    if (x < -200) return nc_is_odd(floor(x)) ? -0.0 : 0.0;
    whole = rint(x);
    nc_sin_cos_pi(nc_one(x - whole), &sine, &cosine);
    if (nc_is_odd(whole)) sine = nc_neg(sine);
    return nc_scaled_round(nc_scaled_over(nc_to_scaled(nc_over(@PI@, sine)), nc_gamma_positive(nc_two_sum(1, -x))));
}
