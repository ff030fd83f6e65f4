/* a b - c d with the error of the second product (Kahan). */
static nc_real nc_difference(nc_real a, nc_real b, nc_real c, nc_real d)
{
    const nc_real cd = c * d, error = NC_FMA(-c, d, cd);
    return NC_FMA(a, b, -cd) + error;
}

/* A determinant; `work` has room for the matrix, `rows` for three numbers a row. */
static nc_real nc_det(int n, const nc_real *a, nc_real *work, int *rows)
{
    nc_real product = 1;
    int i, odd;
    if (n == 0) return 1;
    if (n == 1) return a[0];
    if (n == 2) return nc_difference(a[0], a[3], a[1], a[2]);
    if (n == 3) {
        const nc_real x = nc_difference(a[4], a[8], a[5], a[7]), y = nc_difference(a[3], a[8], a[5], a[6]);
        const nc_real z = nc_difference(a[3], a[7], a[4], a[6]);
        return a[0] * x - a[1] * y + a[2] * z;
    }
    for (i = 0; i < n * n; i++) work[i] = a[i];
    odd = nc_factor(n, work, rows, rows + n, rows + 2 * n) & 2;
    for (i = 0; i < n; i++) product = product * work[i * n + i];
    return odd ? -product : product;
}
