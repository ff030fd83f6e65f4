(let go ((i 0) (s 0)) (if (> i 5) s (go (+ i 1) (+ s (/ x (+ i 1))))))
