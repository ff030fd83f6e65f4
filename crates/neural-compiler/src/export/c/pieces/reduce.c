/* A large x >= 2^30 brought down to n pi/2 + r + lo, |r| <= pi/4, by as many bits of 2/pi as count (Payne and Hanek).
   What is returned has n in its low bits. */
static uint64_t nc_two_over_pi(int at)
{
    static const uint64_t words[] = { @TWO_OVER_PI@ };
    return at < 1 || at > (int)(sizeof words / sizeof *words) ? 0 : words[at - 1];
}

static double nc_reduce(double x, double *r, double *lo)
{
    const uint64_t bits = nc_bits(x);
    const int e = (int)(bits >> 52) - 1075;
    const uint64_t m = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    const int first = e - 2 + 64, word = first / 64, shift = first % 64;
    const double scale_back = 4294967296.0, hi = @PIO2_HI@, rest = @PIO2_LO@;
    uint64_t product[5] = { 0, 0, 0, 0, 0 }, part[6] = { 0, 0, 0, 0, 0, 0 }, carry = 0, quadrant, w0, w1;
    int negative, lead, i;
    double scale, a, b, s, t, p, error;
    for (i = 3; i >= 0; i--) {
        /* m times a word of the window: four products of halves. */
        const uint64_t here = nc_two_over_pi(word + i), next = nc_two_over_pi(word + i + 1);
        const uint64_t w = shift ? here << shift | next >> (64 - shift) : here;
        const uint64_t ml = m & 0xffffffffu, mh = m >> 32, wl = w & 0xffffffffu, wh = w >> 32;
        const uint64_t low = ml * wl, mid = mh * wl + (low >> 32), cross = ml * wh + (mid & 0xffffffffu);
        const uint64_t bottom = cross << 32 | (low & 0xffffffffu), top = mh * wh + (mid >> 32) + (cross >> 32);
        product[i] = bottom + carry;
        carry = top + (product[i] < bottom);
    }
    quadrant = product[0] >> 62;
    for (i = 0; i < 4; i++) part[i] = product[i] << 2 | product[i + 1] >> 62;
    negative = (int)(part[0] >> 63);
    if (negative) {
        uint64_t one = 1;
        quadrant++;
        for (i = 3; i >= 0; i--) {
            part[i] = ~part[i] + one;
            one = one && part[i] == 0;
        }
    }
    for (lead = 0; lead < 127 && !(part[lead / 64] >> (63 - lead % 64) & 1); lead++) {
    }
    i = lead / 64;
    w0 = lead % 64 ? part[i] << lead % 64 | part[i + 1] >> (64 - lead % 64) : part[i];
    w1 = lead % 64 ? part[i + 1] << lead % 64 | part[i + 2] >> (64 - lead % 64) : part[i + 1];
    scale = nc_of_bits((uint64_t)(1023 - 64 - lead) << 52);
    a = (double)(w0 & ~UINT64_C(0x7ff)) * scale;
    b = (double)((w0 & 0x7ff) << 32 | w1 >> 32) * (scale / scale_back);
    s = a + b;
    t = b - (s - a);
    p = s * hi;
    error = fma(s, hi, -p) + fma(s, rest, t * hi);
    *r = p + error;
    *lo = error - (*r - p);
    if (negative) {
        *r = -*r;
        *lo = -*lo;
    }
    return nc_of_bits(quadrant);
}
