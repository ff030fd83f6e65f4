static nc_real nc_sign(nc_real x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
