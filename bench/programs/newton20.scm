; square root by twenty rounds of Newton
(loop ((i 0) (y 1)) (if (= i 20) y (recur (+ i 1) (* 0.5 (+ y (/ x y))))))
