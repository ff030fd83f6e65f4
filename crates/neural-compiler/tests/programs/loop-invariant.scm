; h and k are invariants, y is carried
(loop ((i 0) (y 1)) (if (>= i 10) y (recur (+ i 1) (+ y (* h (- (* k y)))))))
