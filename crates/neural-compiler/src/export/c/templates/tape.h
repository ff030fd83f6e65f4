
/* Loops and recursion store values for the way back. The functions above keep them in one place of NC_TAPE cells, so only one
   run at a time may use them; here the caller gives the place. */
typedef union {
    @REAL@ number;
    @INDEX@ at;
} nc_cell;
int nc_gradient_in(const @REAL@ *inputs, @REAL@ *outputs, @REAL@ *gradient, nc_cell *tape, size_t cells);
