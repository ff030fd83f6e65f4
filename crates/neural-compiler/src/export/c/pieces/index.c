/* A computed index as a whole number, or -1 where it is none below n. */
static int nc_index(nc_real x, int n)
{
    return x >= 0 && x < n && NC_TRUNC(x) == x ? (int)x : -1;
}
