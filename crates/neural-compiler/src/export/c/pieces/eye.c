static void nc_eye(int rows, int columns, nc_real *to)
{
    int i;
    for (i = 0; i < rows * columns; i++) to[i] = i % (columns + 1) == 0;
}
