static void nc_transpose(int rows, int columns, const nc_real *a, nc_real *to)
{
    int i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < columns; j++) to[j * rows + i] = a[i * columns + j];
}
