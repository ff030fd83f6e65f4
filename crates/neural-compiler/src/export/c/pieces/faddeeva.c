/* The Faddeeva function above the real axis: the trapezoidal rule less its pole, far out the asymptotic series. */
typedef struct {
    nc_double re, im;
} nc_complex;

static nc_complex nc_complex_of(nc_double re, nc_double im)
{
    nc_complex out;
    out.re = re;
    out.im = im;
    return out;
}

static nc_complex nc_c_times(nc_complex a, nc_complex b)
{
    return nc_complex_of(nc_minus(nc_times(a.re, b.re), nc_times(a.im, b.im)), nc_plus(nc_times(a.re, b.im), nc_times(a.im, b.re)));
}

static nc_complex nc_c_plus(nc_complex a, nc_complex b)
{
    return nc_complex_of(nc_plus(a.re, b.re), nc_plus(a.im, b.im));
}

static nc_complex nc_c_by(nc_complex a, nc_double f)
{
    return nc_complex_of(nc_times(a.re, f), nc_times(a.im, f));
}

static nc_complex nc_c_recip(nc_complex a)
{
    const nc_double size = nc_plus(nc_squared(a.re), nc_squared(a.im));
    return nc_complex_of(nc_over(a.re, size), nc_over(nc_neg(a.im), size));
}

/* e^(i t). */
static nc_complex nc_turn(nc_double t)
{
    const double n = round(t.hi * 0.6366197723675814);
    nc_double s, c;
    nc_sin_cos_small(nc_minus(t, nc_times_one(nc_scale(@PI@, 0.5), n)), &s, &c);
    switch ((int)((int64_t)n & 3)) {
    case 0: return nc_complex_of(c, s);
    case 1: return nc_complex_of(nc_neg(s), c);
    case 2: return nc_complex_of(nc_neg(c), nc_neg(s));
    default: return nc_complex_of(s, nc_neg(c));
    }
}

static nc_double nc_grown(nc_double t)
{
    return t.hi < -600 ? nc_one(0) : nc_plain(nc_exp_words(t));
}

static nc_complex nc_w_near(double x, double y)
{
    static const nc_double on_whole[] = { @BELL_WHOLE@ }, on_half[] = { @BELL_HALF@ };
    const double place = x / @STEP@;
    const int whole = fabs(place - floor(place) - 0.5) <= 0.25;
    const nc_double square = nc_exact_product(y, y);
    nc_double re = nc_one(0), im = nc_one(0), scale;
    nc_complex sum, around, bottom, bell, pole;
    int k;
    for (k = whole ? -1 : 0; k < 32; k++) {
        /* The middle, then every place on both sides. */
        const int at = k / 2;
        const double size = k < 0 ? 0.0 : whole ? (at + 1) * @STEP@ : (at + 0.5) * @STEP@;
        const nc_double away = nc_two_sum(x, -(k % 2 ? -size : size));
        const nc_double weight = k < 0 ? nc_one(1) : whole ? on_whole[at] : on_half[at];
        const nc_double part = nc_over(weight, nc_plus(nc_squared(k < 0 ? nc_two_sum(x, -0.0) : away), square));
        re = nc_plus(re, part);
        im = nc_plus(im, nc_times(part, k < 0 ? nc_two_sum(x, -0.0) : away));
    }
    scale = nc_over(nc_one(@STEP@), @PI@);
    sum = nc_complex_of(nc_times_one(nc_times(re, scale), y), nc_times(im, scale));
    if (y >= 3.141592653589793 / @STEP@) return sum;
    around = nc_c_by(nc_turn(nc_over_one(nc_scale(nc_times_one(@PI@, x), 2), @STEP@)),
                     nc_grown(nc_over_one(nc_scale(nc_neg(nc_times_one(@PI@, y)), 2), @STEP@)));
    bottom = nc_complex_of(nc_plus_one(around.re, whole ? -1.0 : 1.0), around.im);
    bell = nc_c_by(nc_turn(nc_neg(nc_scale(nc_exact_product(x, y), 2))),
                   nc_grown(nc_minus(nc_exact_product(y, y), nc_exact_product(x, x))));
    pole = nc_c_times(nc_c_times(bell, around), nc_c_recip(bottom));
    return nc_c_plus(sum, nc_complex_of(nc_scale(pole.re, 2), nc_scale(pole.im, 2)));
}

static nc_complex nc_w_far(int order, double x, double y)
{
    const nc_complex r = nc_c_recip(nc_complex_of(nc_one(x), nc_one(y))), square = nc_c_times(r, r);
    nc_complex power = r, sum = nc_complex_of(nc_one(0), nc_one(0));
    nc_double factor = nc_one(1), bell;
    double last = NC_INFINITY;
    int k;
    for (k = 0; k < order; k++) power = nc_c_times(power, r);
    for (k = 0; k < 150; k++) {
        const double exponent = 2 * k + 1, slope = order == 0 ? 1.0 : order == 1 ? -exponent : exponent * (exponent + 1);
        const nc_complex term = nc_c_by(power, nc_times_one(factor, slope));
        const double size = fabs(term.re.hi) + fabs(term.im.hi);
        if (size > last || size < 1e-38 * (fabs(sum.re.hi) + fabs(sum.im.hi))) break;
        last = size;
        sum = nc_c_plus(sum, term);
        power = nc_c_times(power, square);
        factor = nc_times_one(factor, exponent * 0.5);
    }
    sum = nc_c_by(sum, @INV_SQRT_PI@);
    sum = nc_complex_of(nc_neg(sum.im), sum.re);
    if (y > 1e-50) return sum;
    bell = nc_grown(nc_neg(nc_exact_product(x, x)));
    if (order == 1) bell = nc_times_one(nc_times_one(bell, x), -2);
    if (order == 2) bell = nc_times(bell, nc_plus_one(nc_scale(nc_exact_product(x, x), 4), -2));
    return nc_complex_of(nc_plus(sum.re, bell), sum.im);
}

static nc_complex nc_w_derivative(int order, double x, double y)
{
    const nc_complex z = nc_complex_of(nc_one(x), nc_one(y));
    nc_complex w, product, first;
    if (x * x + y * y > 300) return nc_w_far(order, x, y);
    w = nc_w_near(x, y);
    if (order == 0) return w;
    product = nc_c_times(z, w);
    first = nc_complex_of(nc_scale(product.re, -2), nc_minus(nc_scale(@INV_SQRT_PI@, 2), nc_scale(product.im, 2)));
    if (order == 1) return first;
    first = nc_c_plus(w, nc_c_times(z, first));
    return nc_complex_of(nc_scale(first.re, -2), nc_scale(first.im, -2));
}

/* The real part on the axis. */
static double nc_w_axis(int order, double x)
{
    const nc_double square = nc_exact_product(x, x);
    const nc_double factor = order == 0 ? nc_one(1) : order == 1 ? nc_one(-2.0 * x) : nc_plus_one(nc_scale(square, 4), -2);
    if (fabs(x) > 40) return 0;
    return nc_scaled_round(nc_scaled_times(nc_to_scaled(factor), nc_exp_words(nc_neg(square))));
}

/* The first term alone, scaled. */
static double nc_w_beyond(int order, int imaginary, double x, double y)
{
    const nc_scaled size = nc_scaled_one(fabs(x) > y ? fabs(x) : y);
    const nc_double re = x == 0 ? nc_one(0) : nc_plain(nc_scaled_over(nc_scaled_one(x), size));
    const nc_double im = y == 0 ? nc_one(0) : nc_plain(nc_scaled_over(nc_scaled_one(y), size));
    const nc_complex r = nc_c_recip(nc_complex_of(re, im));
    nc_complex power = r;
    nc_scaled result;
    int k;
    for (k = 0; k < order; k++) power = nc_c_times(power, r);
    result = nc_to_scaled(nc_times_one(nc_times(imaginary ? power.re : nc_neg(power.im), @INV_SQRT_PI@),
                                       order == 0 ? 1.0 : order == 1 ? -1.0 : 2.0));
    for (k = 0; k <= order; k++) result = nc_scaled_over(result, size);
    return nc_scaled_round(result);
}

static double nc_faddeeva(int order, int imaginary, double x, double y)
{
    nc_complex w;
    double value;
    if (x != x || y != y || y < 0) return NC_NAN;
    if (fabs(x) > DBL_MAX || y > DBL_MAX) return 0;
    if (y == 0 && !imaginary) return nc_w_axis(order, x);
    if ((fabs(x) > y ? fabs(x) : y) > 1e100) return nc_w_beyond(order, imaginary, x, y);
    w = nc_w_derivative(order, fabs(x), y);
    value = nc_rounded(imaginary ? w.im : w.re);
    return signbit(x) && imaginary != order % 2 ? -value : value;
}
