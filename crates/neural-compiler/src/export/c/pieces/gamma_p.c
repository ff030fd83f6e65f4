/* The incomplete gamma functions and their derivatives by the shape: the series near 0, else the trapezoidal rule on the side of x. */
static void nc_gamma_slopes(int order, double shape, double x, nc_double *bell)
{
    const nc_double a = nc_two_sum(shape, 1);
    nc_double logs[4];
    int n, k;
    for (n = 0; n < 4; n++) logs[n] = bell[n] = nc_one(0);
    if (order > 0) logs[1] = nc_minus(nc_log_words(nc_one(x)), nc_digamma_positive(a));
    for (n = 2; n <= order; n++) {
        const nc_double size = nc_plain(nc_polygamma_positive(n - 1, a));
        logs[n] = n % 2 == 0 ? nc_neg(size) : size;
    }
    bell[0] = nc_one(1);
    for (n = 0; n < order; n++) {
        double choose = 1;
        for (k = 0; k <= n; k++) {
            bell[n + 1] = nc_plus(bell[n + 1], nc_times_one(nc_times(bell[n - k], logs[k + 1]), choose));
            choose = choose * (n - k) / (k + 1);
        }
    }
}

static void nc_gamma_series(int order, double a, double x, nc_double *sum)
{
    nc_double term[4];
    double k, factorial = 1;
    int n;
    for (n = 0; n < 4; n++) term[n] = sum[n] = nc_one(n == 0);
    for (k = 1; k < 400; k += 1) {
        const nc_double bottom = nc_two_sum(a, k);
        int small = 1;
        for (n = 0; n <= order; n++) {
            const nc_double before = n == 0 ? nc_one(0) : term[n - 1];
            term[n] = nc_over(nc_minus(nc_times_one(term[n], x), before), bottom);
            sum[n] = nc_plus(sum[n], term[n]);
            small &= fabs(term[n].hi) <= 1e-34 * fabs(sum[n].hi);
        }
        if (small && k > x) break;
    }
    for (n = 0; n < 4; n++) {
        factorial *= n > 1 ? n : 1;
        sum[n] = nc_times_one(sum[n], factorial);
    }
}

static void nc_gamma_integrals(int order, double a, double x, double sign, nc_double *found)
{
    static const nc_double falling[] = { @FALLING@ };
    const double width = 1.0 / (fabs(x - a) + sqrt(x > a ? x : a));
    nc_double sums[4];
    int i, n;
    for (n = 0; n < 4; n++) sums[n] = nc_one(0);
    for (i = 0; i < (int)(sizeof falling / sizeof *falling) / 2; i++) {
        const nc_double u = nc_times_one(falling[2 * i], width * sign);
        const nc_double grown = fabs(u.hi) < 0.34 ? nc_expm1_small(u) : nc_plus_one(nc_plain(nc_exp_words(u)), -1);
        const nc_double exponent = nc_minus(nc_times_one(u, a), nc_times_one(grown, x));
        nc_double part;
        if (exponent.hi < -70) break;
        part = nc_times(nc_plain(nc_exp_words(exponent)), falling[2 * i + 1]);
        for (n = 0; n <= order; n++) {
            sums[n] = nc_plus(sums[n], part);
            part = nc_times(part, u);
        }
    }
    for (n = 0; n < 4; n++) found[n] = sums[n];
    for (n = 0; n <= order; n++) {
        const nc_double more = n == 0 ? nc_one(0) : nc_times_one(sums[n - 1], n);
        found[n] = nc_times_one(nc_plus(nc_times_one(sums[n], a), more), width);
    }
}

static nc_double nc_gamma_leibniz(int order, const nc_double *slopes, const nc_double *found)
{
    nc_double sum = nc_one(0);
    double choose = 1;
    int k;
    for (k = 0; k <= order; k++) {
        sum = nc_plus(sum, nc_times_one(nc_times(slopes[order - k], found[k]), choose));
        choose = choose * (order - k) / (k + 1);
    }
    return sum;
}

/* Q of a tiny shape, by the derivatives of P from the shape 0 on. */
static double nc_gamma_complement(double a, double x)
{
    nc_double found[4], slopes[4], sum;
    nc_gamma_slopes(3, a, x, slopes);
    nc_gamma_series(3, a, x, found);
    sum = nc_minus(nc_gamma_leibniz(2, slopes, found), nc_times_one(nc_gamma_leibniz(3, slopes, found), a / 3));
    sum = nc_minus(nc_gamma_leibniz(1, slopes, found), nc_times_one(sum, a * 0.5));
    return nc_scaled_round(nc_scaled_times(nc_scaled_times(nc_to_scaled(nc_neg(sum)), nc_gamma_factor(a, x)), nc_scaled_one(a)));
}

static double nc_gamma_inside(int order, int upper, double a, double x)
{
    nc_double found[4], slopes[4];
    nc_scaled value;
    int is_upper = 0;
    if (x < 8 || (a < 30 && x <= a)) {
        nc_gamma_series(order, a, x, found);
    } else {
        is_upper = x > a;
        nc_gamma_integrals(order, a, x, is_upper ? 1.0 : -1.0, found);
    }
    if (upper && !is_upper && order == 0 && a < 1e-8) return nc_gamma_complement(a, x);
    nc_gamma_slopes(order, a, x, slopes);
    value = nc_scaled_times(nc_to_scaled(nc_gamma_leibniz(order, slopes, found)), nc_gamma_factor(a, x));
    if (upper == is_upper) return nc_scaled_round(value);
    return nc_scaled_round(order == 0 ? nc_scaled_plus(nc_scaled_one(1), nc_scaled_neg(value)) : nc_scaled_neg(value));
}

static double nc_gamma_end(int order, int upper, double p)
{
    return order > 0 ? 0.0 : upper ? 1.0 - p : p;
}

static double nc_gamma_regularised(int order, int upper, double a, double x)
{
    double side;
    if (a != a || x != x || a < 0 || x < 0 || (a == x && (a == 0 || x > DBL_MAX))) return NC_NAN;
    if (x == 0 || a > DBL_MAX) return nc_gamma_end(order, upper, 0);
    if (x > DBL_MAX) return nc_gamma_end(order, upper, 1);
    if (a == 0) return order > 0 ? NC_NAN : nc_gamma_end(order, upper, 1);
    if (nc_gamma_beyond(a, x, &side)) {
        if (side != 0) return nc_gamma_end(order, upper, side > 0 ? 1.0 : 0.0);
        return order == 0 ? 0.5 : order == 1 ? -0.3989422804014327 / sqrt(a) : 0.0;
    }
    return nc_gamma_inside(order, upper, a, x);
}
