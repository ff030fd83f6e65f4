/* x/(x^2 + y^2) without overflow or underflow on the way. */
static nc_real nc_inverse_part(nc_real x, nc_real y)
{
    nc_scaled a, b;
    if (x != x || y != y || (x == 0 && y == 0)) return NC_NAN;
    if (!(fabs(x) <= DBL_MAX) || !(fabs(y) <= DBL_MAX) || x == 0) return signbit(x) ? -(nc_real)0 : 0;
    a = nc_normal(nc_pair(x, 0), 0);
    b = nc_normal(nc_pair(y, 0), 0);
    return (nc_real)nc_scaled_round(nc_scaled_over(a, nc_scaled_plus(nc_scaled_times(a, a), nc_scaled_times(b, b))));
}
