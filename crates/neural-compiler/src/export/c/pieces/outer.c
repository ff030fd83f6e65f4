static void nc_outer(int rows, int columns, const nc_real *a, const nc_real *b, nc_real *to)
{
    int i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < columns; j++) to[i * columns + j] = a[i] * b[j];
}
