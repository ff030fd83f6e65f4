static void nc_cross(const nc_real *a, const nc_real *b, nc_real *to)
{
    int i;
    for (i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        to[i] = a[j] * b[k] - a[k] * b[j];
    }
}
