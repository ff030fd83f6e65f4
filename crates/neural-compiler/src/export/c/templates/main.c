#include "model.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    @REAL@ inputs[NC_INPUTS + 1], @PLACES@;
    int i, status;
    if (count != NC_INPUTS + 1) {
        fprintf(stderr, "give @COUNT@ numbers:@NAMES@\n");
        return 2;
    }
    for (i = 0; i < NC_INPUTS; i++) inputs[i] = (@REAL@)strtod(words[i + 1], 0);
    status = @CALL@;
    if (status != NC_OK) {
        fprintf(stderr, "status %d, see model.h\n", status);
        return 1;
    }
    for (i = 0; i < NC_OUTPUTS; i++) printf("%.@DIGITS@g\n", (double)outputs[i]);
@GRADIENT@    return 0;
}
