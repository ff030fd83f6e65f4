#include "model.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

/* Equal to the bit only where every operation is rounded once, to its own type. */
#if defined(__FAST_MATH__)
#error "compile without -ffast-math"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "operations must be rounded to their type: -msse2 -mfpmath=sse on x86"
#endif
#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#endif
/* GCC: -ffp-contract=off */

