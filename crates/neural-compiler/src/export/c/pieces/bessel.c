/* Bessel functions of whole order: power series, Miller's recurrence, the trapezoidal rule, Hankel's series. */
static inline nc_scaled nc_bessel_series(int n, double x, double sign)
{
    const nc_double z = nc_scale(nc_exact_product(x, x), 0.25 * sign);
    nc_double term = nc_one(1), sum = nc_one(1);
    nc_scaled result;
    double k = 1;
    int i;
    while (fabs(term.hi) > 1e-34 * fabs(sum.hi) && k < 300) {
        term = nc_over_one(nc_times(term, z), k * (k + n));
        sum = nc_plus(sum, term);
        k += 1;
    }
    result = nc_to_scaled(sum);
    for (i = 1; i <= n; i++) result = nc_scaled_over(nc_scaled_times(result, nc_scaled_one(x)), nc_scaled_one(2.0 * i));
    return result;
}

static inline void nc_hankel(int n, double x, double sign, nc_double *even, nc_double *odd)
{
    const double four = 4.0 * (n * n);
    const nc_double step = nc_scale(nc_recip(nc_one(x)), 0.125);
    nc_double term = nc_one(1);
    int k;
    *even = nc_one(1);
    *odd = nc_one(0);
    for (k = 1; k < 200; k++) {
        const double side = 2 * k - 1;
        const nc_double next = nc_over_one(nc_times_one(nc_times(term, step), four - side * side), k);
        nc_double with_sign;
        if (fabs(next.hi) < 1e-34 || (fabs(next.hi) > fabs(term.hi) && k > 2 * n)) break;
        term = next;
        with_sign = sign < 0 && k % 4 >= 2 ? nc_neg(term) : term;
        if (k % 2 == 0)
            *even = nc_plus(*even, with_sign);
        else
            *odd = nc_plus(*odd, with_sign);
    }
}

/* Whether an order is a whole one up to 20. */
static inline int nc_is_order(double n)
{
    return fabs(n) <= 20 && n - trunc(n) == 0;
}
