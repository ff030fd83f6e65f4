static nc_real nc_square(nc_real x)
{
    return x * x;
}
