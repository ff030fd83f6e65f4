/* Solutions of a linear system, NaN everywhere for a singular matrix. `b` may be absent: the identity. `work` has room for the matrix,
   `rows` for three numbers a row. */
static void nc_solve(int n, int columns, const nc_real *a, const nc_real *b, nc_real *to, nc_real *work, int *rows)
{
    const int *order = rows, *begin = rows + n, *end = rows + 2 * n;
    int i, j, k;
    for (i = 0; i < n * n; i++) work[i] = a[i];
    if (nc_factor(n, work, rows, rows + n, rows + 2 * n) & 1) {
        for (i = 0; i < n * columns; i++) to[i] = NC_NAN;
        return;
    }
    for (i = 0; i < n; i++) {
        nc_real *const x = to + i * columns;
        for (j = 0; j < columns; j++) x[j] = b ? b[order[i] * columns + j] : order[i] == j;
        for (k = 0; k < i; k++)
            for (j = 0; k >= begin[i] && j < columns; j++) x[j] = x[j] - work[i * n + k] * to[k * columns + j];
    }
    for (i = n - 1; i >= 0; i--) {
        nc_real *const x = to + i * columns;
        for (k = i + 1; k < n; k++)
            for (j = 0; k < end[i] && j < columns; j++) x[j] = x[j] - work[i * n + k] * to[k * columns + j];
        for (j = 0; j < columns; j++) x[j] = x[j] / work[i * n + i];
    }
}
