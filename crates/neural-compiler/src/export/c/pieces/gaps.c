/* Sums over k of p q, p q (p + q) and p q^2 with p = 1/(x + k), q = 1/(x + b + k): differences of digamma and trigamma, over b. */
typedef struct {
    nc_double slope, bend, skew;
} nc_sums;

static inline nc_sums nc_gap_sums(nc_double x, double b)
{
    nc_sums out;
    nc_double p, q, product, ratio, first = nc_one(0), second = nc_one(0);
    double tail = 0, tail_bend = 0, tail_skew = 0, even = 1, weighted = 1, power = 1;
    int m;
    out.slope = out.bend = out.skew = nc_one(0);
    while (x.hi < 20) {
        p = nc_recip(x);
        q = nc_recip(nc_plus_one(x, b));
        product = nc_times(p, q);
        out.slope = nc_plus(out.slope, product);
        out.bend = nc_plus(out.bend, nc_times(product, nc_plus(p, q)));
        out.skew = nc_plus(out.skew, nc_times(product, q));
        x = nc_plus_one(x, 1);
    }
    p = nc_recip(x);
    q = nc_recip(nc_plus_one(x, b));
    product = nc_times(p, q);
    ratio = nc_times_one(p, b);
    if (ratio.hi < 0.02) {
        for (m = 13; m >= 1; m--) {
            first = nc_minus(nc_recip(nc_one(m)), nc_times(first, ratio));
            second = nc_minus(nc_over_one(nc_one(m), m + 1.0), nc_times(second, ratio));
        }
    } else {
        const nc_double log = nc_log1p_words(ratio);
        first = nc_over(log, ratio);
        second = nc_over(nc_minus(log, nc_times_one(q, b)), nc_squared(ratio));
    }
    for (m = 1; m <= 14; m++) {
        const double order = m, power_next = power * q.hi, next = fma(even, p.hi, power_next);
        if (m % 2 == 0) {
            const double c = (order - 1.0) * nc_stirling[m / 2 - 1].hi;
            tail = fma(c, even, tail);
            tail_bend = fma(order * c, next, tail_bend);
            tail_skew = fma(c, weighted, tail_skew);
        }
        weighted = fma(weighted, p.hi, (order + 1.0) * power_next);
        even = next;
        power = power_next;
    }
    out.slope = nc_plus(nc_plus(out.slope, nc_times(first, p)), nc_times(product, nc_plus_one(nc_one(0.5), tail)));
    out.bend = nc_plus(out.bend, nc_times(product, nc_plus_one(nc_plus_one(nc_scale(nc_plus(p, q), 0.5), tail_bend), 1)));
    out.skew = nc_plus(nc_plus(out.skew, nc_times(second, nc_squared(p))),
                       nc_times(nc_times(product, q), nc_plus_one(nc_one(0.5), tail_skew)));
    return out;
}

/* psi(x + b) - psi(x), x >= 1. */
static inline nc_scaled nc_gap_from(nc_double x, double b)
{
    if (x.hi > 1e20) {
        const nc_scaled ratio = nc_scaled_over(nc_scaled_one(b), nc_to_scaled(x));
        return ratio.exponent < -100 ? ratio : nc_to_scaled(nc_log1p_words(nc_plain(ratio)));
    }
    if (b > 1e290) return nc_to_scaled(nc_minus(nc_log_words(nc_one(b)), nc_digamma_positive(x)));
    return nc_scaled_times(nc_to_scaled(nc_gap_sums(x, b).slope), nc_scaled_one(b));
}

/* psi(a + b) - psi(a). */
static inline nc_scaled nc_gap(double a, double b)
{
    if (a >= 1) return nc_gap_from(nc_one(a), b);
    return nc_scaled_plus(nc_scaled_over(nc_scaled_over(nc_scaled_one(b), nc_whole_sum(a, b)), nc_scaled_one(a)),
                          nc_gap_from(nc_plus_one(nc_one(a), 1), b));
}

/* Whether an argument is at an end of the range, and the value there: at a = 0, at infinite a, at infinite b. */
static inline int nc_slope_edge(double a, double b, double low, double left, double right, double *value)
{
    const int a_infinite = fabs(a) > DBL_MAX, b_infinite = fabs(b) > DBL_MAX;
    *value = a == 0 ? low : a_infinite ? left : right;
    if (a != a || b != b || a < 0 || b < 0 || b == 0 || (a_infinite && b_infinite) || (a == 0 && b_infinite)) {
        *value = NC_NAN;
        return 1;
    }
    return a == 0 || a_infinite || b_infinite;
}
