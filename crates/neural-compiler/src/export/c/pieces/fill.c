static void nc_fill(nc_real *to, nc_real x, int n)
{
    int i;
    for (i = 0; i < n; i++) to[i] = x;
}
