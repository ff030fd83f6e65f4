(define (fact n) (if (< n 2) 1 (* n (fact (- n 1)))))
(loop ((i 0) (s 0)) (if (> i 4) s (recur (+ i 1) (+ s (/ (pow x i) (fact i))))))
