static inline nc_double nc_power_of(nc_double z, int e)
{
    const nc_double r = nc_recip(z);
    nc_double p = nc_one(1);
    for (; e > 0; e--) p = nc_times(p, r);
    return p;
}

static inline nc_scaled nc_polygamma_positive(int n, nc_double x)
{
    static const nc_double bernoulli[] = { @BERNOULLI@ };
    const double order = n;
    nc_double z = x, sum = nc_one(0), s, factor = nc_one(1), tail = nc_one(0), whole;
    nc_scaled result, step;
    int k;
    while (z.hi < 12.0 + order) {
        sum = nc_plus(sum, nc_power_of(nc_over(z, x), n + 1));
        z = nc_plus_one(z, 1);
    }
    s = nc_squared(nc_recip(z));
    for (k = 0; k < (int)(sizeof bernoulli / sizeof *bernoulli); k++) {
        const double top = 2.0 * k + order, bottom = 2.0 * k + 1;
        factor = k == 0 ? nc_one((order + 1) * 0.5) : nc_over_one(nc_times_one(factor, top * (top + 1)), bottom * (bottom + 1));
        tail = nc_plus(tail, nc_times(nc_power_of(z, 2 * k), nc_times(nc_times(s, factor), bernoulli[k])));
    }
    whole = nc_times(nc_plus(nc_plus_one(nc_over_one(z, order), 0.5), nc_times(z, tail)), nc_power_of(nc_over(z, x), n + 1));
    result = nc_to_scaled(nc_plus(sum, whole));
    step = nc_to_scaled(nc_recip(x));
    for (k = 0; k <= n; k++) {
        result = nc_scaled_times(result, step);
        result = nc_scaled_times(result, nc_scaled_one(k > 1 ? k : 1));
    }
    return result;
}
