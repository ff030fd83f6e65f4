/* A product of matrices: each number from its first product to its last, each added by one rounding. */
static void nc_product(int rows, int inner, int columns, const nc_real *a, const nc_real *b, nc_real *to)
{
    int i, j, k;
    for (i = 0; i < rows; i++)
        for (j = 0; j < columns; j++) {
            nc_real sum = inner ? -(nc_real)0 : 0;
            for (k = 0; k < inner; k++) sum = NC_FMA(a[i * inner + k], b[k * columns + j], sum);
            to[i * columns + j] = sum;
        }
}
