/* A sum of numbers `step` apart: from the first to the last, or from 32 on as sixteen partial sums. */
static nc_real nc_sum(int n, const nc_real *x, int step)
{
    nc_real sums[16];
    int i;
    if (n == 0) return 0;
    for (i = 0; i < 16; i++) sums[i] = -(nc_real)0;
    for (i = 0; i < n; i++) sums[n < 32 ? 0 : i % 16] += x[i * step];
    return n < 32 ? sums[0] : nc_halves(sums);
}
