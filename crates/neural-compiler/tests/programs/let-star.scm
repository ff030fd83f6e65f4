(let* ((a (* x x)) (b (+ a 1)) (c (* a b))) (- c a))
