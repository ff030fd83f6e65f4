/* The complement of the error function: up to 1 by the series of erf, beyond by the trapezoidal rule less its pole, from 12 on
   asymptotically. */
static inline nc_double nc_erf_near(nc_double x)
{
    const nc_double z = nc_squared(x);
    nc_double term = nc_one(1), sum = nc_one(1);
    double k = 1;
    while (term.hi > 1e-24) {
        term = nc_over_one(nc_times(term, nc_scale(z, 2)), 2 * k + 1);
        sum = nc_plus(sum, term);
        k += 1;
    }
    return nc_times(nc_times(nc_scale(nc_times(x, @INV_SQRT_PI@), 2), sum), nc_plain(nc_exp_words(nc_neg(z))));
}

/* e^(x^2) erfc(x), x >= 1. */
static inline nc_double nc_erfcx_far(nc_double x)
{
    static const nc_double bell[] = { @BELL_WHOLE@ };
    nc_double z, sum, whole, turn;
    nc_scaled above, less, pole;
    int k;
    if (x.hi > 12) {
        const nc_double r = nc_scale(nc_recip(nc_squared(x)), 0.5);
        nc_double term = nc_one(1);
        double i = 1;
        sum = nc_one(1);
        while (fabs(term.hi) > 1e-24 && i < 60) {
            term = nc_neg(nc_times_one(nc_times(term, r), 2 * i - 1));
            sum = nc_plus(sum, term);
            i += 1;
        }
        return nc_over(nc_times(@INV_SQRT_PI@, sum), x);
    }
    z = nc_squared(x);
    sum = nc_scale(nc_recip(z), 0.5);
    for (k = 0; k < (int)(sizeof bell / sizeof *bell); k++) {
        const double t = (k + 1.0) * @STEP@;
        sum = nc_plus(sum, nc_over(bell[k], nc_plus(z, nc_exact_product(t, t))));
    }
    whole = nc_times_one(nc_over(nc_times(x, sum), @PI@), 2.0 * @STEP@);
    if (x.hi > 3.141592653589793 / @STEP@) return whole;
    turn = nc_over_one(nc_scale(nc_times(@PI@, x), 2), @STEP@);
    above = nc_exp_words(nc_minus(z, turn));
    less = nc_exp_words(nc_neg(turn));
    pole = nc_scaled_over(above, nc_scaled_plus(nc_scaled_one(1), nc_scaled_neg(less)));
    return nc_minus(whole, nc_scale(nc_plain(pole), 2));
}

static inline nc_scaled nc_erfc_of(nc_double x)
{
    if (x.hi < 1) {
        if (x.hi < -1) {
            const nc_double y = nc_neg(x);
            if (x.hi < -7) return nc_scaled_one(2);
            return nc_scaled_plus(nc_scaled_one(2),
                                  nc_scaled_neg(nc_scaled_times(nc_to_scaled(nc_erfcx_far(y)), nc_exp_words(nc_neg(nc_squared(y))))));
        }
        return nc_to_scaled(nc_minus(nc_one(1), nc_erf_near(x)));
    }
    return nc_scaled_times(nc_to_scaled(nc_erfcx_far(x)), nc_exp_words(nc_neg(nc_squared(x))));
}

static inline nc_scaled nc_erfcx_of(nc_double x)
{
    return x.hi >= 1 ? nc_to_scaled(nc_erfcx_far(x)) : nc_scaled_times(nc_erfc_of(x), nc_exp_words(nc_squared(x)));
}

/* log of the normal distribution function, x < 0. */
static inline nc_double nc_log_cdf_negative(double x)
{
    const nc_double z = nc_times_one(@SQRT_HALF@, -x);
    if (x < -1.5) return nc_minus(nc_log_words(nc_scale(nc_erfcx_far(z), 0.5)), nc_scale(nc_exact_product(x, x), 0.5));
    return nc_minus(nc_scaled_log(nc_erfc_of(z)), @LN2@);
}

/* The density of the normal distribution over its distribution function. */
static inline nc_scaled nc_hazard_of(double x)
{
    return nc_scaled_over(nc_to_scaled(nc_scale(nc_times(@INV_SQRT_PI@, @SQRT_HALF@), 2)), nc_erfcx_of(nc_times_one(@SQRT_HALF@, -x)));
}
