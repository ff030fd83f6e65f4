/* The length of a vector: scaled by a power of two, its squares summed with their rounding errors. */
static nc_real nc_norm(int n, const nc_real *v)
{
    nc_real largest = 0, scale, high = 0, low = 0, root;
    int i, nan = 0;
    for (i = 0; i < n; i++) {
        nan |= v[i] != v[i];
        if (NC_FABS(v[i]) > largest) largest = NC_FABS(v[i]);
    }
    if (largest > NC_LARGEST) return largest;
    if (nan) return NC_NAN;
    if (largest == 0) return 0;
    scale = NC_OF_BITS(NC_BITS(largest) & NC_EXPONENT);
    if (scale == 0) scale = NC_SMALLEST;
    for (i = 0; i < n; i++) {
        const nc_real x = v[i] / scale, square = x * x;
        nc_real sum, back;
        low = low + NC_FMA(x, x, -square);
        sum = high + square;
        back = sum - high;
        low = low + ((high - (sum - back)) + (square - back));
        high = sum;
    }
    root = NC_SQRT(high);
    return (root + (NC_FMA(-root, root, high) + low) / (root + root)) * scale;
}
