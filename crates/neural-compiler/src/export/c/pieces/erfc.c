static double nc_erfc(double x)
{
    if (x != x) return x;
    if (x > 28) return 0;
    return x < -7 ? 2 : nc_scaled_round(nc_erfc_of(nc_one(x)));
}
