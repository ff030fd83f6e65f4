(input m :size [2 2])
(+ (det m) (trace (matmul m (transpose m))) (vsum (solve (+ m (eye 2)) [x 1])))
