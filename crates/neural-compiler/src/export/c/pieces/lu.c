/* Factors of a matrix with exchanges of rows. `lu` comes with the matrix and leaves with the factors, `order` says where its rows went;
   `begin` and `end` say where the numbers of a row are, outside of which there are zeros that count nowhere. 1 for a singular matrix,
   2 more where the exchanges turn the sign of the determinant. */
static int nc_factor(int n, nc_real *lu, int *order, int *begin, int *end)
{
    int i, j, k, singular = 0, odd = 0;
    for (i = 0; i < n; i++) {
        order[i] = i;
        begin[i] = 0;
        end[i] = n;
        if (n >= @OWN@) {
            while (begin[i] < n && lu[i * n + begin[i]] == 0) begin[i]++;
            while (end[i] > 0 && lu[i * n + end[i] - 1] == 0) end[i]--;
        }
    }
    for (k = 0; k < n; k++) {
        int pivot = k;
        nc_real d;
        for (i = k + 1; i < n; i++)
            if (begin[i] <= k && NC_FABS(lu[i * n + k]) > NC_FABS(lu[pivot * n + k])) pivot = i;
        if (pivot != k) {
            for (j = 0; j < n; j++) {
                const nc_real x = lu[k * n + j];
                lu[k * n + j] = lu[pivot * n + j];
                lu[pivot * n + j] = x;
            }
            i = order[k], order[k] = order[pivot], order[pivot] = i;
            i = begin[k], begin[k] = begin[pivot], begin[pivot] = i;
            i = end[k], end[k] = end[pivot], end[pivot] = i;
            odd = !odd;
        }
        d = lu[k * n + k];
        if (d == 0) {
            singular = 1;
            continue;
        }
        for (i = k + 1; i < n; i++) {
            nc_real factor;
            if (begin[i] > k || (n >= @OWN@ && lu[i * n + k] == 0)) continue;
            factor = lu[i * n + k] / d;
            lu[i * n + k] = factor;
            if (end[k] > end[i]) end[i] = end[k];
            for (j = k + 1; j < n && j < end[k]; j++) lu[i * n + j] = lu[i * n + j] - factor * lu[k * n + j];
        }
    }
    return singular + 2 * odd;
}
