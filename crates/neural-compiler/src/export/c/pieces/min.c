/* The smaller one; NaN wins, and -0 is below 0. */
static nc_real nc_min(nc_real x, nc_real y)
{
    if (x == y) return signbit(x) ? x : y;
    return x < y ? x : y < x ? y : x + y;
}
