static uint32_t nc_bitsf(float x)
{
    union { float number; uint32_t bits; } both;
    both.number = x;
    return both.bits;
}

static float nc_of_bitsf(uint32_t bits)
{
    union { float number; uint32_t bits; } both;
    both.bits = bits;
    return both.number;
}
