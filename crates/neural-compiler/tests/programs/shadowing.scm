(define (max a b) (* a b))
(let ((sin 2) (if 3)) (max (+ sin if) x))
