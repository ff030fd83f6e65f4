/* J of orders 0 and 1, x >= 30. */
static void nc_j_far(double x, nc_double *zero, nc_double *one)
{
    double q, r, lo;
    nc_double s, c, sine, cosine, size, even, odd, plus, minus;
    if (x <= 1073741824.0) {
        /* x - n pi/2 with pi/2 in three words */
        const double t = fma(x, @TWO_OVER_PI_HI@, 6755399441055744.0), n = t - 6755399441055744.0;
        const double first = fma(-n, @PIO2_HI@, x), p = n * @PIO2_LO@, pe = fma(n, @PIO2_LO@, -p);
        const double h = first - p, back = h - first, e = (first - (h - back)) - (p + back);
        q = t;
        r = h;
        lo = fma(-n, @PIO2_LO2@, e - pe);
    } else {
        q = nc_reduce(x, &r, &lo);
    }
    nc_sin_cos_small(nc_two_sum(r, lo), &sine, &cosine);
    switch ((int)(nc_bits(q) & 3)) {
    case 0: s = sine, c = cosine; break;
    case 1: s = cosine, c = nc_neg(sine); break;
    case 2: s = nc_neg(sine), c = nc_neg(cosine); break;
    default: s = nc_neg(cosine), c = sine;
    }
    if (x > 1e300)
        size = nc_scale(nc_recip(nc_sqrt_words(nc_times_one(@PI@, x * nc_two_to(-200)))), nc_two_to(-100));
    else
        size = nc_recip(nc_sqrt_words(nc_times_one(@PI@, x)));
    plus = nc_plus(s, c);
    minus = nc_minus(s, c);
    nc_hankel(0, x, -1, &even, &odd);
    *zero = nc_times(nc_minus(nc_times(even, plus), nc_times(odd, minus)), size);
    nc_hankel(1, x, -1, &even, &odd);
    *one = nc_times(nc_plus(nc_times(even, minus), nc_times(odd, plus)), size);
}

static nc_scaled nc_j_positive(int n, double x)
{
    nc_double above = nc_one(0), here = nc_one(1e-200), sum = nc_one(0), wanted = nc_one(0);
    double top;
    int k;
    if (x < 2) return nc_bessel_series(n, x, -1);
    if (x >= 30 && n <= 0.5 * x) {
        nc_double before, now;
        nc_j_far(x, &before, &now);
        if (n == 0) return nc_to_scaled(before);
        for (k = 1; k < n; k++) {
            const nc_double next = nc_minus(nc_over_one(nc_times_one(now, 2.0 * k), x), before);
            before = now;
            now = next;
        }
        return nc_to_scaled(now);
    }
    top = x + 25.0 + 12.0 * sqrt(sqrt(x));
    if (top < n + 40.0) top = n + 40.0;
    for (k = 2 * (int)ceil(top * 0.5); k >= 1; k--) {
        nc_double below;
        if (k == n) wanted = here;
        if (k % 2 == 0) sum = nc_plus(sum, nc_scale(here, 2));
        below = nc_minus(nc_over_one(nc_times_one(here, 2.0 * k), x), above);
        above = here;
        here = below;
    }
    if (n == 0) wanted = here;
    return nc_to_scaled(nc_over(wanted, nc_plus(sum, here)));
}

static double nc_bessel_j(double n, double x)
{
    const double size = fabs(x);
    int order, odd, below;
    double value;
    if (!nc_is_order(n)) return NC_NAN;
    if (x != x) return x;
    order = (int)fabs(n);
    odd = order % 2;
    below = n < 0;
    if (size == 0)
        value = order == 0 ? 1.0 : size;
    else
        value = size > DBL_MAX ? 0.0 : nc_scaled_round(nc_j_positive(order, size));
    return (odd && below != (x < 0)) || (odd && x == 0 && !signbit(x) != !below) ? -value : value;
}
