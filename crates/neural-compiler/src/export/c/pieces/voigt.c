/* The Voigt profile and its derivatives: the trapezoidal rule less its pole, far out the asymptotic series. */
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

static nc_complex nc_w_near(nc_double x, nc_double y)
{
    static const nc_double on_whole[] = { @BELL_WHOLE@ }, on_half[] = { @BELL_HALF@ };
    const double place = x.hi / @STEP@;
    const int whole = fabs(place - floor(place) - 0.5) <= 0.25;
    const nc_double square = nc_squared(y);
    nc_double re = nc_one(0), im = nc_one(0), scale;
    nc_complex sum, around, bottom, bell, pole;
    int k;
    for (k = whole ? -1 : 0; k < 32; k++) {
        /* The middle, then every place on both sides. */
        const int at = k / 2;
        const double size = k < 0 ? 0.0 : whole ? (at + 1) * @STEP@ : (at + 0.5) * @STEP@;
        const nc_double away = nc_plus_one(x, k >= 0 && k % 2 ? size : -size);
        const nc_double weight = k < 0 ? nc_one(1) : whole ? on_whole[at] : on_half[at];
        const nc_double part = nc_over(weight, nc_plus(nc_squared(away), square));
        re = nc_plus(re, part);
        im = nc_plus(im, nc_times(part, away));
    }
    scale = nc_over(nc_one(@STEP@), @PI@);
    sum = nc_complex_of(nc_times(nc_times(re, scale), y), nc_times(im, scale));
    if (y.hi >= 3.141592653589793 / @STEP@) return sum;
    around = nc_c_by(nc_turn(nc_over_one(nc_scale(nc_times(@PI@, x), 2), @STEP@)),
                     nc_grown(nc_over_one(nc_neg(nc_scale(nc_times(@PI@, y), 2)), @STEP@)));
    bottom = nc_complex_of(nc_plus_one(around.re, whole ? -1.0 : 1.0), around.im);
    bell = nc_c_by(nc_turn(nc_neg(nc_scale(nc_times(x, y), 2))), nc_grown(nc_minus(nc_squared(y), nc_squared(x))));
    pole = nc_c_times(nc_c_times(bell, around), nc_c_recip(bottom));
    return nc_c_plus(sum, nc_complex_of(nc_scale(pole.re, 2), nc_scale(pole.im, 2)));
}

static nc_double nc_c_part(nc_complex a, int across)
{
    return across ? nc_neg(a.im) : a.re;
}

static void nc_w_derivatives(nc_double x, nc_double y, nc_complex *all)
{
    const nc_complex z = nc_complex_of(x, y);
    nc_complex sum;
    int k;
    all[0] = nc_w_near(x, y);
    sum = nc_c_times(z, all[0]);
    all[1] = nc_complex_of(nc_scale(sum.re, -2), nc_minus(nc_scale(@INV_SQRT_PI@, 2), nc_scale(sum.im, 2)));
    for (k = 1; k < 7; k++) {
        sum = nc_c_plus(nc_c_times(z, all[k]), nc_c_by(all[k - 1], nc_one(k)));
        all[k + 1] = nc_complex_of(nc_scale(sum.re, -2), nc_scale(sum.im, -2));
    }
}

/* A part of a derivative; by the imaginary axis by Taylor's series. */
static nc_scaled nc_w_part(int order, int across, int odd, nc_scaled x, nc_double y)
{
    const nc_double place = nc_plain(x);
    nc_complex all[8];
    nc_scaled sum;
    int from;
    if (place.hi >= 1e-8) {
        nc_w_derivatives(place, y, all);
        return nc_to_scaled(nc_c_part(all[order], across));
    }
    nc_w_derivatives(nc_one(0), y, all);
    from = order + odd;
    sum = nc_to_scaled(nc_plus(nc_c_part(all[from], across),
                               nc_over_one(nc_times(nc_c_part(all[from + 2], across), nc_squared(place)), odd ? 6 : 2)));
    return odd ? nc_scaled_times(sum, x) : sum;
}

/* The derivative of e^(-t^2/2). */
static nc_scaled nc_w_bell(int order, nc_scaled ratio)
{
    nc_double square, factor;
    nc_scaled rest;
    if (ratio.exponent >= 7) return nc_scaled_one(0);
    square = nc_squared(nc_plain(ratio));
    factor = order == 0 ? nc_one(1)
           : order == 1 ? nc_one(-1)
           : order == 2 ? nc_plus_one(square, -1)
           : order == 3 ? nc_minus(nc_one(3), square)
                        : nc_plus_one(nc_times(square, nc_plus_one(square, -6)), 3);
    rest = nc_scaled_times(nc_to_scaled(factor), nc_exp_words(nc_neg(nc_scale(square, 0.5))));
    return order % 2 ? nc_scaled_times(rest, ratio) : rest;
}

static nc_double nc_lifted(double x, int exponent, int *lift)
{
    nc_scaled out = nc_scaled_one(x);
    const int left = out.exponent - exponent;
    *lift = out.value.hi == 0 || left >= -300 ? 0 : -300 - left;
    out.exponent = left + *lift;
    return nc_plain(out);
}

/* The asymptotic series, over a power of two. */
static nc_scaled nc_w_far(int order, int across, int odd, double x, double sigma, double gamma)
{
    const int exponent = nc_scaled_one(x > gamma ? x : gamma).exponent;
    int lift_x, lift_y, k, j;
    const nc_double re = nc_lifted(x, exponent, &lift_x), im = nc_lifted(gamma, exponent, &lift_y);
    const nc_complex r = nc_c_recip(nc_complex_of(re, im));
    nc_scaled width = nc_scaled_one(sigma), found;
    nc_complex u, square, power = r, sum = nc_complex_of(nc_one(0), nc_one(0));
    nc_double factor = nc_one(1);
    double last = NC_INFINITY;
    width.exponent -= exponent;
    u = nc_c_by(r, nc_plain(width));
    square = nc_c_times(u, u);
    for (k = 0; k < order; k++) power = nc_c_times(power, r);
    for (k = 0; k < 150; k++) {
        const double odd_number = 2 * k + 1;
        double slope = 1, size;
        nc_complex term;
        for (j = 0; j < order; j++) slope *= -(odd_number + j);
        term = nc_c_by(power, nc_times_one(factor, slope));
        size = fabs(term.re.hi) + fabs(term.im.hi);
        if (size > last || size < 1e-38 * (fabs(sum.re.hi) + fabs(sum.im.hi))) break;
        last = size;
        sum = nc_c_plus(sum, term);
        power = nc_c_times(power, square);
        factor = nc_times_one(factor, odd_number);
    }
    found = nc_to_scaled(nc_over(nc_c_part(nc_complex_of(nc_neg(sum.im), sum.re), across), @PI@));
    found.exponent -= exponent * (order + 1) + (odd ? lift_x : 0) + (across ? 0 : lift_y);
    return found;
}

/* The derivative of that number: the value, by x, by gamma, by x twice, by x and gamma and so on. */
static double nc_voigt(int number, double x, double sigma, double gamma)
{
    const int order = (number + 1) / 2, across = number > 0 && number % 2 == 0, odd = order % 2 != across, flip = odd && signbit(x);
    const int endless = fabs(x) > DBL_MAX || gamma > DBL_MAX;
    const nc_scaled half = nc_to_scaled(@SQRT_HALF@);
    nc_scaled width, ratio, height, power, found;
    double p, q, value;
    int far, k;
    sigma = fabs(sigma);
    if (x != x || gamma != gamma || gamma < 0 || sigma != sigma || sigma == 0 || (endless && sigma > DBL_MAX)) return NC_NAN;
    if (endless || sigma > DBL_MAX) return 0;
    x = fabs(x);
    width = nc_scaled_one(sigma);
    ratio = x == 0 ? nc_scaled_one(0) : nc_scaled_over(nc_scaled_one(x), width);
    height = gamma == 0 ? nc_scaled_one(0) : nc_scaled_over(nc_scaled_one(gamma), width);
    p = x / sigma;
    q = gamma / sigma;
    far = p * p + q * q > 600 || (p * p + q * q > 300 && q > 1e-29) || (p * p + q * q > 150 && q > 2e-3);
    power = width;
    for (k = 0; k < order; k++) power = nc_scaled_times(power, width);
    if (gamma == 0 && !across) {
        found = nc_scaled_one(0);
    } else if (far) {
        found = nc_w_far(order, across, odd, x, sigma, gamma);
    } else {
        nc_scaled factor = nc_scaled_times(nc_to_scaled(@INV_SQRT_PI@), half);
        for (k = 0; k < order; k++) factor = nc_scaled_times(factor, half);
        found = nc_w_part(order, across, odd, nc_scaled_times(ratio, half), nc_plain(nc_scaled_times(height, half)));
        found = nc_scaled_over(nc_scaled_times(found, factor), power);
    }
    if (!across && (gamma == 0 || (far && q <= 1e-50)))
        found = nc_scaled_plus(found, nc_scaled_over(nc_scaled_times(nc_w_bell(order, ratio),
                                                                     nc_to_scaled(nc_times(@INV_SQRT_PI@, @SQRT_HALF@))), power));
    value = nc_scaled_round(found);
    return flip ? -value : value;
}
