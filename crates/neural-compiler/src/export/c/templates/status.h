
/* What a run ends with. */
#define NC_OK 0
#define NC_INDEX_OUT_OF_RANGE 1 /* a computed index is no whole number inside its value */
#define NC_LIMIT_STEPS 2        /* more loop rounds and calls than NC_MAX_STEPS */
#define NC_LIMIT_DEPTH 3        /* more calls within calls than NC_MAX_DEPTH */
#define NC_LIMIT_MEMORY 4       /* more values stored for the gradient than NC_TAPE */

