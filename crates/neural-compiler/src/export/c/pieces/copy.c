static void nc_copy(nc_real *to, const nc_real *from, int n)
{
    int i;
    for (i = 0; i < n; i++) to[i] = from[i];
}
