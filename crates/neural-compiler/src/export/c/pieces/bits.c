/* Numbers as their bits. */
static uint64_t nc_bits(double x)
{
    union { double number; uint64_t bits; } both;
    both.number = x;
    return both.bits;
}

static double nc_of_bits(uint64_t bits)
{
    union { double number; uint64_t bits; } both;
    both.bits = bits;
    return both.number;
}
