static double nc_normal_hazard(double x)
{
    if (x != x) return x;
    if (x > 40) return 0;
    return x < -1e10 ? -x : nc_scaled_round(nc_hazard_of(x));
}
