/* K of orders 0 and 1, x > 0. */
static void nc_k_first(double x, nc_scaled *zero, nc_scaled *one)
{
    static const nc_double less[] = { @COSH_LESS_ONE@ };
    nc_double z, term = nc_one(1), harmonic = nc_one(0), sum = nc_one(0), i0, first, even, odd;
    double k = 1;
    int i;
    if (x >= 30) {
        const nc_scaled size = nc_scaled_times(nc_to_scaled(nc_sqrt_words(nc_scale(nc_over_one(@PI@, x), 0.5))), nc_exp_words(nc_one(-x)));
        nc_hankel(0, x, 1, &even, &odd);
        *zero = nc_scaled_times(nc_to_scaled(nc_plus(even, odd)), size);
        nc_hankel(1, x, 1, &even, &odd);
        *one = nc_scaled_times(nc_to_scaled(nc_plus(even, odd)), size);
        return;
    }
    if (x >= 2) {
        const nc_scaled size = nc_exp_words(nc_one(-x));
        nc_double a = nc_one(0.5), b = nc_one(0.5);
        for (i = 0; i < (int)(sizeof less / sizeof *less); i++) {
            const nc_double exponent = nc_times_one(less[i], -x);
            nc_double bell;
            if (exponent.hi < -60) break;
            bell = nc_plain(nc_exp_words(exponent));
            a = nc_plus(a, bell);
            b = nc_plus(b, nc_times(bell, nc_plus_one(less[i], 1)));
        }
        *zero = nc_scaled_times(nc_to_scaled(nc_times_one(a, @COSH_STEP@)), size);
        *one = nc_scaled_times(nc_to_scaled(nc_times_one(b, @COSH_STEP@)), size);
        return;
    }
    z = nc_scale(nc_exact_product(x, x), 0.25);
    while (term.hi > 1e-36 && k < 60) {
        term = nc_over_one(nc_times(term, z), k * k);
        harmonic = nc_plus(harmonic, nc_recip(nc_one(k)));
        sum = nc_plus(sum, nc_times(term, harmonic));
        k += 1;
    }
    i0 = nc_plain(nc_bessel_series(0, x, 1));
    first = nc_minus(sum, nc_times(nc_plus(nc_minus(nc_log_words(nc_one(x)), @LN2@), @EULER@), i0));
    *zero = nc_to_scaled(first);
    *one = nc_scaled_over(nc_scaled_plus(nc_scaled_over(nc_scaled_one(1), nc_scaled_one(x)),
                                         nc_scaled_neg(nc_scaled_times(nc_bessel_series(1, x, 1), nc_to_scaled(first)))),
                          nc_to_scaled(i0));
}

static double nc_bessel_k(double n, double x)
{
    nc_scaled before, now;
    int order, k;
    if (!nc_is_order(n) || !(x >= 0)) return NC_NAN;
    if (x == 0) return NC_INFINITY;
    if (x > 1000) return 0;
    order = (int)fabs(n);
    nc_k_first(x, &before, &now);
    if (order == 0) return nc_scaled_round(before);
    for (k = 1; k < order; k++) {
        const nc_scaled next = nc_scaled_plus(nc_scaled_over(nc_scaled_times(now, nc_scaled_one(2.0 * k)), nc_scaled_one(x)), before);
        before = now;
        now = next;
    }
    return nc_scaled_round(now);
}
