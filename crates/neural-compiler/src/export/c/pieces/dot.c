/* A sum of products, each added by one rounding, in the same order as a sum. */
static nc_real nc_dot(int n, const nc_real *x, const nc_real *y)
{
    nc_real sums[16];
    int i;
    if (n == 0) return 0;
    for (i = 0; i < 16; i++) sums[i] = -(nc_real)0;
    for (i = 0; i < n; i++) sums[n < 32 ? 0 : i % 16] = NC_FMA(x[i], y[i], sums[n < 32 ? 0 : i % 16]);
    return n < 32 ? sums[0] : nc_halves(sums);
}
