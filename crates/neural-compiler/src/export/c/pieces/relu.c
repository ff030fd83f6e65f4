static nc_real nc_relu(nc_real x)
{
    return x <= 0 ? 0 : x;
}
