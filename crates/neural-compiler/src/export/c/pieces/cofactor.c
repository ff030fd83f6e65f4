/* The matrix of cofactors; beyond @MINORS@ rows the determinant times the transposed inverse. `work` has room for two matrices. */
static void nc_cofactor(int n, const nc_real *a, nc_real *to, nc_real *work, int *rows)
{
    nc_real *const inverse = work + n * n, d = n > @MINORS@ ? nc_det(n, a, work, rows) : 0;
    int i, j;
    if (n > @MINORS@) nc_solve(n, n, a, 0, inverse, work, rows);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            if (n > @MINORS@) {
                to[i * n + j] = d * inverse[j * n + i];
            } else {
                const nc_real x = nc_minor(n, a, i, j, -1, -1);
                to[i * n + j] = (i + j) % 2 ? -x : x;
            }
        }
}
