/* Sixteen partial sums, by halves. */
static nc_real nc_halves(nc_real *sums)
{
    int i, half;
    for (half = 8; half > 0; half /= 2)
        for (i = 0; i < half; i++) sums[i] += sums[i + half];
    return sums[0];
}
