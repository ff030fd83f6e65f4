/* x - y floor(x/y): the remainder, moved by y where its sign is the other one. */
static nc_real nc_modulo(nc_real x, nc_real y)
{
    const nc_real r = (nc_real)fmod(x, y);
    if (r == 0) return signbit(y) ? -(nc_real)0 : 0;
    return !signbit(r) != !signbit(y) ? r + y : r;
}
