/* The whole part of x/y, from the exact quotient: by one division and a look at what it leaves, or digit by digit. */
static nc_real nc_quotient(nc_real x, nc_real y)
{
    double a = fabs(x), b = fabs(y), q;
    const int negative = !signbit(x) != !signbit(y);
    int d, e, f, i;
    uint64_t m, n, low;
    unsigned high = 0;
    if (fabs((double)x / y) < 4503599627370496.0 && b <= DBL_MAX) {
        q = trunc(a / b);
        if (fma(-q, b, a) < 0) q -= 1;
        return (nc_real)(negative ? -q : q);
    }
    if (!(a <= DBL_MAX) || !(b <= DBL_MAX) || y == 0) return (nc_real)trunc((double)x / y);
    m = (uint64_t)ldexp(frexp(a, &e), 53);
    n = (uint64_t)ldexp(frexp(b, &f), 53);
    d = e - f;
    low = m >= n;
    m -= low * n;
    for (i = 0; i < d && i < 64; i++) {
        m <<= 1;
        high = (unsigned)(low >> 63);
        low = low << 1 | (m >= n);
        if (m >= n) m -= n;
    }
    if (d > 64) low |= m != 0;
    /* A digit more than fit counts as one that is not zero. */
    q = (double)(nc_real)(high ? low >> 1 | (low & 1) | UINT64_C(0x8000000000000000) : low);
    q = ldexp(high ? 2 * q : q, d > 64 ? d - 64 : 0);
    return (nc_real)(negative ? -q : q);
}
