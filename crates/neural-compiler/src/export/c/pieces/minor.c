/* The determinant of a matrix without row i and column j and, unless negative, row k and column l. */
static nc_real nc_minor(int n, const nc_real *a, int i, int j, int k, int l)
{
    const int left = k < 0 ? n - 1 : n - 2;
    nc_real kept[25], work[25];
    int rows[15], r, c, count = 0;
    if (left < 1) return 1;
    for (r = 0; r < n; r++)
        for (c = 0; c < n; c++)
            if (r != i && r != k && c != j && c != l) kept[count++] = a[r * n + c];
    return nc_det(left, kept, work, rows);
}
