static double nc_erfcx(double x)
{
    if (x != x) return x;
    if (x < -30) return NC_INFINITY;
    if (x > 1e150) return (@INV_SQRT_PI@.hi * 0.5 + @INV_SQRT_PI@.lo * 0.5) / x * 2;
    return nc_scaled_round(nc_erfcx_of(nc_one(x)));
}
