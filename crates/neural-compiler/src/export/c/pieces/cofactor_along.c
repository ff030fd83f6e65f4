/* The derivative of the cofactors of `a` along `t`. `work` has room for four matrices. */
static void nc_cofactor_along(int n, const nc_real *a, const nc_real *t, nc_real *to, nc_real *work, int *rows)
{
    nc_real *const inverse = work + n * n, *const once = work + 2 * n * n, *const turned = work + 3 * n * n, d, slope;
    int i, j, k, l;
    if (n <= @MINORS@) {
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++) {
                nc_real sum = 0;
                int first = 1;
                for (k = 0; k < n; k++)
                    for (l = 0; l < n; l++)
                        if (k != i && l != j) {
                            const nc_real x = nc_minor(n, a, i, j, k, l);
                            const nc_real term = t[k * n + l] * ((i + j + k - (k > i) + l - (l > j)) % 2 ? -x : x);
                            sum = first ? term : sum + term;
                            first = 0;
                        }
                to[i * n + j] = sum;
            }
        return;
    }
    d = nc_det(n, a, work, rows);
    nc_solve(n, n, a, 0, inverse, work, rows);
    for (k = 0; k < n * n; k++) work[k] = d * inverse[k % n * n + k / n] * t[k];
    slope = nc_sum(n * n, work, 1);
    nc_product(n, n, n, inverse, t, once);
    nc_product(n, n, n, once, inverse, turned);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) to[i * n + j] = slope * inverse[j * n + i] - d * turned[j * n + i];
}
