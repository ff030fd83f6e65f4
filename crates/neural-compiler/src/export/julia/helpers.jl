# Functions that give NaN where Julia's own throw an error, and the language's meaning where Julia's own differ.
inside(f, x, fine) = isnan(x) || fine ? f(x) : NaN
nc_sin(x) = inside(sin, x, isfinite(x))
nc_cos(x) = inside(cos, x, isfinite(x))
nc_tan(x) = inside(tan, x, isfinite(x))
nc_asin(x) = inside(asin, x, abs(x) <= 1)
nc_acos(x) = inside(acos, x, abs(x) <= 1)
nc_sqrt(x) = inside(sqrt, x, x >= 0)
nc_log(x) = inside(log, x, x >= 0)
nc_log2(x) = inside(log2, x, x >= 0)
nc_log10(x) = inside(log10, x, x >= 0)
nc_log1p(x) = inside(log1p, x, x >= -1)
nc_pow(x, y) = x < 0 && isfinite(x) && isfinite(y) && !isinteger(y) ? NaN : x^y
nc_sign(x) = x > 0 ? 1.0 : x < 0 ? -1.0 : x
nc_relu(x) = x <= 0 ? 0.0 : x
nc_sigmoid(x) = x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x))
nc_softplus(x) = max(x, 0.0) + log1p(exp(-abs(x)))
nc_remainder(x, y) = isinf(x) || y == 0 ? NaN : rem(x, y)
nc_quotient(x, y) = trunc(x / y)
nc_inverse_part(x, y) = x / (x * x + y * y)

# exp(factor x^2), the square in two parts so that no digits of it are lost
function nc_gauss(x, factor)
    y = clamp(x, -60.0, 60.0)
    h = trunc(y * 1048576) / 1048576
    return exp(factor * h * h) * exp(factor * (y - h) * (y + h))
end

function nc_modulo(x, y)
    r = nc_remainder(x, y)
    r == 0 && return copysign(0.0, y)
    return signbit(r) != signbit(y) ? r + y : r
end

# Whole values are vectors of their numbers, row by row.
function nc_index(x, n)
    0 <= x < n && isinteger(x) || throw(BoundsError(1:n, x + 1))
    return Int(x)
end

nc_dot(x, y) = foldl((s, k) -> fma(x[k], y[k], s), eachindex(x); init = 0.0)
nc_sum(x) = foldl(+, x; init = 0.0)
nc_cross(a, b) = [a[2] * b[3] - a[3] * b[2], a[3] * b[1] - a[1] * b[3], a[1] * b[2] - a[2] * b[1]]
nc_placed(x, start, n) = [zeros(start); x; zeros(n - start - length(x))]
nc_rows(a, columns) = permutedims(reshape(a, columns, :))
nc_flat(a) = collect(vec(permutedims(a)))
nc_transpose(a, columns) = collect(vec(reshape(a, columns, :)'))
nc_eye(rows, columns) = [i == j ? 1.0 : 0.0 for j in 1:columns, i in 1:rows][:]
nc_product(a, b, inner, columns) = nc_flat(nc_rows(a, inner) * nc_rows(b, columns))

function nc_norm(v)
    largest = maximum(abs, v; init = 0.0)
    (largest == 0 || !isfinite(largest)) && return largest
    return largest * sqrt(sum(x -> (x / largest)^2, v))
end

function nc_solve(a, b, n, columns)
    left = nc_rows(a, n)
    abs(nc_det(a, n)) == 0 && return fill(NaN, n * columns)
    return nc_flat(left \ nc_rows(b, columns))
end

function nc_det(a, n)
    m = nc_rows(a, n)
    d = 1.0
    for k in 1:n
        p = k - 1 + argmax(abs.(m[k:n, k]))
        if p != k
            m[[k, p], :] = m[[p, k], :]
            d = -d
        end
        d *= m[k, k]
        m[k, k] == 0 && return d
        for i in k+1:n
            m[i, k:n] .-= m[i, k] / m[k, k] .* m[k, k:n]
        end
    end
    return d
end
